public import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulSystem

extension TransferQueue {
    /// With live numbers where an engine is moving it, in this process or another.
    public func transfer(_ id: TransferID) throws(LonghaulError) -> Transfer? {
        guard let transfer = try store.transfer(id, now: now) else { return nil }
        return LiveView(self).complete(transfer)
    }

    /// Newest first.
    public func transfers(_ filter: TransferFilter) throws(LonghaulError) -> [Transfer] {
        let found = try store.list(filter.inStore, now: now)
        let view = LiveView(self)
        return found.map { view.complete($0) }
    }

    /// Every transfer that the filter lets through, in pages, in bounded memory.
    public func forEachTransfer(_ filter: TransferFilter, _ body: (Transfer) throws -> Void) throws
    {
        let view = LiveView(self)
        try store.forEachTransfer(
            states: filter.states ?? Set(TransferState.allCases), session: filter.session, now: now
        ) { try body(view.complete($0)) }
    }

    /// The last requests that went out for a transfer, oldest first.
    public func attempts(of id: TransferID) throws(LonghaulError) -> [AttemptRecord] {
        try store.attempts(of: id).map { record in
            let outcome = record.outcome
            return AttemptRecord(
                startedAt: outcome.startedAt, endedAt: outcome.endedAt, url: outcome.url,
                bytes: outcome.bytes, httpStatus: outcome.httpStatus,
                httpVersion: outcome.httpVersion, outcome: outcome.outcome,
                message: outcome.message)
        }
    }

    public func events(of id: TransferID) throws(LonghaulError) -> [EventRecord] {
        try store.events(of: id).map { event in
            EventRecord(
                sequence: event.seq, at: event.at, session: event.session,
                type: event.type.rawValue, transferID: event.transfer, detail: event.detail,
                acknowledgedAt: event.acknowledgedAt)
        }
    }

    public func status() throws(LonghaulError) -> QueueStatus {
        let info = try store.engineInfo()
        var engine: QueueStatus.Engine?
        if isEngineRunning, let holder = info.holder, let since = info.since {
            engine = QueueStatus.Engine(
                pid: holder.pid, mode: EngineMode(rawValue: holder.mode) ?? .embedded,
                since: since)
        }
        let rates =
            engine == nil ? [] : BoardReader.live(in: directory).values.map(\.bytesPerSecond)
        return QueueStatus(
            engine: engine, counts: try store.counts(), bytesPerSecond: rates.reduce(0, +),
            nextWake: engine == nil ? nil : info.nextWake)
    }

    /// Blocks until something in the store may have changed, or the time is over. A hint: look
    /// again either way.
    public func waitForChange(timeout seconds: Double) {
        let end = SystemClock.now().monotonic + seconds
        let version = try? store.dataVersion()
        while SystemClock.now().monotonic < end {
            Pause.seconds(min(Self.changeCheckSeconds, end - SystemClock.now().monotonic))
            if (try? store.dataVersion()) != version { return }
        }
    }

    /// `PRAGMA data_version` costs microseconds; this often it is not felt.
    private static var changeCheckSeconds: Double { 0.02 }
}

extension TransferFilter {
    var inStore: LonghaulStore.TransferFilter {
        LonghaulStore.TransferFilter(
            states: states ?? (includeAll ? Set(TransferState.allCases) : nil), session: session,
            limit: limit ?? .max)
    }
}

/// Completes what the store knows with what only lives elsewhere: the progress board, and whether
/// an engine runs at all.
struct LiveView {
    private let board: [FetchID: BoardReader.Live]
    private let hasEngine: Bool
    private let store: Store
    private let now: Timestamp

    init(_ queue: TransferQueue) {
        hasEngine = queue.isEngineRunning
        board = hasEngine ? BoardReader.live(in: queue.directory) : [:]
        store = queue.store
        now = queue.now
    }

    func complete(_ transfer: Transfer) -> Transfer {
        var transfer = transfer
        if let held = transfer.held, let live = board[held.fetch], !transfer.state.hasEnded {
            var have = held.durable
            for (generation, range) in live.written where generation == held.generation {
                have.insert(range)
            }
            transfer.bytesDone = have.count
            transfer.bytesFetched = max(transfer.bytesFetched, live.received)
            if transfer.state == .running {
                transfer.bytesPerSecond = live.bytesPerSecond
                transfer.yielding = live.yielding
            }
        }
        if transfer.state == .running, !hasEngine {
            // Its engine died: it waits for the next one, which finds its bytes.
            transfer.state = .waiting
        }
        if transfer.state == .waiting, transfer.waitingFor.isEmpty {
            transfer.waitingFor = [turn(transfer)]
        }
        return transfer
    }

    /// Nothing holds it but its turn.
    private func turn(_ transfer: Transfer) -> WaitReason {
        guard hasEngine else {
            return WaitReason(.engine, required: "running", current: "none runs", since: nil)
        }
        if let url = try? URLParts(transfer.url), let memory = try? store.origin(url.origin),
            case .cooling(let until) = memory.health(at: now)
        {
            return WaitReason(
                .originCooldown, required: nil, current: memory.origin, since: nil,
                nextCheck: until)
        }
        let running = board.count
        if running >= Limits.runningTransfers {
            return WaitReason(
                .concurrency, required: "fewer than \(Limits.runningTransfers) running",
                current: String(running))
        }
        return WaitReason(
            .originLimit, required: "at most \(Limits.connectionsPerOrigin) per origin",
            current: String(running))
    }
}
