/// Makes the directories of a URL that a WebDAV server has not got, after it has refused a PUT for
/// want of them (RFC 4918 §9.7.1). MKCOL needs the directory above (§9.3.1): the lowest one is
/// tried first, as most often only that one is missing. Pure.
package struct MissingDirectories: Hashable, Sendable {
    package enum Answer: Hashable, Sendable {
        /// The directory at ``url`` is tried next.
        case goOn
        /// All directories are there, or may be.
        case done
        /// The server refuses to make them, for now or to this user.
        case refused
    }

    /// The URL of the lowest directory.
    private let lowest: String
    /// Bytes of ``lowest`` that are the URL of each directory, the lowest first, without the root:
    /// the URLs themselves would take the square of their length.
    private let lengths: [Int]
    private var index = 0
    private var isDone = false
    /// The directories above are there, as far as the server tells.
    private var isDescending = false
    /// A directory was refused. It may exist all the same: the PUT decides, and if that is refused
    /// again, this is the reason.
    package private(set) var refusal: Failure?

    /// `nil` where the URL has no directory but the root.
    package init?(of url: String) {
        let bytes = Array(url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
        let slash = UInt8(ascii: "/")
        guard let mark = url.utf8.firstRange(of: "://".utf8) else { return nil }
        let authority = url.utf8.distance(from: url.startIndex, to: mark.upperBound)
        guard authority <= bytes.count, let root = bytes[authority...].firstIndex(of: slash) else {
            return nil
        }
        // Two slashes in a row name one directory.
        let ends = bytes.indices[(root + 1)...].filter {
            bytes[$0] == slash && bytes[$0 - 1] != slash
        }
        guard let last = ends.last else { return nil }
        assert(last < bytes.count, "a directory is a part of the path")
        lowest = String(decoding: bytes[...last], as: UTF8.self)
        lengths = ends.reversed().map { $0 + 1 }
    }

    /// The server may have refused a PUT for want of a directory. nginx says 500 for that.
    package static func mayBeMissing(_ status: Int) -> Bool { [404, 409, 500].contains(status) }

    /// The directory that is tried next.
    package var url: String { String(Substring(lowest.utf8.prefix(lengths[index]))) }

    /// The same; `nil` = all are there.
    package var missing: String? { isDone ? nil : url }

    /// - Parameter status: The server's answer to MKCOL for ``url``.
    package mutating func answered(_ status: Int) -> Answer {
        switch status {
        // 405: it is there, perhaps as another request has made it meanwhile.
        case 200...299, 301, 302, 307, 308, 405: return descend()
        case 404 where !isDescending, 409 where !isDescending:
            if index + 1 == lengths.count { return descend() }
            index += 1
            return .goOn
        // Credentials are wanted, or the same may pass later.
        case 401, 407, 408, 423, 425, 429: return .refused
        // Servers refuse so a directory that is there, too.
        case 400...499, 501: return descend()
        default: return .refused
        }
    }

    private mutating func descend() -> Answer {
        isDescending = true
        isDone = index == 0
        if isDone { return .done }
        index -= 1
        return .goOn
    }
}

extension MissingDirectories {
    /// `nil` = the answer says nothing of a missing directory.
    package init?(missedBy exchange: UploadExchange, _ head: ResponseHead) {
        guard exchange.purpose == .whole, exchange.body.method == "PUT",
            Self.mayBeMissing(head.status)
        else { return nil }
        self.init(of: exchange.url)
    }

    /// Judges the end of a request for the directory at ``url``.
    package mutating func verdict(on ended: EndedExchange) -> UploadVerdict {
        guard let head = ended.head, ended.end.failure == nil else {
            let failure = Failure(
                .transient, LonghaulError(.network, "the request was broken off"))
            return .failed(ended.end.failure.flatMap(FailureTable.classify) ?? failure)
        }
        let failure = FailureTable.classify(directory: head).quoting(head, ended.end.answer)
        let isThere = head.isSuccess || head.status < 400 || head.status == 405
        let answer = answered(head.status)
        if !isThere, isDescending { refusal = refusal ?? failure }
        return answer == .refused ? .failed(failure) : .goOn
    }
}

extension UploadExchange {
    package static func makingDirectory(_ url: String) -> UploadExchange {
        var exchange = UploadExchange(.makeDirectory, "MKCOL", url)
        exchange.body.mayRepeat = true
        return exchange
    }
}

extension UploadProgress {
    /// The file goes to its URL by a plain PUT, or by one that only offers to be resumed.
    package var isPlain: Bool {
        switch self {
        case .plain: true
        case .draft(let kept): kept.isGuess
        case .discovery, .tus, .s3, .remoteFile: false
        }
    }
}

extension FailureTable {
    /// Classifies an answer that refuses to make a directory.
    static func classify(directory head: ResponseHead) -> Failure {
        var failure = classify(upload: head)
        failure.error.message =
            "the server has not got the directory of the file, and does not make it "
            + "(\(head.status)); make it there, or check the URL and your rights, then `resume`"
        return failure
    }
}
