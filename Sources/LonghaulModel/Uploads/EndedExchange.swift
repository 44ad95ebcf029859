/// An ended request of an upload, and its answer.
package struct EndedExchange: Sendable {
    package let exchange: UploadExchange
    package let end: SegmentEnd
    /// The final one; `nil` = none came.
    package let head: ResponseHead?
    /// No byte at or after this offset was sent by earlier runs. The kernel of an engine that was
    /// killed may still deliver some.
    let floor: Int64

    package init(
        _ exchange: UploadExchange, _ end: SegmentEnd, _ head: ResponseHead?, floor: Int64 = 0
    ) {
        assert(floor >= 0 && end.bytesUnsent >= 0, "bytes are counted from zero")
        self.exchange = exchange
        self.end = end
        self.head = head
        self.floor = floor
    }

    /// How the request has ended.
    enum Kind {
        case answered(ResponseHead)
        /// A success that came before the body was out: the server cannot have all of it, and may
        /// answer instead of asking for the body (RFC 9110 §10.1.1), as with the page of a login.
        case early(ResponseHead)
        /// No final answer came.
        case broken(Failure)
    }

    var kind: Kind {
        guard let head else { return .broken(failure) }
        // The offset in the answer counts for a creation with bytes.
        if !head.isSuccess || isWhole || exchange.purpose == .create { return .answered(head) }
        return end.failure.flatMap(FailureTable.classify).map { .broken($0) } ?? .early(head)
    }

    /// The answer says that the file is taken.
    var isTaken: Bool {
        guard let head else { return false }
        return head.isSuccess || isWhole && exchange.hasResultElsewhere(head)
    }

    private var failure: Failure {
        end.failure.flatMap(FailureTable.classify)
            ?? Failure(.transient, LonghaulError(.network, "the upload was broken off"))
    }

    // MARK: - What went out

    private var length: Int64 { exchange.body.content?.length ?? 0 }

    /// The last byte may have left, so that only the answer is missing.
    var mayBeWhole: Bool { end.bytesSent >= length }

    /// The last byte has left.
    var isWhole: Bool { end.bytesSent - end.bytesUnsent >= length }

    /// The server cannot have more of the file, if the answer is true.
    var through: Int64 {
        exchange.range.lowerBound
            + min(Int64(exchange.range.count), end.bytesSent - end.bytesUnsent)
    }

    /// No byte at or after this offset can have left for a resource that had `offset` bytes.
    func bound(from offset: Int64) -> Int64 {
        max(floor, offset, exchange.range.lowerBound + min(end.bytesSent, length))
    }

    /// The server may have carried out a request of the whole file.
    ///
    /// - Parameter isPlain: The server may take the bytes received for the whole, from the first
    ///   byte on. A resumable upload is not complete before its last byte.
    func mayHaveArrived(isPlain: Bool) -> Bool {
        if length == 0 { return end.failure?.isBeforeConnection != true }
        return isPlain ? end.bytesSent > 0 : mayBeWhole
    }
}

/// Step after a request has ended.
package enum UploadVerdict: Hashable, Sendable {
    /// The next request follows at once.
    case goOn
    /// The server has the whole file; this is its last word.
    case done
    /// The server is to be asked for its offset; without a gain, this is the failure.
    case askAfter(Failure)
    /// The server does not have the offset that was assumed.
    case conflict(Failure)
    case failed(Failure)

    /// The verdict with the server's words, where the server refuses the request.
    func quoting(_ ended: EndedExchange) -> UploadVerdict {
        let answer = ended.end.answer
        guard let head = ended.head,
            !head.isSuccess || MarkupText.element("Code", in: answer) != nil
        else { return self }
        return switch self {
        case .goOn, .done: self
        case .askAfter(let failure): .askAfter(failure.quoting(head, answer))
        case .conflict(let failure): .conflict(failure.quoting(head, answer))
        case .failed(let failure): .failed(failure.quoting(head, answer))
        }
    }
}

extension ResponseHead {
    package var isSuccess: Bool { (200...299).contains(status) }
}

extension WireFailure {
    /// No byte of the request can have gone out.
    fileprivate var isBeforeConnection: Bool {
        // CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT.
        if case .curl(5...7, _, _) = self { return true }
        switch self {
        case .noKeys, .secretFile: return true
        default: return false
        }
    }
}
