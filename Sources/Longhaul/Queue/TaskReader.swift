internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// Task records from the store, the machine's conditions and the state of their hosts: why each
/// waits and when it begins, by the plan that the engine would make.
struct TaskReader {
    let queue: TransferQueue
    let plan: TaskPlan
    private let hasEngine: Bool

    init(_ queue: TransferQueue) throws(LonghaulError) {
        let view = try PlanView(queue)
        let facts = try queue.store.tasks.facts(ofAllHosts: true)
        self.queue = queue
        hasEngine = view.hasEngine
        plan = view.plan(
            facts,
            view.conditions(
                for: facts.snapshot.tasks.filter { $0.launch == nil }.map {
                    $0.eligibility(at: queue.now)
                }))
    }

    func record(_ task: StoredTask) throws(LonghaulError) -> TaskRecord {
        var request = task.request
        request.host = task.host
        var record = TaskRecord(
            request: request, state: task.launch == nil ? .waiting : .running,
            submittedAt: task.submittedAt, forecast: Forecast(text: ""),
            failures: task.timing.failures, emptyRuns: task.timing.emptyRuns)
        record.runs = try runs(request.identifier, task.host)
        record.continued = task.continued
        record.progress = task.report?.progress
        if task.launch != nil {
            record.forecast = record.forecast(now: queue.now) { RFC3339.format($0) }
            record.forecast.startsAt = task.startedAt
            return record
        }
        record.waitingFor = plan.reasons(of: task, transfers: try transfers(of: task))
        if !hasEngine { record.waitingFor.append(.noEngine()) }
        record.forecast = record.forecast(now: queue.now) { RFC3339.format($0) }
        if let why = plan.waits[task.id]?.refresh?.sentence(shown: RFC3339.format) {
            record.forecast.text += ": \(why)"
        }
        return record
    }

    /// The wait of a job for transfers; `nil` = it waits for none.
    private func transfers(of task: StoredTask) throws(LonghaulError) -> WaitReason? {
        if task.awaits.isEmpty { return nil }
        let others = try task.awaits.map { id throws(LonghaulError) in
            (id: id, transfer: try queue.store.transfers.find(id, now: queue.now))
        }
        return try LiveView(queue).wait(for: others, since: task.submittedAt)
    }

    func done(_ identifier: String, host: String) throws(LonghaulError) -> TaskRecord? {
        let runs = try runs(identifier, host)
        guard let last = runs.first else { return nil }
        return TaskRecord(
            request: TaskRequest(identifier: identifier, kind: last.kind, host: host), state: .done,
            submittedAt: last.startedAt, forecast: Forecast(text: "it is done"), runs: runs)
    }

    private func runs(
        _ identifier: String, _ host: String
    ) throws(LonghaulError) -> [TaskRun] {
        try queue.store.tasks.runs(of: identifier, host: host)
    }
}

extension TaskRecord {
    /// The expected beginning, from the wait reasons.
    ///
    /// - Parameter shown: Formats a moment.
    package func forecast(now: Timestamp, shown: (Timestamp) -> String) -> Forecast {
        switch state {
        case .running: return Forecast(text: "it runs")
        case .done: return Forecast(text: "it is done")
        case .waiting: break
        }
        if waitingFor.contains(where: { $0.reason == .trigger }) {
            let events = request.triggers.map(\.rawValue).joined(separator: ", ")
            return Forecast(text: "it begins when one of these happens: \(events)")
        }
        if let transfers = waitingFor.first(where: { $0.reason == .transfers })?.required {
            return Forecast(text: "it begins when these transfers have completed: \(transfers)")
        }
        let preferred = waitingFor.filter(\.isPreference)
        let required = waitingFor.filter { $0.nextCheck == nil && !$0.isPreference }
        let clock = waitingFor.filter { !$0.isPreference }.compactMap(\.nextCheck).max()
        if !required.isEmpty {
            let from = clock.map { ", not before \(shown($0))" } ?? ""
            return Forecast(text: "it begins when these are met: \(Self.names(required))\(from)")
        }
        if let waived = preferred.compactMap(\.nextCheck).max() {
            let latest = max(waived, clock ?? now)
            return Forecast(
                startsAt: latest,
                text: "it begins when these are met: \(Self.names(preferred)), or at"
                    + " \(shown(latest)) without them")
        }
        guard let clock else { return Forecast(startsAt: now, text: "it begins now") }
        return Forecast(startsAt: clock, text: "it begins at \(shown(clock))")
    }

    private static func names(_ waits: [WaitReason]) -> String {
        waits.map(\.reason.rawValue).joined(separator: ", ")
    }
}

/// The engine and the machine, as they decide about tasks.
struct PlanView {
    let hasEngine: Bool
    private let queue: TransferQueue
    private let machine: MachineNow
    private let running: [StoredLaunch]

    init(_ queue: TransferQueue) throws(LonghaulError) {
        self.queue = queue
        hasEngine = queue.isEngineRunning
        let view = try hasEngine ? queue.store.settings.engineView() : nil
        machine = MachineNow(
            queue, known: view?.conditions, networkSettlesAt: view?.outlook.networkSettlesAt)
        running = try hasEngine ? queue.store.hosts.openLaunches() : []
    }

    func conditions(for keys: [EligibilityKey]) -> ConditionSnapshot {
        var conditions = ConditionSnapshot(time: .ofProcess)
        for key in keys { conditions = machine.snapshot(for: key) }
        return conditions
    }

    /// The plan that the engine would make. Reads nothing from the store.
    func plan(_ facts: TaskFacts, _ conditions: ConditionSnapshot) -> TaskPlan {
        var facts = facts
        let busy = Set(running.map(\.host))
        facts.complete(
            isBusy: busy.contains, isAttached: { HostLock.isHeld($0, in: queue.directory) },
            obstacle: queue.machine.obstacle,
            isAlive: { $0.process.isAlive(on: queue.machine) })
        facts.snapshot.placesForTasks -= running.count { $0.session == nil }
        return TaskPlan.decide(facts.snapshot, conditions, TaskNews(), now: queue.now)
    }
}
