internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// Task records from the store, the machine's conditions and the state of their hosts: why each
/// waits, by the gates that the engine uses, and when it begins.
struct TaskReader {
    private let queue: TransferQueue
    private let machine: MachineNow
    private let hasEngine: Bool
    private let facts: [String: HostFacts]
    private let time = LocalTime(secondsFromUTC: LocalClock.secondsFromUTC)

    init(_ queue: TransferQueue) throws(LonghaulError) {
        self.queue = queue
        hasEngine = queue.isEngineRunning
        let view = try hasEngine ? queue.store.settings.engineView() : nil
        machine = MachineNow(
            queue, known: view?.conditions, networkSettlesAt: view?.outlook.networkSettlesAt)
        facts = Dictionary(
            try queue.store.hosts.facts().map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    }

    func record(_ task: StoredTask) throws(LonghaulError) -> TaskRecord {
        var request = task.request
        request.host = task.host
        var record = TaskRecord(
            request: request, state: task.launch == nil ? .waiting : .running,
            submittedAt: task.submittedAt, forecast: Forecast(text: "it runs"),
            failures: task.timing.failures)
        record.runs = try runs(request.identifier, task.host)
        if task.launch != nil {
            record.forecast.startsAt = task.startedAt
            return record
        }
        let learnt = try queue.store.tasks.refreshTiming(of: task, now: queue.now, time)
        record.waitingFor = try waits(task, learnt)
        record.forecast = Forecast(task, record.waitingFor, now: queue.now)
        if let why = learnt?.sentence(shown: RFC3339.format) { record.forecast.text += ": \(why)" }
        return record
    }

    func done(_ identifier: String, host: String) throws(LonghaulError) -> TaskRecord? {
        let runs = try runs(identifier, host)
        guard let last = runs.first else { return nil }
        return TaskRecord(
            request: TaskRequest(identifier: identifier, host: host), state: .done,
            submittedAt: last.startedAt, forecast: Forecast(text: "it is done"), runs: runs)
    }

    private func runs(
        _ identifier: String, _ host: String
    ) throws(LonghaulError) -> [TaskRun] {
        try queue.store.tasks.runs(of: identifier, host: host).map { TaskRun($0) }
    }

    private func waits(
        _ task: StoredTask, _ learnt: RefreshTiming?
    ) throws(LonghaulError) -> [WaitReason] {
        let now = queue.now
        var waits: [WaitReason] = []
        let due = max(task.timing.dueAt, learnt?.startsAt ?? task.timing.dueAt)
        if !task.request.triggers.isEmpty, due == .distantFuture {
            waits.append(
                WaitReason(
                    .trigger,
                    required: task.request.triggers.map(\.rawValue).joined(separator: ","),
                    since: task.submittedAt))
        } else if due > now {
            let isBackOff = task.timing.failures > 0 || task.timing.deferrals > 0
            waits.append(
                WaitReason(
                    isBackOff ? .backoff : .earliestBegin, required: RFC3339.format(due),
                    current: RFC3339.format(now), since: task.submittedAt, nextCheck: due))
        }
        let key = task.eligibility
        let gate = key.gate(in: machine.snapshot(for: key), now: now)
        waits += gate.reasons.map { reason in
            var reason = reason
            if reason.isPreference { reason.nextCheck = task.timing.waivesAt }
            return reason
        }
        if let reason = try host(task.host, now: now) { waits.append(reason) }
        if !hasEngine {
            waits.append(WaitReason(.engine, required: "running", current: "none runs"))
        }
        return waits
    }

    /// What keeps the host from being launched.
    private func host(_ name: String, now: Timestamp) throws(LonghaulError) -> WaitReason? {
        var known = facts[name] ?? HostFacts(name: name)
        guard let host = try queue.store.hosts.find(name) else {
            return WaitReason(.host, required: name, current: "not known; `host add` makes it so")
        }
        known.failures = host.failures
        known.retryAt = host.retryAt
        known.isAttached = HostLock.isHeld(name, in: queue.directory)
        known.obstacle = Executable.obstacle(host.settings.argv[0])
        let launch = try queue.store.hosts.launches(of: name, limit: 1).first
        known.isBusy = hasEngine && launch.map { $0.endedAt == nil } ?? false
        known.tasks = [DueTask(id: TaskID(rawValue: 0), kind: .refresh)]
        switch LaunchPolicy.state(of: known, now: now) {
        case .idle, .due: return nil
        case .attached:
            return WaitReason(.host, required: "not attached", current: "\(name) runs by itself")
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

extension Forecast {
    /// Of a task that waits.
    fileprivate init(_ task: StoredTask, _ waits: [WaitReason], now: Timestamp) {
        let conditions = waits.filter { $0.nextCheck == nil || $0.isPreference }
        let clock = waits.filter { !$0.isPreference }.compactMap(\.nextCheck).max()
        if waits.contains(where: { $0.reason == .trigger }) {
            self.init(
                text: "it begins when one of these happens: "
                    + task.request.triggers.map(\.rawValue).joined(separator: ", "))
            return
        }
        let required = conditions.filter { !$0.isPreference }.map(\.reason.rawValue)
        let preferred = conditions.filter(\.isPreference).map(\.reason.rawValue)
        if !required.isEmpty {
            let from = clock.map { ", not before \(RFC3339.format($0))" } ?? ""
            self.init(
                text: "it begins when these are met: \(required.joined(separator: ", "))\(from)")
        } else if !preferred.isEmpty, let latest = task.timing.waivesAt {
            self.init(
                startsAt: max(latest, clock ?? now),
                text: "it begins when these are met: \(preferred.joined(separator: ", ")), or at"
                    + " \(RFC3339.format(max(latest, clock ?? now))) without them")
        } else if let clock {
            self.init(startsAt: clock, text: "it begins at \(RFC3339.format(clock))")
        } else {
            self.init(startsAt: now, text: "it begins now")
        }
    }
}
