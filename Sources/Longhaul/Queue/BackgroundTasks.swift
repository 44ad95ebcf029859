public import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// The task requests of a queue. All calls are synchronous, short, and safe from any thread.
public struct BackgroundTasks: Sendable {
    private let queue: TransferQueue
    private var store: Store { queue.store }
    private var now: Timestamp { queue.now }

    fileprivate init(_ queue: TransferQueue) {
        self.queue = queue
    }

    /// Asks for launches of a host. A pending request of the same identifier is replaced; a
    /// repeating one continues its interval. The record is durable: it survives this process, the
    /// engine and the machine. The counterpart of `BGTaskScheduler.submit(_:)`.
    ///
    /// - Throws: `LonghaulError` `notPermitted`, `tooManyPendingTaskRequests`,
    ///   `immediateRunIneligible` for a continued task with the strategy `fail` that cannot begin
    ///   at once, `unavailable` when the host's program cannot be run, `noSuchHost`,
    ///   `invalidRequest`, `storeUnavailable`.
    @discardableResult
    public func submit(_ request: TaskRequest) throws(LonghaulError) -> TaskRecord {
        if let defect = request.defect { throw LonghaulError(.invalidRequest, defect) }
        var request = request
        if let payload = request.payload {
            request.payload = try RequestBounds.json(payload, "payload")
        }
        let host = try store.tasks.host(for: request)
        try checkAvailable(host)
        request.host = host.name
        let mustBegin = request.continued?.strategy == .fail
        let task = try store.tasks.submit(
            request, now: now, check: mustBegin ? beginning(request) : nil)
        WakeChannel.poke(queue.directory)
        return try TaskReader(queue).record(task)
    }

    /// A check that throws if the engine would not begin the request now.
    private func beginning(
        _ request: TaskRequest
    ) throws(LonghaulError) -> (StoredTask, TaskFacts) throws -> Void {
        let view = try PlanView(queue)
        let conditions = view.conditions(for: [request.eligibility.eligibility])
        return { task, facts in
            let plan = view.plan(facts, conditions)
            if plan.begins(task) { return }
            throw LonghaulError.cannotBegin(
                task.request.identifier,
                plan.reasons(of: task, transfers: nil).map(\.reason.rawValue))
        }
    }

    /// All requests that wait or run, by host and identifier.
    ///
    /// - Parameter host: `nil` = of all hosts.
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func all(host: String? = nil) throws(LonghaulError) -> [TaskRecord] {
        let reader = try TaskReader(queue)
        var records: [TaskRecord] = []
        for task in try store.tasks.all(host: host) { records.append(try reader.record(task)) }
        return records
    }

    /// The continued tasks that run, without their last runs.
    package func runningContinued() throws(LonghaulError) -> [TaskRecord] {
        try store.tasks.running().filter { $0.kind == .continued }.map { task in
            var record = TaskRecord(
                request: task.request, state: .running, submittedAt: task.submittedAt,
                forecast: Forecast(startsAt: task.startedAt, text: "it runs"))
            record.continued = task.continued
            record.progress = task.report?.progress
            return record
        }
    }

    /// Finds a request with its last runs; for a request that is done, only the runs are left.
    /// `nil` = there is neither.
    ///
    /// - Parameters:
    ///   - identifier: As it was submitted with.
    ///   - host: `nil` = the one that has it.
    /// - Throws: `LonghaulError` `conflict` when several hosts have one and none is named,
    ///   `storeUnavailable`.
    public func find(
        _ identifier: String, host: String? = nil
    ) throws(LonghaulError) -> TaskRecord? {
        let reader = try TaskReader(queue)
        let tasks = try store.tasks.find(identifier, host: host)
        try store.tasks.checkOneHost(identifier, tasks.map(\.host))
        if let task = tasks.first { return try reader.record(task) }
        let hosts = try store.tasks.hostsWithRuns(of: identifier)
        if host == nil { try store.tasks.checkOneHost(identifier, hosts) }
        guard let name = host ?? hosts.first else { return nil }
        return try reader.done(identifier, host: name)
    }

    /// Cancels requests, all of them or none. A launch that carries one continues, but that of a
    /// continued task expires. The counterpart of
    /// `BGTaskScheduler.cancel(taskRequestWithIdentifier:)`.
    ///
    /// - Parameters:
    ///   - identifiers: Identifiers of the requests; an unknown one refuses all.
    ///   - host: `nil` = the one that has each.
    /// - Throws: `LonghaulError` `noSuchTask`; `conflict` when several hosts have one and none is
    ///   named; `storeUnavailable`.
    public func cancel(
        _ identifiers: [String], host: String? = nil
    ) throws(LonghaulError) {
        try store.tasks.cancel(identifiers, host: host)
        WakeChannel.poke(queue.directory)
    }

    /// Cancels all requests, as ``cancel(_:host:)`` does, and returns their number. The counterpart
    /// of `BGTaskScheduler.cancelAllTaskRequests()`.
    ///
    /// - Parameter host: `nil` = of all hosts.
    /// - Throws: `LonghaulError` `storeUnavailable`.
    @discardableResult
    public func cancelAll(host: String? = nil) throws(LonghaulError) -> Int {
        let count = try store.tasks.cancelAll(host: host)
        WakeChannel.poke(queue.directory)
        return count
    }

    /// Asks the engine to launch a request now, regardless of its conditions. For tests: the
    /// counterpart of `_simulateLaunchForTaskWithIdentifier:`.
    ///
    /// - Throws: `LonghaulError` `noSuchTask`; `conflict` when it runs, or when several hosts have
    ///   one and none is named; `storeUnavailable`.
    public func simulateLaunch(
        of identifier: String, host: String? = nil
    ) throws(LonghaulError) {
        try store.tasks.simulateLaunch(of: identifier, host: host)
        WakeChannel.poke(queue.directory)
    }

    /// Asks the engine to end the launch that carries a request. For tests: the counterpart of
    /// `_simulateExpirationForTaskWithIdentifier:`.
    ///
    /// - Throws: `LonghaulError` `noSuchTask`; `conflict` when it does not run, or when several
    ///   hosts have one and none is named; `storeUnavailable`.
    public func simulateExpiration(
        of identifier: String, host: String? = nil
    ) throws(LonghaulError) {
        try store.tasks.simulateExpiration(of: identifier, host: host)
        WakeChannel.poke(queue.directory)
    }

    /// Hands a wake-up to a host. Recorded durably, and merged with a waiting one of its
    /// identifier. The counterpart of a push.
    ///
    /// - Throws: `LonghaulError` `noSuchHost`; `invalidRequest` for a payload that is not JSON or
    ///   too long, or an invalid identifier; `storeUnavailable`.
    public func wake(host: String, _ wakeUp: WakeUp) throws(LonghaulError) {
        var wakeUp = wakeUp
        if let identifier = wakeUp.identifier,
            let defect = TaskRequest(identifier: identifier).defect
        {
            throw LonghaulError(.invalidRequest, defect)
        }
        if let defect = wakeUp.requires.defect ?? wakeUp.prefers?.defect {
            throw LonghaulError(.invalidRequest, defect)
        }
        if let payload = wakeUp.payload {
            guard payload.utf8.count <= Limits.taskPayloadBytes else {
                throw LonghaulError(.invalidRequest, "a payload has 64 KiB at most")
            }
            wakeUp.payload = try RequestBounds.json(payload, "payload")
        }
        try store.tasks.wake(host, wakeUp, now: now)
        WakeChannel.poke(queue.directory)
    }

    private func checkAvailable(_ host: StoredHost) throws(LonghaulError) {
        let program = host.program.argv[0]
        guard let obstacle = queue.machine.obstacle(program) else { return }
        let why = obstacle == .missing ? "is not there" : "may not be run"
        throw LonghaulError(
            .unavailable,
            "the host \(host.name) cannot be launched: \(program) \(why);"
                + " mend it, or `host add` another program")
    }
}

extension LonghaulError {
    package static func noSuchTask(_ task: String) -> LonghaulError {
        LonghaulError(
            .noSuchTask, "there is no request of the task \(TerminalText.shown(task))")
    }

    /// - Parameter reasons: What the task would wait for; empty = for an engine.
    package static func cannotBegin(_ task: String, _ reasons: [String]) -> LonghaulError {
        let waits = reasons.isEmpty ? "an engine" : reasons.joined(separator: ", ")
        return LonghaulError(
            .immediateRunIneligible,
            "the task \(task) cannot begin at once, since it would wait for \(waits);"
                + " nothing was recorded; with the strategy `queue` it waits")
    }
}

extension TransferQueue {
    /// The requests for launches of hosts.
    public var tasks: BackgroundTasks { BackgroundTasks(self) }
}
