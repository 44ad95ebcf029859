internal import Longhaul

/// The methods that change transfers.
struct RPCChanges: Sendable {
    private let queue: ServedQueue
    private let options: RPCOptions

    init(_ queue: ServedQueue, _ options: RPCOptions) {
        self.queue = queue
        self.options = options
    }

    var methods: [String: RPCMethods.Method] {
        let remove = change { try queue.queue.cancel($0, by: .rpc) }
        let pause = change(of: [.waiting, .running], "paused") { try queue.queue.pause($0) }
        let pauseAll = changeAll { try queue.queue.pause(.all) }
        return [
            "aria2.addUri": add, "aria2.remove": remove, "aria2.forceRemove": remove,
            "aria2.pause": pause, "aria2.forcePause": pause,
            "aria2.pauseAll": pauseAll, "aria2.forcePauseAll": pauseAll,
            "aria2.unpause": change(of: [.paused], "unpaused") {
                try queue.reviewed.resume($0)
            },
            "aria2.unpauseAll": changeAll {
                let paused = try queue.queue.newest([.paused]).map(\.id)
                return try queue.reviewed.resume(.ids(paused))
            },
            "aria2.retry": change { try queue.reviewed.retry($0) },
            "aria2.changeOption": { parameters in
                try options.change(try queue.found(parameters), parameters.options(1))
                return "OK"
            },
            "aria2.changeGlobalOption": { parameters in
                try options.changeGlobal(parameters.options(0))
                return "OK"
            },
            "aria2.changeUri": changeURLs, "aria2.changePosition": changePosition,
            "aria2.saveSession": { _ in "OK" },
            "aria2.shutdown": shutDown, "aria2.forceShutdown": shutDown,
        ]
    }

    @Sendable
    private func add(_ parameters: RPCParameters) throws -> JSONPayload {
        let given = parameters.options(1)
        var request = try options.request(try parameters.strings(0), given)
        let gid = try given["gid"]?.first.map(GID.choice)
        request.options.gid = gid
        let id = try queue.add(request, given)
        return .string(GID.text(id, chosen: gid))
    }

    /// - Parameters:
    ///   - states: States that allow the change in aria2.
    ///   - done: Participle of the change, for the error.
    private func change(
        of states: Set<TransferState> = Set(TransferState.allCases), _ done: String = "changed",
        _ change: @escaping @Sendable (TransferSelection) throws -> [ChangeOutcome]
    ) -> RPCMethods.Method {
        { parameters in
            let transfer = try queue.found(parameters)
            guard states.contains(transfer.state) else {
                throw LonghaulError(
                    .conflict,
                    "GID \(GID.text(transfer)) cannot be \(done) now: it is "
                        + RPCStatus(transfer).state)
            }
            try queue.change(transfer.id, change)
            return .string(GID.text(transfer))
        }
    }

    /// Transfers to which it does not apply are unchanged.
    private func changeAll(
        _ change: @escaping @Sendable () throws -> [ChangeOutcome]
    ) -> RPCMethods.Method {
        { _ in
            try queue.checkWritable()
            _ = try change()
            queue.settle()
            return "OK"
        }
    }

    /// The first of the URLs that are left is asked, the others are its mirrors.
    @Sendable
    private func changeURLs(_ parameters: RPCParameters) throws -> JSONPayload {
        let transfer = try queue.found(parameters)
        guard try parameters.integer(1) == 1 else {
            throw LonghaulError(.invalidRequest, "fileIndex is out of range")
        }
        let (removed, added) = (try parameters.strings(2), try parameters.strings(3))
        let before = [transfer.requestURL] + transfer.options.mirrors
        var unwanted = Dictionary(removed.map { ($0, 1) }, uniquingKeysWith: +)
        var urls = before.filter { url in
            for name in [url, Redaction.url(url)] {
                guard let count = unwanted[name], count > 0 else { continue }
                unwanted[name] = count - 1
                return false
            }
            return true
        }
        let removals = before.count - urls.count
        for url in added { try OptionText.refuseHidden(url, "uri") }
        urls += added
        guard let first = urls.first else {
            throw LonghaulError(.invalidRequest, "a transfer has at least one URI")
        }
        var change = TransferChange()
        if first != transfer.requestURL { change.url = first }
        change.mirrors = Array(urls.dropFirst())
        try queue.change(transfer.id, change)
        return [.integer(Int64(removals)), .integer(Int64(added.count))]
    }

    /// A download keeps its priority: it is moved among others of the same priority.
    @Sendable
    private func changePosition(_ parameters: RPCParameters) throws -> JSONPayload {
        let transfer = try queue.found(parameters)
        let most = Limits.rpcListMaximum
        let number = min(max(-most, try parameters.integer(1)), most)
        let how = try parameters.string(2)
        guard ["POS_SET", "POS_CUR", "POS_END"].contains(how) else {
            throw LonghaulError(.invalidRequest, "it is POS_SET, POS_CUR or POS_END")
        }
        try queue.checkWritable()
        let position = try queue.aria.move(transfer.id) { present, last in
            number + (how == "POS_SET" ? 0 : how == "POS_CUR" ? present : last)
        }
        return .integer(Int64(position))
    }

    @Sendable
    private func shutDown(_ parameters: RPCParameters) throws -> JSONPayload {
        try queue.shutDown()
        return "OK"
    }
}
