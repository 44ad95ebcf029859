/// Plans the next request of an upload over FTP or SFTP: the bytes go to a temporary name beside
/// the target, which is renamed in the end. The server's size of that file is the offset.
struct RemoteFilePlan {
    private let plan: UploadPlan
    private let file: RemoteFile
    private let temporary: String
    /// Name of the old file while the new one gets its name.
    private let aside: String

    init(_ plan: UploadPlan, _ file: RemoteFile) {
        self.plan = plan
        self.file = file
        temporary = file.temporaryName(plan.transfer, plan.options.source)
        aside = file.asideName(plan.transfer, plan.options.source)
    }

    private var size: Int64 { plan.source.size }

    func next() -> UploadExchange {
        let state = plan.state
        // How much of the target is of this file cannot be told: it is never continued.
        if plan.options.inPlace { return inPlace() }
        // Without the temporary file it has its name already.
        if state.mustAsk { return request(.ask, file.url(of: state.address ?? file.name)) }
        switch state.swap {
        case .swapping:
            return commands(
                file.renaming(file.name, to: aside) + file.renaming(temporary, to: file.name)
                    + file.removing(aside))
        case .restoring: return commands(file.renaming(aside, to: file.name))
        case .tidying: return commands(file.removing(aside))
        case .unknown, nil: break
        }
        if plan.offset == size && size > 0 { return commands(naming) }
        return plan.offset == 0 ? whole() : append()
    }

    func abort() -> UploadExchange {
        var exchange = request(.abort, file.url(of: ""))
        if plan.state.swap != nil {
            exchange.body.commands.before = file.renamingIfPossible(aside, to: file.name)
        }
        exchange.body.commands.before += file.removing(temporary)
        return exchange
    }

    private func inPlace() -> UploadExchange {
        var exchange = sending(.whole, 0..<size, to: file.name)
        if plan.state.address != nil { exchange.body.commands.after = file.removing(temporary) }
        return exchange
    }

    /// Some servers replace nothing by renaming. The old file is deleted once the new one has the
    /// name, and not before.
    private var naming: [String] {
        let commands = file.renaming(temporary, to: file.name)
        return plan.state.swap == nil ? commands : commands + file.removing(aside)
    }

    /// Sends and renames at once: two requests would cost small files much.
    private func whole() -> UploadExchange {
        var exchange = sending(.whole, 0..<size, to: temporary)
        // An earlier connection may still deliver bytes of an earlier version: to another file.
        if plan.state.address != nil || size > Limits.uploadAtOnceBytes {
            exchange.body.commands.before = file.removing(temporary)
        }
        exchange.body.commands.after = naming
        exchange.address = temporary
        return exchange
    }

    /// Appends without a rename at once: see ``UploadJudge/judgeRemoteFile(_:)``.
    private func append() -> UploadExchange {
        var exchange = sending(.append, plan.offset..<size, to: temporary)
        exchange.body.appendsAt = plan.offset
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
