internal import LonghaulCore
internal import LonghaulStore

/// Starts the programs of hosts and jobs. A launch is recorded when its process exists
/// and before it runs, so that no crash makes two of one.
///
/// It runs at the end of each turn, in separate transactions: hosts hold no transfer back.
struct Launches {
    private let writer: StoreWriter
    private let port: any HostPort
    /// The time zone of times of day.
    private let time: LocalTime
    var journal: EngineJournal?
    var onFailure: (@Sendable (EngineFailure) -> Void)?
    /// The launches that have failed since the engine began.
    private(set) var failed = 0
    /// There may be events for a host.
    private var isStale = true
    private var launches: [LaunchID: KeptLaunch] = [:]
    /// Reports that are not recorded yet, in their order.
    private var reports: [HostReport] = []
    /// From the last decision.
    private var outlook = TaskPlan.Outlook()
    /// When to decide again although nothing happens.
    private var nextCheck: Timestamp?
    /// The store could not be written.
    private var retryAt: Instant?
    private var lastID = LaunchID(rawValue: 0)
    /// The last decision, or a record since then by a clock that was set forward.
    private var clock: Moment?
    private var machine = MachineMemory()
    private var residents: ResidentLaunches { ResidentLaunches(writer) }
    private var continued: ContinuedLaunches { ContinuedLaunches(writer, port) }

    init(_ writer: StoreWriter, _ port: any HostPort, _ time: LocalTime) {
        self.writer = writer
        self.port = port
        self.time = time
    }

    /// Work of a turn after its hosts.
    struct Outcome {
        /// A host may have changed the intents of transfers.
        var mayHaveIntents = false
    }

    mutating func markStale() { isStale = true }

    mutating func add(_ report: HostReport) { reports.append(report) }

    /// The machine has slept, or something was mounted.
    mutating func replace(_ facts: MachineFacts) {
        machine.facts = facts
        isStale = true
    }

    /// - Parameter hasTransfers: Some are on the wire: when the first of them begins, tasks whose
    ///   window is open go along.
    mutating func follow(hasTransfers: Bool) {
        if !hasTransfers { return machine.transfersEnd() }
        if machine.transfersBegin() { isStale = true }
    }

    /// - Parameters:
    ///   - isPending: What the turn could not apply comes first: an answer of a host counts before
    ///     another one is started.
    ///   - isLeaving: No launch begins.
    mutating func run(
        _ conditions: ConditionSnapshot, isPending: Bool, isLeaving: Bool, now: Moment
    ) throws(LonghaulError) -> Outcome {
        continued.receive(into: &launches, now: now.monotonic)
        expireTasks(conditions, now: now)
        endOverdue(now: now)
        var outcome = Outcome()
        // The turn's own writes come before these.
        if writer.retryAt != nil || retryAt.map({ $0 > now.monotonic }) ?? false { return outcome }
        retryAt = nil
        // It may be set forward and back before the next decision: what is recorded between has
        // moments of the clock ahead.
        if clock.map({ now.wall - $0.wall > now.monotonic - $0.monotonic }) ?? false { clock = now }
        do throws(LonghaulError) {
            try continued.record(of: &launches, now: now.monotonic)
            // Reports of a process count before its end, and before the request to end.
            for report in try residents.reports(of: launches) {
                try record(report, isLeaving: isLeaving, &outcome, now: now)
            }
            try residents.tellExpirations(of: &launches)
            while let report = reports.first {
                try record(report, isLeaving: isLeaving, &outcome, now: now)
                reports.removeFirst()
            }
            // A requirement may have gone while a process was made.
            expireTasks(conditions, now: now)
            if machine.hasOtherZones(conditions.time) { isStale = true }
            let isDue = nextCheck.map { $0 <= now.wall } ?? false
            if isStale || isDue, !isPending, !outcome.mayHaveIntents {
                try decide(conditions, isLeaving: isLeaving, now: now)
            }
        } catch {
            if error == StoreWriter.leaseLost { throw error }
            // The turn's own commits count how long the store cannot be written.
            isStale = true
            retryAt = now.monotonic + Limits.commitRetrySeconds
        }
        return outcome
    }

    private mutating func decide(
        _ conditions: ConditionSnapshot, isLeaving: Bool, now: Moment
    ) throws(LonghaulError) {
        isStale = false
        outlook.next = nil
        nextCheck = nil
        if isLeaving { return }
        let clockWentBack = clock.map { now.isSetBack(since: $0) } ?? false
        let news = machine.news(conditions, clockWentBack: clockWentBack, now: now)
        let running = (
            hosts: Set(launches.values.map(\.host)),
            forTasks: launches.values.count { $0.session == nil }
        )
        func decide(_ facts: TaskFacts) -> LaunchDecision {
            LaunchDecision(facts, port, running: running, conditions, news, now: now.wall)
        }
        var decision = decide(try writer.store.tasks.facts())
        if decision.plan.hasWrites {
            // Clients may have changed the rows.
            try writer.transaction(.relaxed) { tx in
                decision = decide(try tx.tasks.facts())
                try tx.tasks.apply(decision.plan.changes, now: now.wall)
            }
        }
        machine.remember(conditions, now: now)
        // The effects of a clock that was set back are recorded.
        clock = now
        outlook = decision.plan.outlook
        nextCheck = decision.nextCheck(now: now.wall)
        // They stand until the launch ends: an engine that adopts it asks again.
        for (id, reason) in decision.plan.expirations where launches[id]?.endsAt != nil {
            expire(id, reason, now: now)
        }
        for order in decision.orders(after: lastID) {
            lastID = order.id
            var launch = KeptLaunch(
                host: order.host, session: order.session, resident: order.resident?.id,
                budget: order.budget, program: order.program)
            launch.requested = decision.plan.requested.intersection(order.tasks)
            let before = launches.updateValue(launch, forKey: order.id)
            precondition(before == nil, "a launch has a number of its own")
            port.prepare(order)
        }
    }

    // MARK: - Expiration

    /// Ends launches whose tasks lost a requirement, or that use too much of the processor.
    private mutating func expireTasks(_ conditions: ConditionSnapshot, now: Moment) {
        for id in launches.keys.sorted() {
            guard var launch = launches[id], launch.endsAt != nil, !launch.isExpired else {
                continue
            }
            let isLost = launch.tasks.contains { $0.isLost(in: conditions, now: now.wall) }
            var reason: ExpirationReason? = isLost ? .requirement : nil
            if let at = launch.processor.sampleAt, at <= now.monotonic {
                launch.processor.sampleAt = now.monotonic + Limits.processorSampleSeconds
                if let used = port.processorSeconds(of: id),
                    launch.processor.monitor.add(used, at: Double(now.monotonic.nanoseconds) / 1e9),
                    !launch.tasks.contains(where: \.mayCompute)
                {
                    reason = reason ?? .processor
                }
            }
            launches[id] = launch
            if let reason { expire(id, reason, now: now) }
        }
    }

    /// Asks a launch to end; it is killed where it does not.
    private mutating func expire(_ id: LaunchID, _ reason: ExpirationReason, now: Moment) {
        guard var launch = launches[id], !launch.isExpired, !hasEnded(id) else { return }
        launch.expiration = reason
        launch.isExpired = true
        launch.endsAt = now.monotonic + launch.grace
        launches[id] = launch
        port.end(id, killing: false)
    }

    private mutating func endOverdue(now: Moment) {
        for id in launches.keys.sorted() {
            guard var launch = launches[id], let ends = launch.endsAt, ends <= now.monotonic,
                !hasEnded(id)
            else { continue }
            port.end(id, killing: launch.isExpired)
            launch.expiration =
                launch.expiration ?? (launch.continued == nil ? .time : .progress)
            // A process in an uninterruptible system call does not end at once: it is killed again.
            launch.endsAt = now.monotonic + launch.grace
            launch.isExpired = true
            launches[id] = launch
        }
    }

    /// The launch is known to have ended, and its end is not recorded yet.
    private func hasEnded(_ launch: LaunchID) -> Bool {
        reports.contains { report in
            switch report {
            case .ended(launch, _, _, _): true
            case .ended, .answersWait, .answerRefused, .prepared, .nothingToDo, .notPrepared,
                .progress, .result, .attachments:
                false
            }
        }
    }

    // MARK: - Reports

    private mutating func record(
        _ report: HostReport, isLeaving: Bool, _ outcome: inout Outcome, now: Moment
    ) throws(LonghaulError) {
        switch report {
        case .attachments: break
        // It was read when the turn began, and decides about nothing else.
        case .progress: return
        case .result(let id, let task, let result): try record(result, of: task, id, now: now)
        case .nothingToDo(let id): launches[id] = nil
        case .notPrepared(let id, let message):
            guard let launch = launches[id] else { return }
            let outcome = LaunchOutcome(.notStarted, output: message)
            try recordFailure(id, launch, outcome, now: now)
            journal?.launchFailed(launch.host, isJob: launch.program.isJob, message)
            count(outcome, of: launch)
            launches[id] = nil
        case .prepared(let launch): try begin(launch, isLeaving: isLeaving, now: now)
        case .answersWait(let id):
            try recordAnswers(of: id)
            outcome.mayHaveIntents = true
        case .answerRefused(let id, let message):
            journal?.answerRefused(launches[id]?.host, id, message)
        case .ended(let id, let ending, let status, let output):
            guard let launch = launches[id] else { return }
            try recordEnd(id, launch, ending, status, output, now: now)
            outcome.mayHaveIntents = true
        }
        isStale = true
    }

    private mutating func record(
        _ result: TaskResult, of task: String, _ id: LaunchID, now: Moment
    ) throws(LonghaulError) {
        guard let launch = launches[id] else { return }
        var isKnown = false
        // What the program has just said of the task, its title among it, counts for its notice.
        let report = launch.continued?.unrecorded
        try writer.transaction(.durable) { tx in
            if let report { try tx.carriedTasks.record(report, of: task, in: id) }
            isKnown = try tx.carriedTasks.settle(task, of: id, .result(result), now: now.wall, time)
        }
        if !isKnown { journal?.resultRefused(launch.host, id, task) }
        if isKnown, result == .failure { onFailure?(.task(task, host: launch.host)) }
        launches[id]?.tasks.removeAll { $0.identifier == task }
    }

    private mutating func recordEnd(
        _ id: LaunchID, _ launch: KeptLaunch, _ ending: LaunchEnding, _ exit: Int?,
        _ output: String, now: Moment
    ) throws(LonghaulError) {
        var outcome = LaunchOutcome(ending, status: exit, output: output)
        if outcome.isSuccess {
            if launch.answers.areLost { (outcome.ending, outcome.status) = (.unknown, nil) }
        } else if launch.wasAskedToEnd {
            outcome.ending = .expired
        } else if launch.resident == nil {
            outcome.output = launch.program.explained(output, ending, status: exit)
        }
        if launch.wasAskedToEnd || outcome.ending == .expired {
            outcome.expiration = launch.expiration ?? .time
        }
        let used =
            launch.program.isJob
            ? port.processorSeconds(of: id) ?? 0 : launch.processor.monitor.used
        outcome.processorSeconds = used > 0 ? used : nil
        try writer.transaction(.durable) { tx in
            if let run = launch.continued, let report = run.unrecorded {
                try tx.carriedTasks.record(report, of: run.identifier, in: id)
            }
            outcome = try tx.launches.end(
                id, outcome, wasOurs: !launch.isAdopted, now: now.wall, time)
        }
        if launch.resident != nil { port.discard(id) }
        journal?.launchEnded(
            launch.host, isJob: launch.program.isJob, id, outcome.ending, status: outcome.status)
        count(outcome, of: launch)
        launches[id] = nil
    }

    /// The tasks that the launch gave no result fail with it.
    private mutating func count(_ outcome: LaunchOutcome, of launch: KeptLaunch) {
        guard outcome.isFailure else { return }
        failed += 1
        let failure = LaunchFailure(
            ending: outcome.ending, status: outcome.status, expiration: outcome.expiration,
            output: outcome.output)
        if launch.program.isJob {
            onFailure?(.job(launch.host, failure))
            return
        }
        onFailure?(.host(launch.host, failure))
        for task in launch.tasks { onFailure?(.task(task.identifier, host: launch.host)) }
    }

    /// Tried each second until the store accepts them. Later reports wait, the end of the launch
    /// among them. Where the answers are given up, the question is asked again.
    private mutating func recordAnswers(of id: LaunchID) throws(LonghaulError) {
        guard let launch = launches[id] else { return port.dropAnswers(of: id) }
        do throws(LonghaulError) {
            try port.recordAnswers(of: id)
            launches[id]?.answers.failures = 0
        } catch {
            launches[id]?.answers.failures += 1
            if launch.answers.failures < Limits.commitFailures { throw error }
            launches[id]?.answers.areLost = true
            port.dropAnswers(of: id)
            journal?.answersLost(launch.host, id, error)
        }
    }

    private mutating func begin(
        _ launch: PreparedLaunch, isLeaving: Bool, now: Moment
    ) throws(LonghaulError) {
        guard var kept = launches[launch.id] else { return }
        if isLeaving {
            port.discard(launch.id)
            launches[launch.id] = nil
            return
        }
        let host = kept.host
        // Counted from now: the clock may have been set since the process was made.
        let deadline = now.wall + kept.budget
        var handover = launch.handover
        handover.resident = kept.resident
        var tasks: [StoredTask] = []
        var hasBegun = false
        // A client may have asked for the run since it was ordered.
        var isRequested = false
        try writer.transaction(.durable) { tx in
            hasBegun = try tx.launches.begin(
                launch.id, of: host, handover, process: launch.process, deadline: deadline,
                now: now.wall)
            tasks = try tx.carriedTasks.all(of: launch.id)
            isRequested = try tx.carriedTasks.isRequested(launch.id)
        }
        if !hasBegun {
            port.discard(launch.id)
            launches[launch.id] = nil
            return
        }
        kept.endsAt = now.monotonic + kept.budget
        kept.tasks = tasks.map {
            RunningTask($0, isRequested: isRequested || kept.requested.contains($0.id))
        }
        kept.watchProgress(from: now.monotonic)
        kept.watchProcessor(from: now.monotonic)
        launches[launch.id] = kept
        journal?.launches(host, isJob: kept.program.isJob, launch)
        port.begin(launch.id)
    }

    private func recordFailure(
        _ id: LaunchID, _ launch: KeptLaunch, _ outcome: LaunchOutcome, now: Moment
    ) throws(LonghaulError) {
        let nothing = Handover(
            session: launch.session, reason: launch.session == nil ? .task : .sessionEvents,
            events: nil, count: 0)
        try writer.transaction(.durable) { tx in
            try tx.launches.begin(
                id, of: launch.host, nothing, process: nil, deadline: now.wall, now: now.wall)
            try tx.launches.end(id, outcome, now: now.wall, time)
        }
    }

    // MARK: - Life

    /// Launches of a dead engine. A process that still runs is watched; the events of one that has
    /// ended are told again by the next launch.
    mutating func adopt(now: Moment) throws(LonghaulError) {
        lastID = try writer.store.hosts.lastLaunch()
        for launch in try writer.store.hosts.openLaunches() {
            assert(launch.id <= lastID, "the store knows the last number that was given")
            if port.adopt(launch) {
                let left = min(launch.deadline - now.wall, launch.deadline - launch.startedAt)
                var kept = KeptLaunch(
                    host: launch.host, session: launch.session, resident: launch.resident,
                    budget: launch.deadline - launch.startedAt,
                    program: try writer.store.hosts.find(launch.host)?.program
                        ?? .host(HostSettings(argv: [])))
                var tasks: [StoredTask] = []
                var isRequested = false
                try writer.transaction(.relaxed) { tx in
                    tasks = try tx.carriedTasks.all(of: launch.id)
                    isRequested = try tx.carriedTasks.isRequested(launch.id)
                }
                kept.tasks = tasks.map { RunningTask($0, isRequested: isRequested) }
                kept.watchProgress(from: now.monotonic)
                kept.watchProcessor(from: now.monotonic)
                // Reports of progress may have come while no engine ran.
                kept.endsAt = kept.continued?.silentUntil ?? now.monotonic + max(0, left)
                kept.isAdopted = true
                kept.resumeExpiration(launch.requested, now: now.monotonic)
                launches[launch.id] = kept
            } else {
                try writer.transaction(.durable) { tx in
                    try tx.launches.end(
                        launch.id, LaunchOutcome(.unknown), wasOurs: false, now: now.wall, time)
                }
            }
        }
    }

    /// When hosts need a turn.
    func wakeAt(now: Moment) -> Instant? {
        let end = launches.flatMap { id, launch in
            hasEnded(id) ? [] : launch.moments(now: now, time)
        }.min()
        if let retryAt = writer.retryAt ?? retryAt { return min(retryAt, end ?? retryAt) }
        let check = nextCheck.map { now.monotonic + max(0, $0 - now.wall) }
        let record = launches.values.compactMap { $0.continued?.recordsAt }.min()
        return [check, end, record].compactMap { $0 }.min()
    }

    func outlook(in conditions: Conditions) -> HostOutlook {
        HostOutlook(
            isBusy: !launches.isEmpty,
            isBusyWithHosts: launches.values.contains { !$0.program.isJob },
            nextLaunch: outlook.next, hasPendingTasks: outlook.hasPending,
            triggers: outlook.triggers,
            interest: interest,
            keepsAwake: launches.values.contains { $0.keepsAwake(in: conditions) })
    }

    /// The conditions that waiting and running tasks depend on.
    var interest: ConditionNeeds {
        launches.values.reduce(outlook.interest) { $0.union($1.interest) }
    }
}
