/// Refusals to append to a file over FTP after which the whole file is sent.
private let refusedAppendsMaximum = 2

/// An upload over FTP or SFTP: the bytes go to a temporary name beside the target, which is renamed
/// in the end. The server's size of that file is the offset. There is no answer but libcurl's
/// result.
package struct RemoteFileUpload: UploadConversation {
    package struct Kept: KeptProgress {
        /// The temporary name.
        package var address: String?
        package var sentBound: Int64 = 0
        package var mustAsk = false
        /// The swap of a target that the server refused to rename the file to.
        var swap: RemoteSwap?
        /// The server's words for that.
        var renameRefusal: String?
        /// Over FTP: times that the server has refused to append since it last did.
        var refusedAppends = 0

        package init(
            at address: String? = nil, sentBound: Int64 = 0, mustAsk: Bool = false,
            swap: RemoteSwap? = nil
        ) {
            self.address = address
            self.sentBound = sentBound
            self.mustAsk = mustAsk
            self.swap = swap
        }
    }

    package var standing: UploadStanding
    var kept: Kept
    private let file: RemoteFile
    private let temporary: String
    /// Name of the old file while the new one gets its name.
    private let aside: String

    init(standing: UploadStanding, kept: Kept, file: RemoteFile) {
        let job = standing.job
        assert(standing.offset <= job.size, "the server has no more than there is")
        self.standing = standing
        self.kept = kept
        self.file = file
        temporary = file.temporaryName(job.transfer, job.options.source)
        aside = file.asideName(job.transfer, job.options.source)
    }

    package var progress: UploadProgress { .remoteFile(kept) }

    // MARK: - Requests

    package func next() -> UploadExchange? {
        // The length of this file's part of the target is unknown: it is never continued.
        if job.options.inPlace { return inPlace() }
        // Without the temporary file it has its name already.
        if kept.mustAsk { return request(.ask, file.url(of: kept.address ?? file.name)) }
        switch kept.swap {
        case .swapping:
            return commands(
                file.renaming(file.name, to: aside) + file.renaming(temporary, to: file.name)
                    + file.removing(aside))
        case .restoring: return commands(file.renaming(aside, to: file.name))
        case .tidying: return commands(file.removing(aside))
        case .unknown, nil: break
        }
        if standing.offset == size && size > 0 { return commands(naming) }
        return standing.offset == 0 ? whole() : append()
    }

    package func abort() -> UploadExchange? {
        if kept.address == nil { return nil }
        var exchange = request(.abort, file.url(of: ""))
        if kept.swap != nil {
            exchange.body.commands.before = file.renamingIfPossible(aside, to: file.name)
        }
        exchange.body.commands.before += file.removing(temporary)
        return exchange
    }

    private func inPlace() -> UploadExchange {
        var exchange = sending(.whole, 0..<size, to: file.name)
        if kept.address != nil { exchange.body.commands.after = file.removing(temporary) }
        return exchange
    }

    /// Some servers replace nothing by renaming. The old file is deleted once the new one has the
    /// name, and not before.
    private var naming: [String] {
        let commands = file.renaming(temporary, to: file.name)
        return kept.swap == nil ? commands : commands + file.removing(aside)
    }

    /// Sends and renames at once: two requests would cost small files much.
    private func whole() -> UploadExchange {
        var exchange = sending(.whole, 0..<size, to: temporary)
        // An earlier connection may still deliver bytes of an earlier version: to another file.
        if kept.address != nil || size > Limits.uploadAtOnceBytes {
            exchange.body.commands.before = file.removing(temporary)
        }
        exchange.body.commands.after = naming
        exchange.address = temporary
        return exchange
    }

    /// Appends without a rename at once: see ``appended(_:)``.
    private func append() -> UploadExchange {
        var exchange = sending(.append, standing.offset..<size, to: temporary)
        exchange.body.appendsAt = standing.offset
        return exchange
    }

    private func commands(_ commands: [String]) -> UploadExchange {
        var exchange = request(.complete, file.url(of: ""))
        exchange.body.commands.before = commands
        exchange.address = temporary
        return exchange
    }

    private func sending(
        _ purpose: UploadExchange.Purpose, _ range: Range<Int64>, to name: String
    ) -> UploadExchange {
        var exchange = request(purpose, file.url(of: name))
        exchange.range = range
        exchange.completes = true
        exchange.body.content = UploadBody.Content(file: range, pinned: job.source)
        exchange.body.mayRepeat = true
        exchange.body.makesDirectories = job.options.createsDirectories
        return exchange
    }

    private func request(_ purpose: UploadExchange.Purpose, _ url: String) -> UploadExchange {
        UploadExchange(purpose, "", url)
    }

    package mutating func begins(_ exchange: UploadExchange) {
        kept.address = exchange.address ?? kept.address
        kept.sentBound = max(kept.sentBound, exchange.range.upperBound)
    }

    package mutating func reopens() {
        guard kept.address != nil else { return }
        kept.mustAsk = true
        forgetSwap()
    }

    /// The last command that was carried out is unknown.
    private mutating func forgetSwap() {
        if kept.swap != nil { kept.swap = .unknown }
    }

    // MARK: - Ends

    package mutating func judge(_ ended: EndedExchange) -> UploadVerdict {
        switch ended.exchange.purpose {
        case .whole where job.options.inPlace:
            guard ended.head != nil else { return .failed(ended.end.uploadFailure) }
            standing.offset = size
            return .done
        case .whole, .complete: return named(ended)
        case .append: return appended(ended)
        case .ask:
            guard let head = ended.head else { return askedInVain(ended.end) }
            guard case .bytes(let size) = head.headers.contentLength else { return told(0) }
            return told(size)
        case .abort, .discover, .create, .list, .makeDirectory: return .done
        }
    }

    private mutating func named(_ ended: EndedExchange) -> UploadVerdict {
        guard ended.head != nil || kept.swap == .tidying else { return endedUnnamed(ended) }
        if kept.swap == .restoring {
            kept.swap = nil
            return refusedName()
        }
        standing.offset = size
        return .done
    }

    /// An earlier connection may have delivered some bytes after the server was asked: then the
    /// file is longer than it may be, and its size is asked for before it is renamed.
    private mutating func appended(_ ended: EndedExchange) -> UploadVerdict {
        guard ended.head != nil else { return appendBroke(ended) }
        kept.refusedAppends = 0
        standing.offset = ended.exchange.range.upperBound
        kept.mustAsk = true
        return .goOn
    }

    // MARK: - Sizes

    private mutating func told(_ told: Int64) -> UploadVerdict {
        guard kept.address != nil else {
            // The last request is the only one that could remove the temporary name.
            if told != size { return beginAnew("the file did not get its name at the server") }
            standing.offset = size
            if kept.swap == nil { return .done }
            // The old file that stands aside is of no more use.
            (kept.mustAsk, kept.swap) = (false, .tidying)
            return .goOn
        }
        if told > min(kept.sentBound, size) {
            return beginAnew("the server claims \(told) bytes, which were never sent")
        }
        if told < standing.offset {
            return beginAnew("the server has fewer bytes than it had acknowledged")
        }
        kept.mustAsk = false
        standing.mayHaveArrived = false
        standing.offset = told
        return .goOn
    }

    private mutating func askedInVain(_ end: SegmentEnd) -> UploadVerdict {
        guard end.isCode(.noSuchFile) else { return .failed(end.uploadFailure) }
        if kept.address == nil { return beginAnew("the server has not got the file") }
        kept.address = nil
        if standing.mayHaveArrived { return .goOn }
        if standing.offset > 0 {
            return beginAnew("the server has not got the begun file any more")
        }
        kept.mustAsk = false
        return .goOn
    }

    // MARK: - Breaks

    /// The file, or its name, did not arrive.
    private mutating func endedUnnamed(_ ended: EndedExchange) -> UploadVerdict {
        let isWhole = ended.exchange.purpose == .whole
        if ended.end.isCode(.commandRefused) {
            standing.offset = size
            return refusedRename(ended.end.curlText)
        }
        forgetSwap()
        if isWhole {
            kept.sentBound = ended.bound(from: 0)
            standing.mayHaveArrived = ended.mayBeWhole
        }
        kept.mustAsk = !isWhole || ended.end.bytesSent > 0
        let failure = ended.end.uploadFailure
        return kept.mustAsk && failure.kind == .transient ? .askAfter(failure) : .failed(failure)
    }

    private mutating func appendBroke(_ ended: EndedExchange) -> UploadVerdict {
        let failure = ended.end.uploadFailure
        if ended.end.isCode(.uploadRefused) {
            // A file that is in use, or in fact that appending is not allowed (as ProFTPD replies).
            let reply = ended.end.curlText
            if reply.hasPrefix("450") || reply.hasPrefix("451") { kept.refusedAppends += 1 }
            if failure.kind != .transient || kept.refusedAppends >= refusedAppendsMaximum {
                return beginAnew("the server does not append to files")
            }
        }
        kept.sentBound = ended.bound(from: standing.offset)
        kept.mustAsk = true
        let isCut = failure.kind == .transient && ended.end.bytesSent > 0
        return isCut ? .askAfter(failure) : .failed(failure)
    }

    /// The next attempt replaces the file under the temporary name, if there is one.
    package mutating func forgetResource() {
        kept.mustAsk = false
        kept.sentBound = 0
        forgetSwap()
    }

    // MARK: - Names

    /// All bytes are at the server. Where the target stands in the way, it is renamed aside; if
    /// that does not help, it gets its name back. Nothing is deleted for it.
    ///
    /// - Parameter reply: The server's.
    private mutating func refusedRename(_ reply: String) -> UploadVerdict {
        kept.sentBound = size
        (kept.mustAsk, standing.mayHaveArrived) = (false, false)
        let mayPass = reply.hasPrefix("4")
        if kept.swap != .restoring { kept.renameRefusal = reply }
        switch kept.swap {
        case .unknown where !mayPass, nil where !mayPass: kept.swap = .swapping
        case .swapping: kept.swap = .restoring
        case .unknown, nil: return .failed(FileUploadFailure.renameRefusedNow(reply))
        case .restoring, .tidying:
            // Nothing stands aside, or it stays there.
            kept.swap = .unknown
            return refusedName()
        }
        return .goOn
    }

    private mutating func refusedName() -> UploadVerdict {
        (kept.mustAsk, standing.mayHaveArrived) = (false, false)
        return .failed(FileUploadFailure.refusedRename(kept.renameRefusal ?? ""))
    }
}

/// How a file gets a name over FTP and SFTP that another file has, where the server does not
/// replace it by renaming.
package enum RemoteSwap: String, Hashable, Codable, Sendable {
    /// A single request renames the old file aside and puts the new one in its place.
    case swapping
    /// The server refused the swap; the old file gets its name back if it had lost it.
    case restoring
    /// The old file may stand aside: a request was broken off, and the new one is renamed next.
    case unknown
    /// The new file has its name, and the old one is deleted.
    case tidying
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
