package import LonghaulModel

/// The decision about tasks and hosts from one snapshot: pure. The engine carries it out, and
/// commands show it.
package struct TaskPlan: Sendable {
    /// The facts why a task waits.
    package struct Wait: Sendable {
        /// When it is due, by its own definition and by the use of its host.
        package var dueAt: Timestamp
        /// When the clock lets it begin: within its windows, and after conditions have settled.
        package var startsAt: Timestamp
        package var refresh: RefreshTiming?
        /// The phase of its windows; `nil` = it has none.
        package var phase: TimeWindow.Phase?
        package var gate: Gate
    }

    /// What decides when to decide again.
    package struct Outlook: Sendable {
        /// By the clock.
        package var next: Timestamp?
        /// The conditions that waiting tasks depend on.
        package fileprivate(set) var interest = ConditionNeeds()
        /// The triggers of standing requests.
        package fileprivate(set) var triggers: Set<TaskTrigger> = []
        /// A task waits.
        package fileprivate(set) var hasPending = false

        package init() {}
    }

    /// Launches that begin now.
    package private(set) var starts: [LaunchPolicy.Due] = []
    /// Tasks of these that begin although they could wait: a client has asked for it.
    package private(set) var requested: Set<TaskID> = []
    /// Launches that clients have asked to end.
    package private(set) var expirations: [(launch: LaunchID, reason: ExpirationReason)] = []
    package private(set) var changes: TaskChanges
    /// The waiting tasks.
    package private(set) var waits: [TaskID: Wait] = [:]
    /// The hosts, with their tasks that may begin now.
    package private(set) var hosts: [String: HostFacts]
    package private(set) var outlook = Outlook()
    /// Jobs that would begin now if their slots had a place.
    private var slotWaits: [String: WaitReason] = [:]

    private let snapshot: TaskSnapshot
    private let conditions: ConditionSnapshot
    private let news: TaskNews
    private let now: Timestamp

    private init(
        _ snapshot: TaskSnapshot, _ conditions: ConditionSnapshot, _ news: TaskNews,
        now: Timestamp
    ) {
        self.snapshot = snapshot
        hosts = snapshot.hosts
        changes = TaskChanges(world: snapshot.world)
        self.conditions = conditions
        self.news = news
        self.now = now
    }

    package static func decide(
        _ snapshot: TaskSnapshot, _ conditions: ConditionSnapshot, _ news: TaskNews,
        now: Timestamp
    ) -> TaskPlan {
        var plan = TaskPlan(snapshot, conditions, news, now: now)
        let fired = plan.compareWorld()
        var waiting: [StoredTask] = []
        for stored in snapshot.tasks {
            var task = stored
            plan.update(&task, fired)
            if task.launch != nil {
                if task.isSimulated, let launch = task.launch {
                    plan.expirations.append((launch, task.isCancelled ? .cancelled : .simulated))
                }
            } else if let end = plan.end(of: &task) {
                plan.changes.ended.append((task, end))
                continue
            } else {
                waiting.append(task)
            }
            plan.outlook.triggers.formUnion(task.request.triggers)
            if task.timing != stored.timing || task.trigger != stored.trigger
                || task.awaits != stored.awaits
            {
                plan.changes.written.append(task)
            }
        }
        plan.outlook.interest = plan.outlook.triggers.interest
        if snapshot.hasSubscriptions {
            plan.outlook.hasPending = true
            plan.outlook.interest.network = true
        }
        plan.start(plan.ready(among: waiting))
        return plan
    }

    /// The store is to be changed.
    package var hasWrites: Bool {
        !changes.written.isEmpty || !changes.ended.isEmpty || changes.world != snapshot.world
    }

    private mutating func wake(at moment: Timestamp) {
        if moment <= now || moment == .distantFuture { return }
        outlook.next = min(outlook.next ?? moment, moment)
    }

    // MARK: - Rows

    /// Without standing requests nothing is remembered: the next one compares with the machine as
    /// it is then.
    private mutating func compareWorld() -> [TriggerEvent] {
        guard let present = news.world else { return [] }
        var submitted: [TaskTrigger: Timestamp] = [:]
        for task in snapshot.tasks {
            for trigger in task.request.triggers {
                submitted[trigger] = min(submitted[trigger] ?? task.submittedAt, task.submittedAt)
            }
        }
        if submitted.isEmpty {
            changes.world = nil
            return []
        }
        var before = snapshot.world ?? present
        var new = present.completed(by: before)
        // Each engine counts resumes from zero.
        if news.isFirst { before.resumes = new.resumes }
        var events = new.events(since: before, for: Set(submitted.keys))
        for (trigger, submitted) in submitted {
            guard case .path = trigger else { continue }
            let event = new.follow(
                trigger, news.paths[trigger], since: before, submitted: submitted)
            if let event { events.append(event) }
        }
        changes.world = new
        return events
    }

    /// Changes the timing of a task by the news.
    private func update(_ task: inout StoredTask, _ fired: [TriggerEvent]) {
        // The clock was set back: a delay that was written at a later moment begins again now.
        if news.isFirst || news.clockWentBack { task.timing = TaskTiming(task, at: now) }
        if task.launch == nil, news.hasOtherZones {
            _ = task.timing.followZone(of: task.request, now: now, conditions.time)
        }
        for event in fired where task.request.triggers.contains(event.trigger) {
            task.fire(event, now: now)
        }
        // A task that was put off comes at once if it waits for a condition that has changed. A job
        // that was stopped has its pause, which grows: the condition may come and go.
        if task.launch == nil, task.timing.deferrals > 0, task.timing.failures == 0,
            task.timing.dueAt > now, !task.wasStopped,
            !news.changed.isDisjoint(with: task.eligibility(at: now).interest.kinds)
        {
            task.timing.dueAt = now
            task.timing.mayBeginAt = now
        }
    }

    /// The end of a task that expires, or that has missed a transfer. A transfer that has completed
    /// is crossed out at once, since it may be removed before the others complete.
    private mutating func end(of task: inout StoredTask) -> TaskChanges.End? {
        if let expires = task.expiresAt {
            if expires <= now {
                return task.kind == .wakeUp
                    ? .expired(obstacle(of: task, until: expires)) : .missedDeadline
            }
            wake(at: expires)
        }
        if task.awaits.isEmpty { return nil }
        let transfers = snapshot.transfers
        let missed = task.awaits.first { id in
            transfers[id].map { $0 == .failed || $0 == .cancelled } ?? true
        }
        if let missed { return .missedTransfer(missed) }
        task.awaits.removeAll { transfers[$0] == .completed }
        if task.awaits.isEmpty { task.timing.endWait(of: task.request, now: now) }
        return nil
    }

    /// Reason why a wake-up was not handed over until it expired.
    private func obstacle(of task: StoredTask, until expires: Timestamp) -> WaitReason.Reason {
        guard let host = hosts[task.host] else { return .host }
        if host.failures > 0, let retry = host.retryAt, retry >= expires { return .backoff }
        let isBlocked = host.obstacle != nil && !host.hasResident
        if host.isBusy || isBlocked { return .host }
        let gate = decideGate(task.eligibility(at: now)).0
        return gate.reasons.first?.reason ?? (budgetEnd(of: task) == nil ? .engine : .budget)
    }

    // MARK: - What may begin

    /// The due tasks, and tasks that begin along with them.
    private mutating func ready(among waiting: [StoredTask]) -> [StoredTask] {
        var gates: [EligibilityKey: (gate: Gate, isOpen: Bool)] = [:]
        var due: [StoredTask] = []
        var early: [StoredTask] = []
        var asked: [StoredTask] = []
        var polite: [StoredTask] = []
        for task in waiting {
            let key = task.eligibility(at: now)
            let (gate, isOpen) = gates[key] ?? decideGate(key)
            gates[key] = (gate, isOpen)
            let wait = wait(of: task, key, gate)
            waits[task.id] = wait
            if task.isSimulated { asked.append(task) }
            if task.isPaused { continue }
            outlook.hasPending = true
            outlook.interest = outlook.interest.union(key.interest)
            wake(at: wait.startsAt)
            if task.kind == .wakeUp, !isUrgent(task) {
                polite.append(task)
                if let end = budgetEnd(of: task) { wake(at: end) }
            }
            if isOpen, budgetEnd(of: task) != nil {
                early.append(task)
            } else if isOpen {
                if wait.startsAt <= now {
                    due.append(task)
                } else if task.timing.mayBeginAt <= now {
                    early.append(task)
                }
            } else if let waives = task.timing.waivesAt, waives > now {
                wake(at: max(waives, wait.startsAt))
            } else if wait.startsAt <= now, let settles = conditions.networkSettlesAt {
                wake(at: settles)
            }
        }
        due.sort { ($0.timing.dueAt, $0.id) < ($1.timing.dueAt, $1.id) }
        let hosts = Set(due.map(\.host))
        // A repeating request takes others along.
        let isAwake = news.isAwake || due.contains { $0.timing.window != nil && isFree($0) }
        due += early.filter { hosts.contains($0.host) || isAwake && isNeighbour($0) }
        due += companions(of: due, among: polite)
        let ids = Set(due.map(\.id))
        asked.removeAll { ids.contains($0.id) }
        requested = Set(asked.map(\.id))
        return due + asked
    }

    /// Plain wake-ups that go along with an urgent one: what they prefer does not count.
    private func companions(
        of due: [StoredTask], among polite: [StoredTask]
    ) -> [StoredTask] {
        let woken = Set(due.filter { $0.kind == .wakeUp && isUrgent($0) }.map(\.host))
        let ids = Set(due.map(\.id))
        return polite.filter {
            woken.contains($0.host) && !ids.contains($0.id)
                && decideGate($0.eligibility.waived).1
        }
    }

    /// When the budget of its host lets a plain wake-up begin; `nil` = it does now.
    private func budgetEnd(of task: StoredTask) -> Timestamp? {
        guard task.kind == .wakeUp, !isUrgent(task), let host = hosts[task.host] else { return nil }
        let next = host.wakeUpBudget.nextAt(now: now)
        return next > now ? next : nil
    }

    /// A condition that has not been read yet is not known to hold.
    private func decideGate(_ key: EligibilityKey) -> (Gate, Bool) {
        let gate = key.gate(in: conditions, now: now)
        return (gate, gate.isOpen && conditions.conditions.hasSeen(key.interest))
    }

    private func wait(of task: StoredTask, _ key: EligibilityKey, _ gate: Gate) -> Wait {
        let refresh = task.refreshTiming(snapshot.usages[task.host], now: now, conditions.time)
        let phase = task.request.windowPhase(at: now, conditions.time)
        let dueAt = max(task.timing.dueAt, refresh?.startsAt ?? task.timing.dueAt)
        var startsAt = dueAt
        if let phase, !phase.isOpen { startsAt = max(startsAt, phase.until) }
        // A job that was stopped does not begin again while its conditions come and go.
        if task.wasStopped {
            for (kinds, until) in news.settling where !kinds.isDisjoint(with: key.interest.kinds) {
                startsAt = max(startsAt, until)
            }
        }
        return Wait(dueAt: dueAt, startsAt: startsAt, refresh: refresh, phase: phase, gate: gate)
    }

    /// The host of the task can be launched for it. A host that cannot be launched is looked at
    /// again and again, which counts for nothing.
    private func isFree(_ task: StoredTask) -> Bool {
        if case .due = state(of: task) { true } else { false }
    }

    /// When a request begins that repeats, those of other hosts with an open window begin too: the
    /// machine is awake, and a wake-up later in their windows is spared. A refresh whose host is
    /// used later waits for that.
    private func isNeighbour(_ task: StoredTask) -> Bool {
        guard task.timing.window != nil, waits[task.id]?.phase?.isOpen ?? true else {
            return false
        }
        let learnt = task.refreshTiming(
            snapshot.usages[task.host], due: now, now: now, conditions.time)
        return learnt.map { $0.startsAt <= now } ?? true
    }

    // MARK: - Hosts

    private mutating func start(_ tasks: [StoredTask]) {
        var order = hosts.keys.filter { hosts[$0]?.sessions.isEmpty == false }.sorted()
        for task in tasks {
            var host = hosts[task.host] ?? HostFacts(removed: task.host)
            if host.tasks.isEmpty, host.sessions.isEmpty { order.append(task.host) }
            host.tasks.append(
                DueTask(id: task.id, kind: task.kind, isUrgent: task.isSimulated || isUrgent(task)))
            hosts[task.host] = host
        }
        let plan = LaunchPolicy.plan(order.compactMap { hosts[$0] }, now: now)
        if let at = plan.next { wake(at: at) }
        var placesLeft = snapshot.placesForTasks
        var slots = SlotUse(hosts.values)
        starts = plan.due.filter { due in
            // A run that a client asks for needs no place: it may be there to end others.
            let needsPlace = due.session == nil && !due.tasks.contains(where: \.isUrgent)
            // The others are decided about when a launch has ended.
            guard !needsPlace || placesLeft > 0, slots.admit(hosts[due.host]) else { return false }
            if needsPlace { placesLeft -= 1 }
            return true
        }
        slotWaits = slots.waits
    }

    /// No delay of its host holds it back: an urgent wake-up, or work that a person waits for.
    private func isUrgent(_ task: StoredTask) -> Bool {
        if task.kind == .continued { return true }
        let lost = hosts[task.host]?.urgencyLostUntil
        return task.isUrgent && lost.map { $0 <= now } ?? true
    }

    /// The state of its host if the task were due.
    private func state(of task: StoredTask) -> HostState {
        var host = hosts[task.host] ?? HostFacts(removed: task.host)
        host.tasks = [DueTask(id: task.id, kind: task.kind, isUrgent: isUrgent(task))]
        return LaunchPolicy.state(of: host, now: now)
    }

    /// A launch for the task begins now.
    package func begins(_ task: StoredTask) -> Bool {
        starts.contains { $0.tasks.contains { $0.id == task.id } }
    }

    /// The host with its tasks that may begin now or when its delay is over, and the moment at
    /// which the clock makes more of them due.
    package func facts(of host: String) -> (facts: HostFacts, next: Timestamp?) {
        var facts = hosts[host] ?? HostFacts(removed: host)
        facts.tasks = []
        var next: Timestamp?
        for task in snapshot.tasks
        where task.host == host && (!task.isPaused || task.isSimulated) {
            guard let wait = waits[task.id], wait.gate.isOpen, wait.phase?.isOpen ?? true else {
                continue
            }
            if let end = budgetEnd(of: task) {
                next = min(next ?? end, end)
            } else if wait.dueAt <= max(now, facts.retryAt ?? now) {
                facts.tasks.append(
                    DueTask(id: task.id, kind: task.kind, isUrgent: isUrgent(task)))
            } else if wait.dueAt < .distantFuture {
                next = min(next ?? wait.dueAt, wait.dueAt)
            }
        }
        return (facts, next)
    }
}

// MARK: - Reasons

extension TaskPlan {
    /// The reasons why a task waits.
    ///
    /// - Parameter transfers: The wait for transfers, of a job that has any to wait for.
    package func reasons(of task: StoredTask, transfers: WaitReason?) -> [WaitReason] {
        // It ends without a run.
        guard let wait = waits[task.id] else { return [transfers].compactMap { $0 } }
        var reasons: [WaitReason] = []
        if task.request.isStanding, wait.dueAt == .distantFuture {
            reasons.append(
                WaitReason(
                    .trigger,
                    required: task.request.triggers.map(\.rawValue).joined(separator: ","),
                    since: task.submittedAt))
        } else if let transfers {
            reasons.append(transfers)
        } else if wait.dueAt > now {
            // After its last retry a job waits for its next run, as after a success.
            let failures = task.timing.failures
            let isTriedAgain =
                failures > 0
                && task.request.job?.isTriedAgain(afterFailures: failures) ?? true
            let isBackOff = isTriedAgain || task.timing.deferrals > 0
            reasons.append(
                WaitReason(
                    isBackOff ? .backoff : .earliestBegin, required: RFC3339.format(wait.dueAt),
                    current: RFC3339.format(now), since: task.submittedAt, nextCheck: wait.dueAt))
        }
        if let windows = task.request.job?.windows, let phase = wait.phase, !phase.isOpen {
            reasons.append(
                WaitReason(
                    .window, required: windows.description,
                    current: conditions.time.inZone(windows.timeZone).clock(now),
                    since: phase.since, nextCheck: phase.until))
        }
        reasons += wait.gate.reasons.map { reason in
            var reason = reason
            if reason.isPreference { reason.nextCheck = task.timing.waivesAt }
            return reason
        }
        if let end = budgetEnd(of: task) {
            reasons.append(
                WaitReason(
                    .budget, required: "one launch for wake-ups in 20 minutes", since: nil,
                    nextCheck: end))
        }
        if let reason = hostReason(of: task) { reasons.append(reason) }
        if let reason = slotWaits[task.host] { reasons.append(reason) }
        // Asked for by a client, it begins all the same.
        if reasons.isEmpty, snapshot.placesForTasks <= 0, !isUrgent(task), !task.isSimulated {
            reasons.append(
                WaitReason(
                    .concurrency, required: "fewer than \(Limits.taskLaunchesAtOnce) programs",
                    since: task.submittedAt))
        }
        return reasons
    }

    /// Reason why the host is not launched.
    private func hostReason(of task: StoredTask) -> WaitReason? {
        let name = task.host
        switch state(of: task) {
        case .idle, .attached, .due: return nil
        case .running:
            return WaitReason(.host, required: "free", current: "a launch of \(name) runs")
        case .delayed(let at):
            return WaitReason(
                .backoff, required: RFC3339.format(at),
                current: "\(name) has failed \(hosts[name]?.failures ?? 0) times", nextCheck: at)
        case .blocked(.removed):
            return WaitReason(.host, required: name, current: "not known; `host add` makes it so")
        case .blocked(let obstacle):
            let what = obstacle == .missing ? "its program is not there" : "it cannot be run"
            return WaitReason(.host, required: "a program that runs", current: what)
        }
    }
}
