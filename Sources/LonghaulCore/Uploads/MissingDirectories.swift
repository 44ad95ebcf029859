/// Makes the directories of a URL that a WebDAV server has not got, after it has refused a PUT for
/// want of them (RFC 4918 §9.7.1). MKCOL needs the directory above (§9.3.1): the lowest one is
/// tried first, as most often only that one is missing. Pure.
package struct MissingDirectories: Hashable, Sendable {
    package enum Answer: Hashable, Sendable {
        /// The directory at ``url`` is tried next.
        case goOn
        /// All directories are there.
        case done
        /// The server refuses to make them.
        case refused
    }

    /// URLs of the directories, the lowest first, without the root.
    private let urls: [String]
    private var index = 0
    private var isDone = false

    /// `nil` where the URL has no directory but the root.
    package init?(of url: String) {
        let end = url.firstIndex { $0 == "?" || $0 == "#" } ?? url.endIndex
        guard let mark = url[..<end].firstRange(of: "://"),
            let root = url[mark.upperBound..<end].firstIndex(of: "/")
        else { return nil }
        var urls: [String] = []
        var rest = url[..<end]
        while let slash = rest.lastIndex(of: "/"), slash > root {
            // Two slashes in a row name one directory.
            if url[url.index(before: slash)] != "/" { urls.append(String(url[...slash])) }
            rest = url[..<slash]
        }
        if urls.isEmpty { return nil }
        self.urls = urls
    }

    /// The server may have refused a PUT for want of a directory. nginx says 500 for that.
    package static func mayBeMissing(_ status: Int) -> Bool { [404, 409, 500].contains(status) }

    /// The directory that is tried next.
    package var url: String { urls[index] }

    /// The same; `nil` = all are there.
    var missing: String? { isDone ? nil : url }

    /// - Parameter status: The server's answer to MKCOL for ``url``.
    package mutating func answered(_ status: Int) -> Answer {
        switch status {
        // 405: it is there, perhaps as another request has made it meanwhile.
        case 200...299, 301, 302, 307, 308, 405:
            isDone = index == 0
            if isDone { return .done }
            index -= 1
            return .goOn
        case 404, 409:
            if index + 1 == urls.count { return .refused }
            index += 1
            return .goOn
        default: return .refused
        }
    }
}

extension MissingDirectories {
    /// `nil` = the answer says nothing of a missing directory.
    init?(missedBy exchange: UploadExchange, _ head: ResponseHead) {
        guard exchange.purpose == .whole, exchange.body.method == "PUT",
            Self.mayBeMissing(head.status)
        else { return nil }
        self.init(of: exchange.url)
    }

    /// What the end of a request for the directory at ``url`` means.
    mutating func verdict(on ended: EndedExchange) -> UploadVerdict {
        guard let head = ended.head, ended.end.failure == nil else {
            let failure = Failure(
                .transient, LonghaulError(.network, "the request was broken off"))
            return .failed(ended.end.failure.flatMap(FailureTable.classify) ?? failure)
        }
        if answered(head.status) != .refused { return .goOn }
        return .failed(FailureTable.classify(directory: head).quoting(head, ended.end.answer))
    }
}

extension UploadExchange {
    static func makingDirectory(_ url: String) -> UploadExchange {
        var exchange = UploadExchange(.makeDirectory, "MKCOL", url)
        exchange.body.mayRepeat = true
        return exchange
    }
}

extension UploadProgress {
    /// The file goes to its URL by a plain PUT, or by one that only offers to be resumed.
    var isPlain: Bool {
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
