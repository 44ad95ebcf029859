/// What an upload over FTP or SFTP asks next: the bytes go to a temporary name beside the target,
/// which is renamed in the end. The server's size of that file is the offset.
struct RemoteFilePlan {
    private let plan: UploadPlan
    private let file: RemoteFile
    private let temporary: String

    init(_ plan: UploadPlan, _ file: RemoteFile) {
        self.plan = plan
        self.file = file
        temporary = file.temporaryName(plan.transfer, plan.options.source)
    }

    private var size: Int64 { plan.source.size }

    func next() -> UploadExchange {
        let state = plan.state
        // Without the temporary file it has its name already.
        if state.mustAsk { return request(.ask, file.url(of: state.address ?? file.name)) }
        if state.isRenameRefused || plan.offset == size && size > 0 { return complete() }
        return plan.offset == 0 ? whole() : append()
    }

    func abort() -> UploadExchange {
        var exchange = request(.abort, file.url(of: ""))
        exchange.body.commands.before = file.removing(temporary)
        return exchange
    }

    /// Sends and renames at once: two requests would cost small files much.
    private func whole() -> UploadExchange {
        var exchange = sending(.whole, 0..<size)
        // An earlier connection may still deliver bytes of an earlier version: to another file.
        if plan.state.address != nil || size > Limits.uploadAtOnceBytes {
            exchange.body.commands.before = file.removing(temporary)
        }
        exchange.body.commands.after = file.renaming(temporary, to: file.name)
        exchange.address = temporary
        return exchange
    }

    /// Not renamed at once: see ``UploadJudge/judgeRemoteFile(_:)``.
    private func append() -> UploadExchange {
        var exchange = sending(.append, plan.offset..<size)
        exchange.body.appendsAt = plan.offset
        return exchange
    }

    /// OpenSSH and some FTP servers replace nothing by renaming: there the target is removed first.
    private func complete() -> UploadExchange {
        var exchange = request(.complete, file.url(of: ""))
        if plan.state.isRenameRefused {
            exchange.body.commands.before = file.removing(file.name)
        }
        exchange.body.commands.before += file.renaming(temporary, to: file.name)
        exchange.address = temporary
        return exchange
    }

    private func sending(
        _ purpose: UploadExchange.Purpose, _ range: Range<Int64>
    ) -> UploadExchange {
        var exchange = request(purpose, file.url(of: temporary))
        exchange.range = range
        exchange.completes = true
        exchange.body.content = UploadBody.Content(file: range, pinned: plan.source)
        exchange.body.mayRepeat = true
        return exchange
    }

    private func request(_ purpose: UploadExchange.Purpose, _ url: String) -> UploadExchange {
        UploadExchange(
            purpose: purpose, url: url, headers: HeaderFields(), body: UploadBody(method: ""),
            range: 0..<0, completes: false)
    }
}
