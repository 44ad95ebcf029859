public import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulPlatform

extension TransferQueue {
    /// Reads a transfer, with live numbers while an engine moves it, in this process or another.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func transfer(_ id: TransferID) throws(LonghaulError) -> Transfer? {
        // Bytes go from the board to the store: looked at the other way round, some would be in
        // neither.
        let view = try LiveView(self)
        return try store.transfers.find(id, now: now).map { view.complete($0) }
    }

    /// Several at the price of one look at the engine, in the order of the ids; unknown ones are
    /// left out.
    package func transfers(_ ids: [TransferID]) throws(LonghaulError) -> [Transfer] {
        if ids.isEmpty { return [] }
        let view = try LiveView(self)
        return try store.transfers.find(ids, now: now).map { view.complete($0) }
    }

    /// Newest first.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func transfers(_ filter: TransferFilter) throws(LonghaulError) -> [Transfer] {
        let view = try LiveView(self)
        let states = filter.states ?? (filter.includeAll ? Set(TransferState.allCases) : nil)
        // Some of those may turn out to be in another state than the store has them in.
        let surplus = view.running.surplus
        let query = ListQuery(
            states: states.map { view.asStored($0) }, session: filter.session,
            limit: min(filter.limit ?? .max, .max - surplus) + surplus, below: filter.below)
        let found = try store.transfers.list(query, now: now).map { view.complete($0) }
        let shown = found.filter { filter.states?.contains($0.state) ?? true }
        return Array(shown.prefix(filter.limit ?? .max))
    }

    /// Every transfer that the filter lets through, in pages, in bounded memory.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; and what `body` throws.
    public func forEachTransfer(_ filter: TransferFilter, _ body: (Transfer) throws -> Void) throws
    {
        let view = try LiveView(self)
        try store.transfers.forEach(
            states: view.asStored(filter.states ?? Set(TransferState.allCases)),
            session: filter.session, now: now
        ) { stored in
            let transfer = view.complete(stored)
            if filter.states?.contains(transfer.state) ?? true { try body(transfer) }
        }
    }

    /// Forecasts a transfer's course; `shown` writes the moments in its text.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func forecast(
        of transfer: Transfer, shown: (Timestamp) -> String
    ) throws(LonghaulError) -> Forecast {
        var rate: Double?
        if let url = try? URLParts(transfer.requestURL) {
            rate = try store.transfers.origin(url.origin).bytesPerSecond
        }
        return Forecast(
            transfer, rate: rate, now: now,
            time: LocalTime.ofProcess, shown: shown)
    }

    /// The last requests that went out for a transfer, oldest first.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func attempts(of id: TransferID) throws(LonghaulError) -> [AttemptRecord] {
        try store.transfers.attempts(of: id)
    }

    /// The event log of one transfer, oldest first.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func events(of id: TransferID) throws(LonghaulError) -> [EventRecord] {
        try store.events.list(of: id).map { EventRecord($0) }
    }

    /// Reads the engine's process, the number of transfers of each state, and their rate.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func status() throws(LonghaulError) -> QueueStatus {
        try StatusReader(queue: self).read()
    }
}

/// The engine, the counts and the rates of a queue.
private struct StatusReader {
    let queue: TransferQueue

    func read() throws(LonghaulError) -> QueueStatus {
        let info = try queue.store.lease.info()
        var engine: QueueStatus.Engine?
        if queue.isEngineRunning, let holder = info.holder, let since = info.since {
            engine = QueueStatus.Engine(
                pid: holder.pid, mode: EngineMode(rawValue: holder.mode) ?? .embedded,
                since: since, isStopped: holder.isStopped)
        }
        let rates =
            engine == nil ? [] : BoardReader.live(in: queue.directory).values.map(\.bytesPerSecond)
        let view = try RunningView(queue.store, now: queue.now)
        var counts = view.counts.ofState
        // Transfers of an engine that died wait for the next one, and are shown so.
        let running = counts[.running] ?? 0
        let waiting = engine == nil ? running : view.surplus
        counts[.running] = running - waiting
        counts[.waiting, default: 0] += waiting
        let failing = try queue.store.hosts.failing()
        var status = QueueStatus(
            engine: engine, counts: counts, hostsFailed: failing.count,
            bytesPerSecond: rates.reduce(0, +),
            nextWake: engine == nil ? nil : try nextWake(info.nextWake))
        status.failingJobs = failing.filter(\.program.isJob).map(\.name)
        status.failingHosts = failing.filter { !$0.program.isJob }.map(\.name)
        status.rateLimit = try RateControl(queue).limit()
        return status
    }

    /// The engine notes when it looks at transfers again; when it starts hosts follows from what
    /// waits for them.
    private func nextWake(_ transfers: Timestamp?) throws(LonghaulError) -> Timestamp? {
        let launches = try queue.hosts().compactMap { host -> Timestamp? in
            switch host.state {
            case .due(let at), .delayed(let at): at
            case .idle: host.nextLaunch
            case .attached, .running, .blocked: nil
            }
        }
        return ([transfers] + launches).compactMap { $0 }.min()
    }
}

/// The version of a file whose bytes are held.
package enum HeldVersion {
    /// Its entity tag, or else its Last-Modified time; `nil` = nothing is held, or the server named
    /// none.
    ///
    /// - Throws: `storeUnavailable`.
    package static func validator(
        of id: TransferID, in queue: TransferQueue
    ) throws(LonghaulError) -> String? {
        try queue.store.transfers.validator(of: id)
    }
}

/// The identity of a store.
package enum StoreIdentity {
    /// Differs for each store that was created, in whichever directory it is.
    ///
    /// - Throws: `storeUnavailable`.
    package static func of(_ queue: TransferQueue) throws(LonghaulError) -> String {
        try queue.store.lease.info().storeID
    }
}
