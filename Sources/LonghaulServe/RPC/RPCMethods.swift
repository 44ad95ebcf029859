internal import Longhaul
internal import LonghaulPlatform

/// The methods by their names.
struct RPCMethods: Sendable {
    typealias Method = @Sendable (RPCParameters) throws -> JSONPayload

    private let all: [String: Method]

    init(_ queue: ServedQueue) {
        let options = RPCOptions(queue)
        let tables = [
            RPCChanges(queue, options).methods, RPCReads(queue, options).methods,
            RPCHistory(queue, options).methods,
        ]
        all = tables.reduce(into: [:]) { $0.merge($1) { $1 } }
    }

    func find(_ name: String) -> Method? { all[name] }

    var names: [String] {
        (all.keys + ["system.multicall", "system.listMethods", "system.listNotifications"])
            .sorted()
    }
}

/// The methods that read.
struct RPCReads: Sendable {
    private let queue: ServedQueue
    private let options: RPCOptions
    private let session = ProcessIdentity.current

    init(_ queue: ServedQueue, _ options: RPCOptions) {
        self.queue = queue
        self.options = options
    }

    var methods: [String: RPCMethods.Method] {
        [
            "aria2.tellStatus": { RPCStatus(try transfer($0)).json($0.keys(1)) },
            "aria2.tellActive": { parameters in
                let active = try queue.queue.newest([.running])
                return .array(active.reversed().map { RPCStatus($0).json(parameters.keys(0)) })
            },
            "aria2.tellWaiting": { try slice(queue.aria.waiting(), $0) },
            "aria2.tellStopped": {
                try slice(queue.queue.newest([.completed, .failed, .cancelled]).reversed(), $0)
            },
            "aria2.getUris": { RPCStatus(try transfer($0)).uris },
            "aria2.getFiles": { RPCStatus(try transfer($0)).files },
            "aria2.getServers": { RPCStatus(try transfer($0)).servers },
            "aria2.getPeers": {
                _ = try transfer($0); return []
            },
            "aria2.getOption": { options.options(of: try transfer($0)) },
            "aria2.getGlobalOption": { _ in options.global() },
            "aria2.getGlobalStat": { _ in try statistics() },
            "aria2.getVersion": { _ in
                [
                    // Clients compare it with versions of aria2.
                    "version": "1.37.0", "longhaul": .string(LonghaulVersion.current),
                    "enabledFeatures": ["HTTPS"],
                ]
            },
            "aria2.getSessionInfo": { _ in
                let text = String(session.startTicks, radix: 16) + String(session.pid, radix: 16)
                let padding = String(repeating: "0", count: max(0, 40 - text.utf8.count))
                return ["sessionId": .string(padding + text)]
            },
        ]
    }

    private func transfer(_ parameters: RPCParameters) throws(LonghaulError) -> Transfer {
        try queue.found(parameters)
    }

    private func slice(
        _ transfers: [Transfer], _ parameters: RPCParameters
    ) throws -> JSONPayload {
        let (offset, count) = (try parameters.integer(0), try parameters.integer(1))
        return .array(
            RPCSlice.of(transfers, offset: offset, count: count).map {
                RPCStatus($0).json(parameters.keys(2))
            })
    }

    private func statistics() throws(LonghaulError) -> JSONPayload {
        let status = try queue.queue.status()
        func count(_ states: [TransferState]) -> JSONPayload {
            .string("\(states.reduce(0) { $0 + (status.counts[$1] ?? 0) })")
        }
        let stopped = count([.completed, .failed, .cancelled])
        return [
            "downloadSpeed": .string("\(Int(status.bytesPerSecond.rounded()))"),
            "uploadSpeed": "0", "numActive": count([.running]),
            "numWaiting": count([.waiting, .paused]), "numStopped": stopped,
            "numStoppedTotal": stopped,
        ]
    }
}

enum RPCSlice {
    /// aria2's rule: a negative offset counts from the end, and the answer is reversed.
    static func of<Element>(_ list: [Element], offset: Int, count: Int) -> [Element] {
        guard count > 0 else { return [] }
        if offset >= 0 { return Array(list.dropFirst(offset).prefix(count)) }
        let last = list.count + offset
        guard last >= 0 else { return [] }
        return Array(list.prefix(last + 1).suffix(count).reversed())
    }
}

extension TransferQueue {
    /// The transfers of these states that a list has, the newest first.
    func newest(_ states: Set<TransferState>) throws(LonghaulError) -> [Transfer] {
        var filter = TransferFilter()
        filter.states = states
        filter.limit = Limits.rpcListMaximum
        return try transfers(filter)
    }
}

extension ServedQueue {
    var aria: AriaQueue { AriaQueue(queue, limit: Limits.rpcListMaximum) }

    /// Records one request, paused where its options say so. One that equals an ended transfer is a
    /// new one, with a new gid: clients remove the old result after it.
    ///
    /// - Throws: `destinationExists` where its file is there and is to be skipped.
    func add(
        _ request: TransferRequest, _ options: [String: [String]]
    ) throws(LonghaulError) -> TransferID {
        guard let id = try enqueue([request], takesUpFailed: false).first ?? nil else {
            throw LonghaulError(.destinationExists, "the file is there already")
        }
        if options["pause"]?.first == "true" { _ = try queue.pause(.ids([id])) }
        return id
    }

    /// The transfer of a gid.
    func found(_ parameters: RPCParameters) throws(LonghaulError) -> Transfer {
        try GID(parameters.string(0)).transfer(in: self)
    }
}
