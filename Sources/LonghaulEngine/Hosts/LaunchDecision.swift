package import LonghaulCore
internal import LonghaulStore

/// A decision about hosts and tasks, and its facts.
struct LaunchDecision {
    let plan: TaskPlan
    private let hosts: [String: StoredHost]
    private let residents: [String: StoredResident]

    /// - Parameter running: The hosts of launches, and how many of these are for tasks alone.
    init(
        _ facts: TaskFacts, _ port: any HostPort, running: (hosts: Set<String>, forTasks: Int),
        _ conditions: ConditionSnapshot, _ news: TaskNews, now: Timestamp
    ) {
        var facts = facts
        residents = facts.complete(
            isBusy: running.hosts.contains, isAttached: port.isAttached, obstacle: port.obstacle,
            isAlive: port.isAlive)
        facts.snapshot.placesForTasks = Limits.taskLaunchesAtOnce - running.forTasks
        hosts = facts.hosts
        plan = TaskPlan.decide(facts.snapshot, conditions, news, now: now)
    }

    /// Processes to be made; none has begun.
    ///
    /// - Parameter last: Launches get their numbers before they are recorded.
    func orders(after last: LaunchID) -> [LaunchOrder] {
        zip(1..., plan.starts).compactMap { offset, due -> LaunchOrder? in
            guard let program = hosts[due.host]?.program else { return nil }
            return LaunchOrder(
                id: LaunchID(rawValue: last.rawValue + Int64(offset)), host: due.host,
                program: program, resident: residents[due.host], session: due.session,
                tasks: due.tasks.map(\.id), reason: due.reason, budget: program.budget(of: due))
        }
    }

    /// When to decide again although nothing happens: some states change without a report.
    func nextCheck(now: Timestamp) -> Timestamp? {
        let areSomeUnreported = plan.hosts.values.contains { host in
            (host.isAttached || host.obstacle != nil)
                && !(host.sessions.isEmpty && host.tasks.isEmpty)
        }
        let check = areSomeUnreported ? now + Limits.hostCheckSeconds : nil
        return [plan.outlook.next, check].compactMap { $0 }.min()
    }
}

/// A task that a launch carries, as far as the end of the launch depends on it.
struct RunningTask {
    let identifier: String
    /// Conditions that must hold while the task runs.
    let required: EligibilityKey
    /// The times within which the run of a job is to be; `nil` = any.
    let windows: TimeWindows?
    let expires: Bool
    let isProcessing: Bool
    let isContinued: Bool
    /// How often its program had reported progress.
    let reports: Int

    /// - Parameter isRequested: A client has asked for it: lost requirements do not end it.
    init(_ task: StoredTask, isRequested: Bool = false) {
        identifier = task.request.identifier
        required = task.request.eligibility.eligibility.waived
        windows = task.request.job?.windows
        expires =
            task.kind != .wakeUp && task.request.expiresWhenRequirementIsLost && !isRequested
        isProcessing = task.kind == .processing
        isContinued = task.kind == .continued
        reports = task.reports
    }

    /// The task has lost a requirement, and is to end.
    func isLost(in conditions: ConditionSnapshot, now: Timestamp) -> Bool {
        if !expires { return false }
        if let windows, !windows.phase(at: now, conditions.time).isOpen { return true }
        return conditions.conditions.hasSeen(required.interest)
            && !required.gate(in: conditions, now: now, isRunning: true).isOpen
    }

    /// When its window closes; `nil` = that does not end it.
    func closesAt(now: Timestamp, _ time: LocalTime) -> Timestamp? {
        expires ? windows?.phase(at: now, time).until : nil
    }

    /// Work of this kind may use the processor as long as there is external power.
    var mayCompute: Bool { isProcessing && required.interest.power }
}

/// Report of a turn about hosts.
package struct HostOutlook: Hashable, Sendable {
    /// A launch is being made or runs.
    package var isBusy = false
    /// A launch of a host is among these. A run of a job may last for ever, and needs no engine.
    package var isBusyWithHosts = false
    /// When the next one is due by the clock.
    package var nextLaunch: Timestamp?
    /// Requests wait, for a moment, a condition or a trigger.
    package var hasPendingTasks = false
    /// Triggers that standing requests wait for.
    package var triggers: Set<TaskTrigger> = []
    /// The conditions that decide about tasks.
    package var interest = ConditionNeeds()
    /// A run of a job keeps the machine awake.
    package var keepsAwake = false
}
