/// What the ends of requests over FTP and SFTP mean. There is no answer but libcurl's result.
extension UploadJudge {
    /// - Parameter head: libcurl has succeeded; of a question, with the file's size.
    mutating func judgeRemoteFile(_ head: ResponseHead?) -> UploadVerdict {
        switch exchange.purpose {
        case .whole, .complete:
            guard head != nil else { return endedUnnamed() }
            offset = size
            return .done
        case .append:
            guard head != nil else { return appendBroke() }
            // An earlier connection may have delivered some bytes after the server was asked: then
            // the file is longer than it may be.
            offset = exchange.range.upperBound
            state.mustAsk = true
            return .goOn
        case .ask:
            guard let head else { return askedInVain() }
            guard case .bytes(let size) = head.headers.contentLength else { return told(0) }
            return told(size)
        case .abort, .discover, .create, .list: return .done
        }
    }

    // MARK: - Sizes

    private mutating func told(_ told: Int64) -> UploadVerdict {
        guard state.address != nil else {
            // Only the last request could take the temporary name away.
            if told != size { return begunAnew("the file did not get its name at the server") }
            offset = size
            return .done
        }
        if told > min(state.sentBound, size) {
            return begunAnew("the server claims \(told) bytes, which were never sent")
        }
        if told < offset {
            return begunAnew("the server has fewer bytes than it had acknowledged")
        }
        state.mustAsk = false
        state.mayHaveArrived = false
        if told < size { state.isRenameRefused = false }
        offset = told
        return .goOn
    }

    private mutating func askedInVain() -> UploadVerdict {
        guard isCode(.noSuchFile) else { return .failed(failure) }
        if state.address == nil { return begunAnew("the server has not got the file") }
        state.address = nil
        if state.mayHaveArrived { return .goOn }
        if offset > 0 { return begunAnew("the server has not got the begun file any more") }
        state.mustAsk = false
        return .goOn
    }

    // MARK: - Breaks

    /// The file, or its name, did not arrive.
    private mutating func endedUnnamed() -> UploadVerdict {
        let isWhole = exchange.purpose == .whole
        let sent = min(end.bytesSent, size)
        if isCode(.commandRefused) {
            if state.isRenameRefused { return .failed(FileUploadFailure.refusedRename(curlText)) }
            state.isRenameRefused = true
            state.mustAsk = true
            return .goOn
        }
        if isWhole {
            state.sentBound = max(floor, sent)
            state.mayHaveArrived = sent >= size
        }
        state.mustAsk = !isWhole || sent > 0
        let failure = failure
        return state.mustAsk && failure.kind == .transient ? .askAfter(failure) : .failed(failure)
    }

    private mutating func appendBroke() -> UploadVerdict {
        let failure = failure
        if isCode(.uploadRefused), failure.kind != .transient {
            return begunAnew("the server does not append to files")
        }
        state.sentBound = max(floor, offset, exchange.range.lowerBound + end.bytesSent)
        state.mustAsk = true
        let isCut = failure.kind == .transient && end.bytesSent > 0
        return isCut ? .askAfter(failure) : .failed(failure)
    }

    /// What stands under the temporary name, if anything, is replaced.
    private mutating func begunAnew(_ reason: String) -> UploadVerdict {
        lost = reason
        state.mustAsk = false
        state.mayHaveArrived = false
        state.isRenameRefused = false
        state.sentBound = 0
        offset = 0
        return .conflict(Failure(.transient, LonghaulError(.serverError, reason)))
    }

    // MARK: - Failures

    /// Of libcurl-errors(3).
    private enum Code: Int32 {
        case uploadRefused = 25
        case commandRefused = 21
        case noSuchFile = 78
    }

    private func isCode(_ code: Code) -> Bool { curlCode == code.rawValue }

    private var curlCode: Int32? {
        guard case .curl(let code, _, _)? = end.failure else { return nil }
        return code
    }

    private var curlText: String {
        guard case .curl(_, let text, _)? = end.failure else { return "" }
        return text
    }

    private var failure: Failure {
        if let curlCode,
            let failure = FileUploadFailure.classify(curlCode, text: curlText)
        {
            return failure
        }
        return end.failure.flatMap(FailureTable.classify)
            ?? Failure(.transient, LonghaulError(.network, "the upload was broken off"))
    }
}
