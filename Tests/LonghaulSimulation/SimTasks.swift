import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// Task requests and wake-ups in a life with hosts, and the promises about them.
final class SimTasks {
    static let identifiers = ["t0", "t1", "t2", "t3", "t4"]

    unowned let hosts: SimHosts
    private(set) lazy var names = SimNames(self)
    private(set) lazy var wakeUps = SimWakeUps(self)
    private(set) lazy var pushes = SimPushes(self)
    var entries: [Int: SimTask] = [:]
    /// When the last run of a repeating or standing request began that counts.
    var counted: [SimTask.Key: Moment] = [:]
    /// What hosts have said of their tasks, and to which engine.
    private var told: [LaunchID: [String: (result: TaskResult, engine: Int)]] = [:]
    /// When a host was last seen held back by what changes without a report.
    private var heldAt: [String: Instant] = [:]
    /// Urgent wake-ups in a row that were not handled, and when there were too many.
    private var unhandled: [String: Int] = [:]
    /// Runs of refreshes in a row that brought nothing, at most.
    private var empty: [SimTask.Key: Int] = [:]
    /// The requests of the tasks that launches have carried.
    private var carriedRequests: [LaunchID: [TaskRequest]] = [:]
    private var urgencyLost: [String: Instant] = [:]
    var machine = SimTasks.machine(boot: 1)
    private var seen: World?
    /// The engine may know an earlier network by name, or none.
    private var isNameUnsure = false
    /// Changes that a turn without a decision may have compared.
    private var untold: Set<TaskTrigger> = []
    private var last = 0

    /// What the engine was told of the world when it last decided.
    private struct World {
        var power: PowerSource?
        var network: NetworkState?
        /// The last network that was online; empty = there was none.
        var networkName: String?
        var machine: MachineFacts
        var sight: SimNames.Sight
        var engine: Int
        var at: Instant
    }

    static func machine(boot: Int) -> MachineFacts {
        var facts = MachineFacts(bootID: "boot-\(boot)")
        facts.mounts = []
        return facts
    }

    init(_ hosts: SimHosts) {
        self.hosts = hosts
    }

    private var world: SimWorld { hosts.world }
    private var now: Moment { world.now }

    func live(_ key: SimTask.Key) -> SimTask? {
        entries.values.first { $0.key == key && $0.isLive }
    }

    // MARK: - What happens to hosts

    func nextNumber() -> Int {
        last += 1
        return last
    }

    func remove(where isRemoved: (SimTask) -> Bool) {
        for (number, task) in entries where isRemoved(task) { entries[number]?.isGone = true }
    }

    func mount() {
        let count = machine.mounts?.count ?? 0
        machine.mounts = (machine.mounts ?? []).union([Int64(count)])
    }

    func forgive(_ host: String) {
        unhandled[host] = 0
        urgencyLost[host] = nil
        wakeUps.forget(host)
        for number in entries.keys where entries[number]?.key.host == host {
            entries[number]?.isForgiven = true
            // What runs goes on as it began.
            guard entries[number]?.launch == nil else { continue }
            entries[number]?.failures = 0
            entries[number]?.deferrals = 0
        }
    }

    func note(_ report: HostReport) {
        switch report {
        case .result(let id, let task, let result):
            guard told[id]?[task] == nil else { return }
            told[id, default: [:]][task] = (result, hosts.engine)
            hosts.tally.results += 1
        case .nothingToDo(let id): hold(hosts.ledger.watched[id]?.order.host)
        default: break
        }
    }

    /// A resident process has recorded it: no engine can miss it.
    func noteDurable(_ id: LaunchID, _ task: String, _ result: TaskResult) {
        told[id, default: [:]][task] = (result, Self.durable)
        hosts.tally.results += 1
    }

    private static let durable = -1

    private func hold(_ host: String?) {
        if let host { heldAt[host] = now.monotonic }
    }

    /// Processes that were about to begin may have been recorded as begun, and triggers that no
    /// turn has told of.
    func engineIsGone() throws {
        pushes.engineIsGone()
        for row in try world.clients.tasks.all() where row.launch == nil {
            let number = SimTask.number(of: row)
            guard let at = row.trigger?.at, let fired = entries[number]?.firedAt, at > fired.wall
            else { continue }
            entries[number]?.firedAt = now
        }
        // Of an engine that is killed between the commit of a launch and the start of its process,
        // the next one finds a launch that has not handled its wake-ups.
        for (id, process) in hosts.processes where process.begunAt == nil {
            if try world.clients.hosts.launch(id) != nil { beginWakeUps(process.tasks, in: id) }
        }
        for (_, entry) in hosts.ledger.watched where !entry.order.tasks.isEmpty {
            for number in entries.keys where entries[number]?.key.host == entry.order.host {
                if entries[number]?.launch == nil { entries[number]?.mayHaveBeenHanded = true }
            }
        }
    }

    /// Commits since the last durable one are lost, what followed from a clock that was set among
    /// them.
    func forget(since durable: Instant) {
        if hosts.ledger.hasJumped(since: durable) { hosts.ledger.isJumpNews = true }
        seen = nil
        isNameUnsure = true
        wakeUps.forget()
        for number in entries.keys { entries[number]?.firedAt = nil }
    }

    func begin(_ process: SimProcess) throws {
        for row in process.tasks {
            guard let task = entries[SimTask.number(of: row)] else { continue }
            hosts.tally.taskRuns += 1
            if task.isDone { throw broken(task, "is carried out once more") }
        }
        beginWakeUps(process.tasks, in: process.order.id)
        let rows = try world.clients.tasks.facts().snapshot.tasks.filter {
            $0.launch == process.order.id
        }
        try names.begin(rows)
        try wakeUps.begin(rows, in: process.order)
    }

    /// What a resident process is handed is on its way, and comes again if it is not read.
    func handOver(_ order: LaunchOrder) { beginWakeUps(carried(by: order.id), in: order.id) }

    private func beginWakeUps(_ rows: [StoredTask], in launch: LaunchID) {
        for row in rows where row.kind == .wakeUp {
            let number = SimTask.number(of: row)
            guard entries[number]?.isLive == true else { continue }
            entries[number]?.launch = launch
            entries[number]?.begun = now
        }
    }

    func broken(_ task: SimTask, _ text: String) -> SimComplaint {
        hosts.broken("\(task) \(text)")
    }

    // MARK: - What the store says

    /// Nothing is lost, what has ended is recorded as it was, and what was carried out is gone.
    func look() throws {
        var rows: [Int: StoredTask] = [:]
        for row in try world.clients.tasks.all() {
            let number = SimTask.number(of: row)
            // A request that runs may be beside the one that follows it.
            rows[number] = row
            if let task = entries[number], task.isDone {
                throw broken(task, "waits after it was carried out")
            }
        }
        for number in entries.keys.sorted() {
            guard var task = entries[number], !task.isDone else { continue }
            if task.key.isWakeUp {
                try lookAtWakeUp(&task)
            } else {
                try look(at: &task, rows[number])
            }
            entries[number] = task.isGone && task.launch == nil && rows[number] == nil ? nil : task
        }
    }

    private func look(at task: inout SimTask, _ row: StoredTask?) throws {
        if let launch = task.launch, row?.launch != launch {
            if task.isGone { task.launch = nil } else { try settle(&task, launch) }
        }
        if let launch = row?.launch, task.launch == nil { try begin(&task, in: launch) }
        if row == nil, task.isLive { throw broken(task, "is lost") }
        if let row, row.launch == nil, task.isGone { throw broken(task, "waits and is not wanted") }
    }

    private func begin(_ task: inout SimTask, in launch: LaunchID) throws {
        if let last = counted[task.key], let pause = pause(task), !task.isSimulated,
            !task.returnsAsAsked, !task.isForgiven, !hosts.ledger.hasJumped(since: last.monotonic),
            now.monotonic - last.monotonic < pause - SimHosts.slack
        {
            throw broken(task, "begins \(now.monotonic - last.monotonic) s after its last run")
        }
        world.say("hosts: launch \(launch.rawValue) carries \(task)")
        task.launch = launch
        task.lastLaunch = launch
        carriedRequests[launch, default: []].append(task.request)
        task.begun = now
        task.beganAsAsked = task.isSimulated
        task.isSimulated = false
    }

    /// Seconds from the last run that counts to the next.
    private func pause(_ task: SimTask) -> Double? {
        if let repetition = task.request.repetition {
            return repetition.interval - repetition.slack
        }
        return task.isStanding && task.deferrals == 0 && task.failures == 0
            ? Limits.triggerPauseSeconds : nil
    }

    private func settle(_ task: inout SimTask, _ launch: LaunchID) throws {
        let runs = try world.clients.tasks.runs(of: task.key.identifier, host: task.key.host)
        guard let run = runs.first(where: { $0.launch == launch.rawValue }), run.endedAt != nil
        else {
            throw broken(task, "has left \(launch) without an end")
        }
        try check(run, of: task)
        world.say("hosts: task \(task.number) ends: \(run)")
        task.end(run.result, run.expiration, at: now)
        if task.counts, let begun = task.begun { counted[task.key] = begun }
        if run.result == .noData, task.request.kind == .refresh {
            empty[task.key, default: 0] += 1
        } else if run.result == .success, task.isLive {
            empty[task.key] = 0
        }
        if task.firesAgain {
            task.firesAgain = false
            if task.isLive { task.firedAt = now }
        }
        if task.isDone { hosts.tally.carriedOut += 1 }
        if run.expiration == .requirement { hosts.tally.requirementsLost += 1 }
    }

    /// As its host said, or as the launch ended.
    private func check(_ run: TaskRun, of task: SimTask) throws {
        let id = LaunchID(rawValue: run.launch)
        let line = told[id]?[task.key.identifier]
        if let line, run.result == line.result { return }
        if let line, line.engine == hosts.engine || line.engine == Self.durable {
            throw broken(task, "ended as \(run), and its host said \(line.result)")
        }
        guard let launch = try world.clients.hosts.launch(id)?.outcome
        else { throw broken(task, "ended as \(run), and nobody said so") }
        var result: TaskResult?
        var expiration: ExpirationReason?
        switch launch.ending {
        case .exited where launch.expiration == .requirement: expiration = .requirement
        case .exited where launch.expiration == .progress: expiration = .progress
        case .exited where launch.expiration == .cancelled: expiration = .cancelled
        case .exited: result = launch.status == 0 ? .success : .failure
        case .signalled, .notStarted, .exceededMemory: result = .failure
        case .expired: expiration = launch.expiration
        case .unknown: break
        }
        guard run.result == result, run.expiration == expiration else {
            throw broken(task, "ended as \(run), and its launch as \(launch)")
        }
    }

    private func lookAtWakeUp(_ task: inout SimTask) throws {
        try lookAtLaunch(ofWakeUp: &task)
        guard task.launch == nil, !task.isDone else { return }
        // What is left of one that was replaced while it was carried depends on when the one that
        // replaced it ended or expired, and by which clock; one that has expired lives again where
        // the clock is set back before an engine has dropped it. The store knows.
        if task.isReplaced || task.hasExpired(at: now.wall), !task.isGone {
            let number = task.number
            task.isGone = try !world.clients.tasks.waiting(for: task.key.host).contains {
                SimTask.number(of: $0) == number
            }
        }
    }

    private func lookAtLaunch(ofWakeUp task: inout SimTask) throws {
        guard let launch = task.launch, let row = try world.clients.hosts.launch(launch),
            row.endedAt != nil
        else { return }
        let isHandled = row.outcome?.isSuccess == true
        let keepsUrgency =
            hosts.ledger.givenBack.contains(launch) && row.outcome?.ending == .unknown
        task.launch = nil
        task.ended = now
        if task.isUrgent, !keepsUrgency {
            countUrgency(of: task.key.host, isHandled: isHandled)
            task.isUrgent = false
        }
        task.isDone = isHandled
        if isHandled { hosts.tally.wakeUps += 1 }
    }

    private func countUrgency(of host: String, isHandled: Bool) {
        let count = isHandled ? 0 : (unhandled[host] ?? 0) + 1
        unhandled[host] = count % Limits.urgentFailures
        if count == Limits.urgentFailures { urgencyLost[host] = now.monotonic }
    }

    private func hasUrgency(_ host: String) -> Bool {
        guard let lost = urgencyLost[host] else { return unhandled[host] ?? 0 < 2 }
        let isOver = now.monotonic - lost > Limits.urgencyLostSeconds + SimHosts.slack
        return isOver && !hosts.ledger.hasJumped(since: lost) && unhandled[host] ?? 0 < 2
    }

    // MARK: - After a turn

    func noteHolds() {
        for (host, settings) in hosts.ledger.hosts
        where hosts.obstacles[settings.argv[0]] != nil { hold(host) }
    }

    /// - Parameter hasDecided: The engine has decided about hosts in this turn, or had no reason
    ///   to.
    func checkTurn(_ outcome: TurnOutcome, hasDecided: Bool) throws {
        try checkRunning(hasDecided: hasDecided)
        let hosted = hosts.ledger.watched.values.count { !$0.isOver && $0.order.session == nil }
        let launches = hosted + (hosts.jobs?.running ?? 0)
        // What somebody asks for now comes on top.
        let urgent = entries.values.count {
            $0.launch != nil && ($0.beganAsAsked || $0.key.isWakeUp || $0.isContinued)
        }
        if launches > Limits.taskLaunchesAtOnce + urgent + (hosts.jobs?.running ?? 0) {
            throw hosts.broken("\(launches) hosts run for tasks")
        }
        guard hasDecided else { return mayHaveCompared() }
        fire()
        for number in entries.keys.sorted() {
            guard let task = entries[number] else { continue }
            try checkWait(task, outcome, placesAreFull: launches >= Limits.taskLaunchesAtOnce)
        }
    }

    /// It was time for all that it carries, and what they require holds.
    func check(_ order: LaunchOrder) throws {
        let rows = try world.clients.tasks.waiting(order.tasks)
        for row in rows {
            guard let task = entries[SimTask.number(of: row)] else { continue }
            guard task.isLive, task.launch == nil else {
                throw broken(task, "is ordered, and does not wait")
            }
            if let at = task.expiresAt, at < now.wall { throw broken(task, "has expired") }
            if task.key.isWakeUp {
                try wakeUps.check(task, row, among: rows)
                continue
            }
            if task.isSimulated { continue }
            if lacks(task.request.requirements, isRunning: false) {
                throw broken(task, "is ordered without what it requires")
            }
            // The clock may have been set back since its first run.
            if let at = task.request.earliestBegin, at > now.wall, task.begun == nil {
                throw broken(task, "is ordered before its time")
            }
            if task.failures > 0, task.deferrals == 0, !task.isForgiven, let ended = task.ended,
                !hosts.ledger.hasJumped(since: ended.monotonic),
                now.monotonic - ended.monotonic < backOff(task.failures) - SimHosts.slack
            {
                throw broken(task, "comes too soon after it failed")
            }
        }
    }

    // MARK: - Launches that run

    /// It may be asked to end before its budget is used up.
    func mayExpire(_ id: LaunchID) -> Bool {
        // One that begins in this turn is not known yet.
        let isLost = carried(by: id).contains {
            loses($0.request) || entries[SimTask.number(of: $0)]?.isStopped == true
        }
        if isLost { return true }
        // One that was cancelled while it ran, and has a result, is of the launch all the same.
        let requests = carriedRequests[id] ?? []
        // No engine knows of a continued task that was replaced before it began, and one that
        // adopts a launch knows of none of a removed host: the launch has its first minute alone.
        if let entry = hosts.ledger.watched[id], hosts.processes[id]?.isContinued == true,
            entry.adoptedAt != nil || hosts.ledger.hosts[entry.order.host] != nil,
            !entries.values.contains(where: { $0.launch == id && $0.isContinued })
        {
            return true
        }
        return requests.contains(where: loses)
            || entries.values.contains { $0.lastLaunch == id && $0.isToExpire }
    }

    private func carried(by id: LaunchID) -> [StoredTask] {
        if let process = hosts.processes[id] { return process.tasks }
        // A resident process may not have read it yet.
        let resident = hosts.ledger.watched[id]?.order.resident
        return resident.flatMap { try? hosts.world.clients.residents.launch(of: $0.id)?.tasks }
            ?? []
    }

    private func loses(_ request: TaskRequest) -> Bool {
        request.expiresWhenRequirementIsLost && lacks(request.requirements, isRunning: true)
    }

    private func checkRunning(hasDecided: Bool) throws {
        for number in entries.keys.sorted() {
            guard let task = entries[number], !task.key.isWakeUp, !task.isGone || task.isStopped,
                let id = task.launch, let entry = hosts.ledger.watched[id], !entry.isOver,
                entry.letGoAt != nil, entry.askedAt == nil,
                told[id]?[task.key.identifier] == nil
            else { continue }
            if task.isToExpire && hasDecided || loses(task.request) && !task.beganAsAsked {
                throw broken(task, "runs on, and is to expire")
            }
        }
    }

    // MARK: - What waits

    /// Begun as soon as it is due and nothing holds it back; the engine will wake for it.
    private func checkWait(
        _ task: SimTask, _ outcome: TurnOutcome, placesAreFull: Bool
    ) throws {
        let name = task.key.host
        guard task.isLive, task.launch == nil, let host = hosts.ledger.hosts[name],
            !hosts.ledger.isBusy(name),
            hosts.obstacles[host.argv[0]] == nil, !placesAreFull, !task.hasExpired(at: now.wall),
            task.isSimulated
                || !lacks(task.request.requirements, isRunning: false, settlingFor: 0.01),
            var due = dueBy(task)
        else { return }
        hosts.tally.waits += 1
        let isUrgent =
            task.isContinued || task.isUrgent && !task.mayHaveBeenHanded && hasUrgency(name)
        if host.failures > 0, let failed = host.failedAt, !isUrgent {
            due = max(due, later(failed.wall, failed.instant, hosts.backOff(host)))
            if hosts.ledger.hasJumped(since: failed.instant), let jumped = hosts.ledger.jumped {
                due = max(due, jumped.wall + 3600)
                // A clock that was set back comes by the delay once more.
                let end = failed.wall + hosts.backOff(host)
                if end - now.wall <= hosts.backOff(host) + SimHosts.slack { due = max(due, end) }
            }
        }
        var wait = due - now.wall
        if let held = heldAt[name] { wait = max(wait, held + 30 - now.monotonic) }
        let wake = outcome.wakeAt.map { max(0, $0 - now.monotonic) } ?? .infinity
        // After a clock that is set back, what is left counts from the turn that notices it; one
        // that loses a second or less is taken for a slow one.
        let isFollowing = hosts.ledger.hasJumped(since: task.submitted.monotonic)
        let slack = isFollowing ? 1.5 : SimHosts.slack
        // The store is asked only where the promise would be broken.
        if wait < -slack || wake > max(0, wait) + slack, let later = delayed(task) {
            wait = max(wait, later - now.wall)
        }
        if wait < -slack {
            throw broken(task, "is due since \(-wait) s, and not begun; \(stored(task))")
        }
        if wake > max(0, wait) + slack {
            throw broken(
                task, "is due in \(wait) s, and the engine wakes in \(wake); \(stored(task))")
        }
    }

    /// When a task is due that a resident process did not read before it died, or that was
    /// submitted between a clock that was set forward and the same clock set back: an engine which
    /// did not run in between sees the sum of both.
    private func delayed(_ task: SimTask) -> Timestamp? {
        guard let timing = row(of: task)?.timing else { return nil }
        let isLost =
            timing.deferrals > task.deferrals
            && timing.dueAt - now.wall <= TaskTiming.delay(afterDeferrals: timing.deferrals)
        let isLate =
            hosts.ledger.hasJumped(since: task.submitted.monotonic)
            && timing.dueAt - now.wall <= hosts.ledger.unseenSetBack ?? 0
        // A host that was changed while the clock was ahead: its delay was over by that clock.
        let isForgivenAhead =
            task.isForgiven && hosts.ledger.hasJumped(since: task.submitted.monotonic)
            && timing.failures == 0 && timing.dueAt - now.wall <= Limits.launchDelayMaximumSeconds
        return isLost || isLate || isForgivenAhead ? timing.dueAt : nil
    }

    func row(of task: SimTask) -> StoredTask? {
        try? world.clients.tasks.waiting(for: task.key.host).first {
            SimTask.number(of: $0) == task.number
        }
    }

    private func stored(_ task: SimTask) -> String {
        guard let row = row(of: task) else {
            let launch = task.lastLaunch.flatMap { try? world.clients.hosts.launch($0) }
            return "not listed, last carried by \(launch.map { "\($0)" } ?? "none")"
        }
        func left(_ moment: Timestamp?) -> String { moment.map { "\($0 - now.wall)" } ?? "never" }
        let timing = row.timing
        return "stored as due in \(left(timing.dueAt)),"
            + " may begin in \(left(timing.mayBeginAt)), waives in \(left(timing.waivesAt)),"
            + " needs \(row.eligibility)"
    }

    /// When it begins at the latest, as far as its own time goes; `nil` = not by time.
    private func dueBy(_ task: SimTask) -> Timestamp? {
        var moments: [Timestamp] = []
        func add(_ since: Moment?, _ seconds: Double) {
            if let since { moments.append(later(since.wall, since.monotonic, seconds)) }
        }
        if task.isSimulated { return now.wall }
        if task.key.isWakeUp {
            let isUrgent = task.isUrgent && !task.mayHaveBeenHanded
            add(task.ended ?? task.submitted, isUrgent ? 0 : Limits.wakeUpMergeSeconds)
            if !isUrgent || !hasUrgency(task.key.host) {
                let isPolite = row(of: task)?.eligibility.hasPreferences ?? false
                if isPolite, wakeUps.isDisliked(task) { return nil }
                let host = try? world.clients.hosts.find(task.key.host)
                moments.append(host?.wakeUpBudget.nextAt(now: now.wall) ?? now.wall)
            }
            return moments.max()
        }
        // Where it began after it ended, by a clock that was set back meanwhile, the engine counts
        // from its end.
        let isBackwards = task.begun.map { $0.wall > task.ended?.wall ?? $0.wall } ?? false
        if task.isStanding {
            guard let fired = task.firedAt else { return nil }
            add(fired, Limits.triggerSettleSeconds)
            let start = isBackwards ? task.ended : counted[task.key]
            add(start, Limits.triggerPauseSeconds)
            // By the clock as it was then.
            if let start { moments.append(start.wall + Limits.triggerPauseSeconds) }
        } else {
            add(task.submitted, 0)
        }
        if let repetition = task.request.repetition {
            // A run that somebody asked for counts for the window before which it was.
            let runs = task.request.kind == .refresh ? empty[task.key] ?? 0 : 0
            let skipped = repetition.interval(afterEmpty: runs)
            add(counted[task.key], repetition.interval + skipped + repetition.slack)
            // One that replaces another goes on with the windows of its own.
            if counted[task.key] != nil { add(task.submitted, repetition.slack) }
            // It may have run beyond the window of the next one.
            add(task.ended, repetition.slack + (isBackwards ? repetition.interval : 0))
        }
        if task.deferrals > 0 {
            add(task.ended, min(Double(1 << min(task.deferrals - 1, 20)), 900))
        } else if task.failures > 0 {
            add(task.ended, backOff(task.failures))
        }
        if let earliest = task.request.earliestBegin {
            moments.append(earliest + (task.request.repetition?.interval ?? 0))
        }
        return moments.max()
    }

    /// So many seconds later; they begin anew when the clock is set.
    private func later(_ wall: Timestamp, _ instant: Instant, _ seconds: Double) -> Timestamp {
        guard let jumped = hosts.ledger.jumped, jumped.instant >= instant else {
            return wall + seconds
        }
        return jumped.wall + seconds
    }

    private func backOff(_ failures: Int) -> Double {
        min(3600, 60 * Double(1 << min(failures - 1, 10)))
    }

    // MARK: - Triggers

    /// What stands for a change that the engine has seen is due soon.
    private func fire() {
        let isStanding = entries.values.contains { $0.isStanding && $0.isLive }
        guard isStanding || hosts.jobs?.hasStanding == true else {
            seen = nil
            return
        }
        settleUntold()
        untold = []
        var new = observed()
        if let old = seen {
            new.power = new.power ?? old.power
            new.network = new.network ?? old.network
            let isOnline = new.network.map { $0 != .offline } ?? false
            if let known = old.networkName, !isOnline || new.networkName?.isEmpty ?? true {
                new.networkName = known
            }
            new.sight.networks = new.sight.networks ?? old.sight.networks
            new.sight.mounted = new.sight.mounted ?? old.sight.mounted
            let happened = triggers(from: old, to: new)
            let files = names.news(from: old.sight, to: new.sight)
            // The machine has slept since this engine began, which may have looked before.
            let mayHaveResumed = old.engine != new.engine && new.machine.resumes > 0
            for number in entries.keys.sorted() {
                guard let task = entries[number], task.isStanding, task.isLive,
                    task.submitted.monotonic < old.at
                else { continue }
                let hasFiles = task.request.triggers.contains { trigger in
                    files[trigger].map {
                        $0.0 > task.submitted.wall && $0.1 > task.submitted.monotonic
                    } ?? false
                }
                guard hasFiles || !happened.isDisjoint(with: task.request.triggers) else {
                    let isUnsure = mayHaveResumed && task.request.triggers.contains(.resume)
                    if isUnsure, task.launch == nil, task.firedAt != nil {
                        entries[number]?.firedAt = now
                    }
                    continue
                }
                hosts.tally.fired += 1
                // A run that has begun since may have been for it.
                let isNews = task.begun.map { $0.monotonic < old.at } ?? true
                if task.launch != nil {
                    if isNews { entries[number]?.firesAgain = true }
                } else if task.firedAt != nil || isNews {
                    entries[number]?.firedAt = now
                }
            }
        }
        seen = new
    }

    /// A request that is due already settles anew, where such a turn or the next one tells of a
    /// change.
    private func settleUntold() {
        for (number, task) in entries
        where task.isStanding && task.isLive && task.launch == nil && task.firedAt != nil
            && !untold.isDisjoint(with: task.request.triggers)
        {
            entries[number]?.firedAt = now
        }
    }

    private func observed() -> World {
        let visible = world.visible
        return World(
            power: visible.power.value, network: visible.network.value,
            networkName: visible.network.identity.map { $0.connection ?? "" }, machine: machine,
            sight: names.sight(visible),
            engine: hosts.engine, at: now.monotonic)
    }

    /// The engine compares the world before it decides. A turn without a decision may have compared
    /// what is visible now: the next one tells nothing of a change.
    private func mayHaveCompared() {
        let new = observed()
        guard let old = seen,
            old.power != new.power || old.network != new.network || old.machine != new.machine
                || old.networkName != new.networkName || old.sight != new.sight
        else { return }
        untold.formUnion(triggers(from: old, to: new))
        untold.formUnion(names.news(from: old.sight, to: new.sight).keys)
        settleUntold()
        seen?.power = nil
        seen?.network = nil
        seen?.networkName = ""
        seen?.machine = machine
        seen?.sight = SimNames.Sight(files: new.sight.files)
        isNameUnsure = true
    }

    private func triggers(from old: World, to new: World) -> Set<TaskTrigger> {
        var all: Set<TaskTrigger> = []
        if old.power == .battery, new.power == .external { all.insert(.power) }
        if old.power == .external, new.power == .battery { all.insert(.battery) }
        if old.network == .offline, let network = new.network, network != .offline {
            all.insert(.online)
        }
        if let was = old.networkName, let name = new.networkName, name != was {
            if !was.isEmpty || !isNameUnsure { all.insert(.networkChange) }
            isNameUnsure = false
        }
        if old.machine.bootID != new.machine.bootID { all.insert(.boot) }
        let isOneBoot = old.machine.bootID == new.machine.bootID
        if isOneBoot, !(new.machine.mounts ?? []).isSubset(of: old.machine.mounts ?? []) {
            all.insert(.mount)
        }
        if old.engine == new.engine, new.machine.resumes > old.machine.resumes {
            all.insert(.resume)
        }
        all.formUnion(SimNames.triggers(from: old.sight, to: new.sight))
        return all
    }
}
