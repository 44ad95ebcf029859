internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// Task records from the store, the machine's conditions and the state of their hosts: why each
/// waits, by the gates that the engine uses, and when it begins.
struct TaskReader {
    let queue: TransferQueue
    private let machine: MachineNow
    private let hasEngine: Bool
    private let facts: [String: HostFacts]
    /// The engine runs as many programs for tasks as it may.
    private let isFull: Bool
    private let time = LocalTime.ofProcess

    init(_ queue: TransferQueue) throws(LonghaulError) {
        self.queue = queue
        hasEngine = queue.isEngineRunning
        let view = try hasEngine ? queue.store.settings.engineView() : nil
        machine = MachineNow(
            queue, known: view?.conditions, networkSettlesAt: view?.outlook.networkSettlesAt)
        let running = try hasEngine ? queue.store.hosts.openLaunches() : []
        isFull = running.count { $0.session == nil } >= Limits.taskLaunchesAtOnce
        facts = Dictionary(
            try queue.store.hosts.facts().map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    }

    /// - Parameter isUrgent: It passes the delays of its host.
    func record(
        _ task: StoredTask, isUrgent: Bool = false
    ) throws(LonghaulError) -> TaskRecord {
        var request = task.request
        request.host = task.host
        var record = TaskRecord(
            request: request, state: task.launch == nil ? .waiting : .running,
            submittedAt: task.submittedAt, forecast: Forecast(text: ""),
            failures: task.timing.failures, emptyRuns: task.timing.emptyRuns)
        record.runs = try runs(request.identifier, task.host)
        if task.launch != nil {
            record.forecast = record.forecast(now: queue.now) { RFC3339.format($0) }
            record.forecast.startsAt = task.startedAt
            return record
        }
        let learnt = try queue.store.tasks.refreshTiming(of: task, now: queue.now, time)
        record.waitingFor = try waits(task, learnt, isUrgent: isUrgent)
        record.forecast = record.forecast(now: queue.now) { RFC3339.format($0) }
        if let why = learnt?.sentence(shown: RFC3339.format) { record.forecast.text += ": \(why)" }
        return record
    }

    /// Tasks of a host that may begin now or when the host's delay is over, and the moment when
    /// time makes more of them due.
    func due(
        of host: StoredHost
    ) throws(LonghaulError) -> (tasks: [DueTask], next: Timestamp?) {
        let now = queue.now
        let hasUrgency = host.urgencyLostUntil.map { $0 <= now } ?? true
        var due: [DueTask] = []
        var next: Timestamp?
        for task in try queue.store.tasks.waiting(for: host.name)
        where !task.isPaused || task.isSimulated {
            let key = task.eligibility
            guard key.gate(in: machine.snapshot(for: key), now: now).isOpen,
                task.request.windowPhase(at: now, time)?.isOpen ?? true
            else { continue }
            let at = task.timing.dueAt
            if at <= max(now, host.retryAt ?? now) {
                due.append(
                    DueTask(
                        id: task.id, kind: task.kind, isUrgent: task.isUrgent && hasUrgency))
            } else if at < .distantFuture {
                next = min(next ?? at, at)
            }
        }
        return (due, next)
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

    private func waits(
        _ task: StoredTask, _ learnt: RefreshTiming?, isUrgent: Bool
    ) throws(LonghaulError) -> [WaitReason] {
        let now = queue.now
        var waits: [WaitReason] = []
        let due = max(task.timing.dueAt, learnt?.startsAt ?? task.timing.dueAt)
        if task.request.isStanding, due == .distantFuture {
            waits.append(
                WaitReason(
                    .trigger,
                    required: task.request.triggers.map(\.rawValue).joined(separator: ","),
                    since: task.submittedAt))
        } else if !task.awaits.isEmpty {
            let others = try task.awaits.map { id throws(LonghaulError) in
                (id: id, transfer: try queue.store.transfers.find(id, now: now))
            }
            waits.append(try LiveView(queue).wait(for: others, since: task.submittedAt))
        } else if due > now {
            let isBackOff = task.timing.failures > 0 || task.timing.deferrals > 0
            waits.append(
                WaitReason(
                    isBackOff ? .backoff : .earliestBegin, required: RFC3339.format(due),
                    current: RFC3339.format(now), since: task.submittedAt, nextCheck: due))
        }
        if let windows = task.request.job?.windows, case let phase = windows.phase(at: now, time),
            !phase.isOpen
        {
            waits.append(
                WaitReason(
                    .window, required: windows.description,
                    current: time.inZone(windows.timeZone).clock(now), since: phase.since,
                    nextCheck: phase.until))
        }
        let key = task.eligibility
        let gate = key.gate(in: machine.snapshot(for: key), now: now)
        waits += gate.reasons.map { reason in
            var reason = reason
            if reason.isPreference { reason.nextCheck = task.timing.waivesAt }
            return reason
        }
        if let reason = try host(task.host, isUrgent: isUrgent, now: now) { waits.append(reason) }
        // Asked for by a client, it begins all the same.
        if waits.isEmpty, isFull, !isUrgent, !task.isSimulated {
            waits.append(
                WaitReason(
                    .concurrency, required: "fewer than \(Limits.taskLaunchesAtOnce) programs",
                    since: task.submittedAt))
        }
        if !hasEngine {
            waits.append(.noEngine())
        }
        return waits
    }

    /// Reason why the host is not launched.
    private func host(
        _ name: String, isUrgent: Bool, now: Timestamp
    ) throws(LonghaulError) -> WaitReason? {
        var known = facts[name] ?? HostFacts(name: name)
        guard let host = try queue.store.hosts.find(name) else {
            return WaitReason(.host, required: name, current: "not known; `host add` makes it so")
        }
        known.failures = host.failures
        known.retryAt = host.retryAt
        known.hasResident = try queue.machine.hasResident(of: name, in: queue.store)
        known.obstacle = host.settings.obstacle(on: queue.machine)
        let launch = try queue.store.hosts.launches(of: name, limit: 1).first
        known.isBusy = hasEngine && launch.map { $0.endedAt == nil } ?? false
        known.tasks = [DueTask(id: TaskID(rawValue: 0), kind: .refresh, isUrgent: isUrgent)]
        switch LaunchPolicy.state(of: known, now: now) {
        case .idle, .attached, .due: return nil
        case .running:
            return WaitReason(.host, required: "free", current: "a launch of \(name) runs")
        case .delayed(let at):
            return WaitReason(
                .backoff, required: RFC3339.format(at),
                current: "\(name) has failed \(known.failures) times", nextCheck: at)
        case .blocked(let obstacle):
            let what = obstacle == .missing ? "its program is not there" : "it cannot be run"
            return WaitReason(.host, required: "a program that runs", current: what)
        }
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
