/// Judges a request without a final answer, or with one that came before the body was out.
extension UploadJudge {
    /// No final answer came.
    mutating func broke() -> UploadVerdict {
        guard let failure = end.failure.flatMap(FailureTable.classify) else {
            noteBreak()
            return .failed(
                Failure(.transient, LonghaulError(.network, "the upload was broken off")))
        }
        return broke(by: failure)
    }

    /// An answer that would end the upload, or acknowledge its bytes, and came before they had all
    /// gone out: the server cannot have them. It may answer instead of asking for the body (RFC
    /// 9110 §10.1.1), as with the page of a login.
    mutating func answeredEarly(_ head: ResponseHead) -> UploadVerdict? {
        // The offset counts for a creation with bytes.
        guard !sent.isWhole, exchange.purpose != .create else { return nil }
        if head.status == 303, exchange.purpose == .whole { return refused(head) }
        guard head.isSuccess else { return nil }
        if let failure = end.failure.flatMap(FailureTable.classify) { return broke(by: failure) }
        if exchange.purpose == .whole, isPlain, !mayRepeat {
            state.mayHaveArrived = true
            return .failed(UploadFailure.early(head, isCarriedOut: true))
        }
        if exchange.purpose == .whole { noteAddress(head) }
        return broke(by: UploadFailure.early(head, isCarriedOut: false))
    }

    private mutating func broke(by failure: Failure) -> UploadVerdict {
        noteBreak()
        switch exchange.purpose {
        case .discover, .create, .ask, .list, .abort: return .failed(failure)
        case .complete: return .askAfter(failure)
        case .append where state.dialect == .s3:
            let isToBeAsked = sent.mayBeWhole && failure.kind == .transient
            return isToBeAsked ? .askAfter(failure) : .failed(failure)
        case .whole, .append:
            if state.mustAsk, failure.kind == .transient, end.bytesSent > 0 {
                return .askAfter(failure)
            }
            if state.mayHaveArrived, state.address == nil, !mayRepeat {
                return .failed(UploadFailure.unknownEnd(failure))
            }
            return .failed(failure)
        }
    }

    mutating func noteBreak() {
        let length = exchange.body.content?.length ?? 0
        let count = min(end.bytesSent, length)
        switch exchange.purpose {
        case .whole:
            state.sentBound = max(floor, count)
            // A resumable upload is not complete before its last byte; a plain one is the server's
            // own affair from the first.
            let isEmptyAndOut = length == 0 && end.failure?.isBeforeConnection != true
            let isArrived = isPlain ? count > 0 : count >= length && length > 0
            state.mayHaveArrived = isArrived || isEmptyAndOut
            state.mustAsk = state.address != nil
        // A part is stored whole or not at all.
        case .append where state.dialect == .s3: if sent.mayBeWhole { state.mustAsk = true }
        case .append:
            state.sentBound = max(floor, offset, exchange.range.lowerBound + count)
            state.mustAsk = true
        case .complete: (state.mustAsk, state.mayHaveArrived) = (true, true)
        case .discover, .create, .ask, .list, .abort: break
        }
    }

    // MARK: - What went out

    private var isPlain: Bool { state.dialect == .plain || state.isGuess }

    /// RFC 9110 §9.2.2.
    private var mayRepeat: Bool { exchange.body.method == "PUT" || options.isRepeatable }

    var sent: SentBody { SentBody(exchange: exchange, end: end) }
}

/// Sent part of a request's body.
struct SentBody {
    let exchange: UploadExchange
    let end: SegmentEnd

    private var length: Int64 { exchange.body.content?.length ?? 0 }

    /// The last byte may have left, so that only the answer is missing.
    var mayBeWhole: Bool { end.bytesSent >= length }

    /// The last byte has left.
    var isWhole: Bool { end.bytesSent - end.bytesUnsent >= length }

    /// The server cannot have more of the file.
    var through: Int64 {
        exchange.range.lowerBound
            + min(Int64(exchange.range.count), end.bytesSent - end.bytesUnsent)
    }
}

extension WireFailure {
    /// No byte of the request can have gone out.
    fileprivate var isBeforeConnection: Bool {
        // CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT.
        if case .curl(5...7, _, _) = self { return true }
        if case .noKeys = self { return true }
        return false
    }
}
