import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// Jobs in a life with tasks, their processes and the promises about them: one run at a time, none
/// without what it requires, each recorded as it ended, whatever engine saw it.
final class SimJobs {
    static let names = ["j0", "j1", "j2"]

    /// A run: its supervisor and the command below it.
    struct Run {
        let id: LaunchID
        let job: String
        let grace: Double
        let identity: LaunchedProcess
        let tasks: [StoredTask]
        /// When the engine let it go; `nil` = it waits for a byte.
        var begunAt: Instant?
        var endsAt: Instant?
        var status = 0
        /// A client asked for the run, as it is recorded.
        var wasAskedFor = false
        var isRequested = false
        /// How the log says that it ended; `nil` = it runs.
        var end: (LaunchEnding, Int)?
        /// Nothing is left of its log.
        var isLost = false
    }

    unowned let hosts: SimHosts
    private(set) var runs: [LaunchID: Run] = [:]
    /// Those that the engine looks at.
    private var watched: Set<LaunchID> = []
    /// What the engine has ordered in this turn, and the runs that it has asked to end.
    private var ordered: [LaunchOrder] = []
    /// All that this engine has ordered.
    private var orderedIDs: Set<LaunchID> = []
    private var askedToEnd: Set<LaunchID> = []
    private var isPeaceful = false
    private var nextPID: Int32 = 50_000

    init(_ hosts: SimHosts) {
        self.hosts = hosts
    }

    private var world: SimWorld { hosts.world }
    private var now: Instant { world.now.monotonic }

    /// A job waits for a change of the machine: the engine remembers how the machine was.
    var hasStanding: Bool {
        let rows = try? world.clients.tasks.all()
        return rows?.contains { $0.request.job != nil && $0.request.isStanding } ?? false
    }

    var running: Int { runs.values.count { $0.begunAt != nil && isOpen($0) } }

    func owns(_ id: LaunchID) -> Bool { runs[id] != nil }

    // MARK: - What the engine asks for

    func order(_ order: LaunchOrder) {
        ordered.append(order)
        orderedIDs.insert(order.id)
    }

    func hasOrdered(_ id: LaunchID) -> Bool { orderedIDs.contains(id) }
    func askToEnd(_ id: LaunchID) { askedToEnd.insert(id) }

    func prepare(_ order: LaunchOrder) throws -> HostReport {
        guard let job = order.program.job else { throw hosts.broken("\(order) is no job's") }
        let tasks = try world.clients.tasks.waiting(order.tasks)
        if tasks.isEmpty { return .nothingToDo(order.id) }
        if let other = runs.values.first(where: { $0.job == order.host && isOpen($0) }) {
            throw hosts.broken("\(order.host) is ordered beside \(other)")
        }
        nextPID += 1
        let identity = LaunchedProcess(
            pid: nextPID, startTicks: now.nanoseconds / 10_000_000, bootID: "boot-\(hosts.boot)")
        runs[order.id] = Run(
            id: order.id, job: order.host, grace: job.graceSeconds, identity: identity,
            tasks: tasks)
        watched.insert(order.id)
        var handover = Handover(session: nil, reason: order.reason, events: nil, count: 0)
        handover.tasks = tasks.map(\.id)
        return .prepared(PreparedLaunch(id: order.id, handover: handover, process: identity))
    }

    private func isOpen(_ run: Run) -> Bool { run.end == nil && !run.isLost }

    // MARK: - After a turn

    /// What was ordered was due by what the engine knew, and no run goes on without what it needs.
    ///
    /// - Parameter isUnsure: The store could not be written: what follows from it comes later.
    func checkTurn(isUnsure: Bool, hasDecided: Bool) throws {
        let orders = ordered
        ordered = []
        if isUnsure { return }
        for order in orders {
            for task in try world.clients.tasks.waiting(order.tasks) { try checkDue(task) }
        }
        if hasDecided { try checkRunning() }
    }

    private func checkRunning() throws {
        for run in runs.values where watched.contains(run.id) && isOpen(run) {
            // The engine before this one may have asked it.
            let isRequested = run.isRequested || askedToEnd.contains(run.id)
            guard run.begunAt != nil, !isRequested, let task = run.tasks.first, !run.wasAskedFor,
                task.request.expiresWhenRequirementIsLost, isLost(task)
            else { continue }
            throw hosts.broken("\(run) runs on without what it requires")
        }
    }

    /// What a new engine has not read yet is not lost.
    private func isLost(_ task: StoredTask) -> Bool {
        let must = task.request.requirements
        let isKnown = world.visible.hasSeen(must)
        return isKnown && hosts.tasks?.lacks(must, isRunning: true) == true
            || task.request.windowPhase(at: world.now.wall, world.time)?.isOpen == false
    }

    /// A requirement holds, unless a client asked for the run.
    private func checkDue(_ task: StoredTask) throws {
        if task.isSimulated { return }
        // A run that was asked for waits for no transfer, nor does it when it comes again.
        let isFirst = task.timing.deferrals == 0 && task.timing.failures == 0
        for id in task.request.job?.after ?? [] where isFirst {
            guard let state = world.shown[id]?.state, state != .completed else { continue }
            throw hosts.broken("\(task) begins, and transfer \(id) is \(state)")
        }
        if task.isPaused { throw hosts.broken("\(task) begins, and is paused") }
        if hosts.tasks?.lacks(task.request.requirements, isRunning: false) == true {
            throw hosts.broken("\(task) begins without what it requires")
        }
        if task.request.windowPhase(at: world.now.wall, world.time)?.isOpen == false {
            throw hosts.broken("\(task) begins outside of its window")
        }
        if let deadline = task.request.job?.deadline, deadline < world.now.wall {
            throw hosts.broken("\(task) begins after its deadline")
        }
    }

    func begin(_ id: LaunchID) throws {
        guard var run = runs[id], run.begunAt == nil else { return }
        guard let row = try world.clients.hosts.launch(id), row.endedAt == nil, row.isOfJob,
            row.process == run.identity
        else { throw hosts.broken("run \(id.rawValue) begins and is not recorded") }
        run.begunAt = now
        run.wasAskedFor = try world.clients.tasks.runs(of: run.job, host: run.job)
            .contains { $0.launch == id.rawValue && $0.reason == .asked }
        hosts.tally.jobRuns += 1
        let seconds = isPeaceful ? 1 : Double.random(in: 0.5...300, using: &hosts.random)
        run.endsAt = now + seconds
        run.status = isPeaceful ? 0 : [0, 0, 0, 1, 75].randomElement(using: &hosts.random)!
        world.say("jobs: run \(id.rawValue) of \(run.job) begins, ends with \(run.status)")
        runs[id] = run
    }

    func discard(_ id: LaunchID) {
        runs[id] = nil
        watched.remove(id)
    }

    func end(_ id: LaunchID, killing: Bool) {
        guard var run = runs[id], run.begunAt != nil, run.end == nil else { return }
        if killing {
            run.endsAt = now
            run.status = 137
        } else if !run.isRequested {
            run.isRequested = true
            // What does not end by itself is killed by its supervisor.
            let seconds = Double.random(in: 0...run.grace, using: &hosts.random)
            run.endsAt = min(run.endsAt ?? now, now + seconds)
            run.status = [0, 3, 137].randomElement(using: &hosts.random)!
        }
        runs[id] = run
    }

    // MARK: - Engines

    /// Of an earlier engine. What has ended is in its log.
    func adopt(_ launch: StoredLaunch) -> Bool {
        guard let run = runs[launch.id], run.begunAt != nil, !run.isLost else { return false }
        watched.insert(launch.id)
        hosts.tally.jobsAdopted += 1
        if let end = run.end { report(run, end) }
        return true
    }

    // MARK: - Time

    func advance() {
        for id in runs.keys.sorted() {
            guard var run = runs[id], run.begunAt != nil, isOpen(run), let at = run.endsAt,
                at <= now
            else { continue }
            let end: (LaunchEnding, Int) =
                run.status > 128 ? (.signalled, run.status - 128) : (.exited, run.status)
            run.end = end
            runs[id] = run
            world.say("jobs: run \(id.rawValue) ends: \(end)")
            if hosts.isEngineThere, watched.contains(id) { report(run, end) }
        }
    }

    private func report(_ run: Run, _ end: (LaunchEnding, Int)) {
        hosts.reports.append(.ended(run.id, end.0, status: end.1, output: ""))
    }

    var nextMoment: Instant? {
        runs.values.compactMap { $0.begunAt != nil && isOpen($0) ? $0.endsAt : nil }.min()
    }

    /// What had not begun ends with the engine; with the power, everything.
    func engineIsGone(power: Bool) {
        watched = []
        ordered = []
        orderedIDs = []
        askedToEnd = []
        runs = runs.filter { $0.value.begunAt != nil }
        guard power else { return }
        for (id, run) in runs where run.end == nil { runs[id]?.isLost = true }
    }

    // MARK: - What the store says

    /// Each run that the store has seen end is recorded as it ended.
    func look() throws {
        for id in runs.keys.sorted() {
            guard let run = runs[id], run.begunAt != nil,
                let row = try world.clients.hosts.launch(id)
            else { continue }
            guard row.endedAt != nil, let outcome = row.outcome else { continue }
            runs[id] = nil
            guard let end = run.end else {
                if run.isLost, outcome.ending == .unknown { continue }
                throw hosts.broken("run \(id.rawValue) is recorded as \(row), and runs")
            }
            try check(run, end, outcome)
        }
    }

    private func check(
        _ run: Run, _ end: (LaunchEnding, Int), _ outcome: LaunchOutcome
    ) throws {
        let isExpired = outcome.ending == .expired && outcome.expiration != nil
        guard outcome.status == end.1, isExpired || outcome.ending == end.0 else {
            throw hosts.broken("run \(run.id.rawValue) is recorded as \(outcome), and was \(end)")
        }
        let recorded = try world.clients.tasks.runs(of: run.job, host: run.job).first {
            $0.launch == run.id.rawValue
        }
        // A job that was removed has no runs.
        guard let recorded else { return }
        guard let task = run.tasks.first, task.request.job != nil, outcome.expiration == nil
        else { return }
        let result: TaskResult =
            end.0 == .exited && end.1 == 0
            ? .success : end.0 == .exited && end.1 == 75 ? .deferred : .failure
        guard recorded.result == result else {
            throw hosts.broken("run \(run.id.rawValue) counts as \(recorded), and was \(end)")
        }
        if result == .deferred { hosts.tally.jobsPutOff += 1 }
    }

    // MARK: - Clients

    func act() throws {
        let name = Self.names.randomElement(using: &hosts.random)!
        let time = LocalTime.utc
        let jobs = world.clients.jobs
        do {
            switch Int.random(in: 0..<10, using: &hosts.random) {
            case 0...4: try add(name)
            case 5: try jobs.run(name, now: world.now.wall, time)
            case 6: try jobs.setPaused(name, Bool.random(using: &hosts.random))
            case 7: try jobs.cancel(name)
            case 8: try jobs.remove(name)
            default: try jobs.setPaused(name, false)
            }
        } catch let error as LonghaulError
            where [.conflict, .noSuchHost, .noSuchTransfer].contains(error.code)
        {
            world.say("jobs: \(name): \(error)")
        }
        world.hintHosts()
    }

    private func add(_ name: String) throws {
        var settings = JobSettings(directory: "/", environment: [:])
        settings.graceSeconds = [1, 30].randomElement(using: &hosts.random)!
        settings.maxSeconds = [nil, 20, 100].randomElement(using: &hosts.random)!
        settings.isOnce = hosts.random.happens(0.4)
        var request = TaskRequest(identifier: name, kind: .processing)
        var schedule = JobSchedule()
        schedule.retries = settings.isOnce ? nil : Int.random(in: 0...3, using: &hosts.random)
        if !settings.isOnce {
            switch Int.random(in: 0..<4, using: &hosts.random) {
            case 0: request.repetition = TaskRepetition(interval: 300)
            case 1:
                schedule.daily = DailyMoment(
                    minute: Int.random(in: 0..<1440, using: &hosts.random))
            case 2: request.triggers = [.online, .power]
            default: break
            }
        }
        if hosts.random.happens(0.4) {
            request.requirements = ConditionNeeds(
                power: hosts.random.happens(0.6), network: hosts.random.happens(0.4))
        }
        if hosts.random.happens(0.1) { schedule.deadline = world.now.wall + 600 }
        if settings.isOnce, hosts.random.happens(0.5) {
            schedule.after = Array(
                world.shown.keys.sorted().shuffled(using: &hosts.random).prefix(2))
        }
        if hosts.random.happens(0.3) { schedule.windows = windows() }
        request.expiresWhenRequirementIsLost = hosts.random.happens(0.8)
        request.job = schedule
        _ = try world.clients.jobs.add(
            RegisteredJobs.NewJob(
                name: name, argv: ["/bin/\(name)"], settings: settings, request: request),
            now: world.now.wall, .utc)
        world.say("jobs: \(name) is \(request), \(schedule), \(settings)")
    }

    /// Some that open or close soon.
    private func windows() -> TimeWindows? {
        let minute = Int(world.time.wall(world.now.wall).milliseconds / 60_000 % 1440)
        let texts = (0..<2).compactMap { _ -> String? in
            let start = (minute + Int.random(in: -20...20, using: &hosts.random) + 1440) % 1440
            let end = (start + Int.random(in: 1...60, using: &hosts.random)) % 1440
            return TimeWindow(start: start, end: end)?.description
        }
        return TimeWindows(parsing: texts.joined(separator: ";"))
    }

    // MARK: - The end

    /// What repeats goes, what runs once has its run.
    func makePeace() throws {
        isPeaceful = true
        for (id, run) in runs where run.begunAt != nil && run.end == nil && !run.isLost {
            runs[id]?.endsAt = now
            runs[id]?.status = 0
        }
        for job in try world.clients.jobs.all() {
            let rows = try world.clients.tasks.find(job.name, host: job.name)
            if rows.isEmpty { continue }
            try world.clients.jobs.setPaused(job.name, false)
            if job.program.job?.isOnce != true {
                try world.clients.tasks.cancel([job.name], host: job.name)
            }
        }
        world.inputs.append(.wake)
    }

    /// Whether one has a run before it.
    func isOpen() throws -> Bool {
        try running > 0
            || world.clients.jobs.all().contains { job in
                try !world.clients.tasks.find(job.name, host: job.name).isEmpty
            }
    }
}
