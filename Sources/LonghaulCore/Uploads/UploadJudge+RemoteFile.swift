/// Judges the ends of requests over FTP and SFTP. There is no answer but libcurl's result.
extension UploadJudge {
    /// - Parameter head: libcurl has succeeded; of a question, with the file's size.
    mutating func judgeRemoteFile(_ head: ResponseHead?) -> UploadVerdict {
        switch exchange.purpose {
        case .whole where options.inPlace:
            guard head != nil else { return .failed(end.uploadFailure) }
            offset = size
            return .done
        case .whole, .complete:
            guard head != nil || state.swap == .tidying else { return endedUnnamed() }
            if state.swap == .restoring {
                state.swap = nil
                return state.refusedName()
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
            // The last request is the only one that could remove the temporary name.
            if told != size { return begunAnew("the file did not get its name at the server") }
            offset = size
            if state.swap == nil { return .done }
            // The old file that stands aside is of no more use.
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
        guard end.isCode(.noSuchFile) else { return .failed(end.uploadFailure) }
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
        if end.isCode(.commandRefused) {
            offset = size
            return state.refuseRename(end.curlText, size: size)
        }
        // How far the commands came is not known.
        if state.swap != nil { state.swap = .unknown }
        if isWhole {
            state.sentBound = max(floor, sent)
            state.mayHaveArrived = sent >= size
        }
        state.mustAsk = !isWhole || sent > 0
        let failure = end.uploadFailure
        return state.mustAsk && failure.kind == .transient ? .askAfter(failure) : .failed(failure)
    }

    private mutating func appendBroke() -> UploadVerdict {
        let failure = end.uploadFailure
        if end.isCode(.uploadRefused) {
            // A file that is in use, or in fact that appending is not allowed (ProFTPD says so).
            let reply = end.curlText
            if reply.hasPrefix("450") || reply.hasPrefix("451") { state.refusedAppends += 1 }
            if failure.kind != .transient || state.refusedAppends >= Limits.refusedAppends {
                return begunAnew("the server does not append to files")
            }
        }
        state.sentBound = max(floor, offset, exchange.range.lowerBound + end.bytesSent)
        state.mustAsk = true
        let isCut = failure.kind == .transient && end.bytesSent > 0
        return isCut ? .askAfter(failure) : .failed(failure)
    }

    /// The next attempt replaces the file under the temporary name, if there is one.
    private mutating func begunAnew(_ reason: String) -> UploadVerdict {
        lost = reason
        state.mustAsk = false
        state.mayHaveArrived = false
        if state.swap != nil { state.swap = .unknown }
        state.sentBound = 0
        offset = 0
        return .conflict(Failure(.transient, LonghaulError(.serverError, reason)))
    }
}

/// libcurl's report of an upload over FTP or SFTP that has failed.
extension SegmentEnd {
    /// Codes of libcurl-errors(3).
    fileprivate enum Code: Int32 {
        case uploadRefused = 25
        case commandRefused = 21
        case noSuchFile = 78
    }

    fileprivate func isCode(_ code: Code) -> Bool { curlCode == code.rawValue }

    private var curlCode: Int32? {
        guard case .curl(let code, _, _)? = failure else { return nil }
        return code
    }

    fileprivate var curlText: String {
        guard case .curl(_, let text, _)? = failure else { return "" }
        return text
    }

    fileprivate var uploadFailure: Failure {
        if let curlCode,
            let failure = FileUploadFailure.classify(curlCode, text: curlText)
        {
            return failure
        }
        return failure.flatMap(FailureTable.classify)
            ?? Failure(.transient, LonghaulError(.network, "the upload was broken off"))
    }
}

extension UploadState {
    /// All bytes are at the server. Where the target stands in the way, it is renamed aside; if
    /// that does not help, it gets its name back. Nothing is deleted for it.
    ///
    /// - Parameter reply: The server's.
    fileprivate mutating func refuseRename(_ reply: String, size: Int64) -> UploadVerdict {
        sentBound = size
        (mustAsk, mayHaveArrived) = (false, false)
        let mayPass = reply.hasPrefix("4")
        if swap != .restoring { renameRefusal = reply }
        switch swap {
        case .unknown where !mayPass, nil where !mayPass: swap = .swapping
        case .swapping: swap = .restoring
        case .unknown, nil: return .failed(FileUploadFailure.renameRefusedNow(reply))
        case .restoring, .tidying:
            // Nothing stands aside, or it stays there.
            swap = .unknown
            return refusedName()
        }
        return .goOn
    }

    fileprivate mutating func refusedName() -> UploadVerdict {
        (mustAsk, mayHaveArrived) = (false, false)
        return .failed(FileUploadFailure.refusedRename(renameRefusal ?? ""))
    }
}
