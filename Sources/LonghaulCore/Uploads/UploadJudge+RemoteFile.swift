/// What the ends of requests over FTP and SFTP mean. There is no answer but libcurl's result.
extension UploadJudge {
    /// - Parameter head: libcurl has succeeded; of a question, with the file's size.
    mutating func judgeRemoteFile(_ head: ResponseHead?) -> UploadVerdict {
        switch exchange.purpose {
        case .whole where options.inPlace:
            guard head != nil else { return .failed(failure) }
            offset = size
            return .done
        case .whole, .complete:
            guard head != nil || state.swap == .tidying else { return endedUnnamed() }
            if state.swap == .restoring {
                state.swap = nil
                return refusedName()
            }
            offset = size
            return .done
        case .append:
            guard head != nil else { return appendBroke() }
            state.refusedAppends = 0
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
            if state.swap == nil { return .done }
            // What stands aside is of no more use.
            (state.mustAsk, state.swap) = (false, .tidying)
            return .goOn
        }
        if told > min(state.sentBound, size) {
            return begunAnew("the server claims \(told) bytes, which were never sent")
        }
        if told < offset {
            return begunAnew("the server has fewer bytes than it had acknowledged")
        }
        state.mustAsk = false
        state.mayHaveArrived = false
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
        if isCode(.commandRefused) { return renameRefused() }
        // How far the commands came is not known.
        if state.swap != nil { state.swap = .unknown }
        if isWhole {
            state.sentBound = max(floor, sent)
            state.mayHaveArrived = sent >= size
        }
        state.mustAsk = !isWhole || sent > 0
        let failure = failure
        return state.mustAsk && failure.kind == .transient ? .askAfter(failure) : .failed(failure)
    }

    /// All bytes are at the server. Where the target stands in the way, it is renamed aside; if that
    /// does not help, it gets its name back. Nothing is deleted for it.
    private mutating func renameRefused() -> UploadVerdict {
        offset = size
        state.sentBound = size
        (state.mustAsk, state.mayHaveArrived) = (false, false)
        let mayPass = curlText.hasPrefix("4")
        if state.swap != .restoring { state.renameRefusal = curlText }
        switch state.swap {
        case .unknown where !mayPass, nil where !mayPass: state.swap = .swapping
        case .swapping: state.swap = .restoring
        case .unknown, nil: return .failed(FileUploadFailure.renameRefusedNow(curlText))
        case .restoring, .tidying:
            // Nothing stands aside, or it stays there.
            state.swap = .unknown
            return refusedName()
        }
        return .goOn
    }

    private mutating func refusedName() -> UploadVerdict {
        (state.mustAsk, state.mayHaveArrived) = (false, false)
        return .failed(FileUploadFailure.refusedRename(state.renameRefusal ?? curlText))
    }

    private mutating func appendBroke() -> UploadVerdict {
        let failure = failure
        if isCode(.uploadRefused) {
            // A file that is in use, or in fact that appending is not allowed (ProFTPD says so).
            if curlText.hasPrefix("450") || curlText.hasPrefix("451") { state.refusedAppends += 1 }
            if failure.kind != .transient || state.refusedAppends >= Limits.refusedAppends {
                return begunAnew("the server does not append to files")
            }
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
        if state.swap != nil { state.swap = .unknown }
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
