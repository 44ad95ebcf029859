import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// The machine's host processes, and the thread of the engine that looks after them. Processes that
/// have begun outlive the engine, but not the power.
final class SimHosts: HostPort, @unchecked Sendable {
    /// What the thread of the hosts has been asked for, in order.
    enum Command {
        case prepare(LaunchOrder)
        case read(LaunchOrder, HandoverReader, [StoredEvent], waiting: Set<Int64>)
        case begin(LaunchID)
        case discard(LaunchID)
        case end(LaunchID, killing: Bool)
    }

    unowned let world: SimWorld
    var random: SeededGenerator
    var trouble = SimHostTrouble.none
    /// Which engine lives, counted.
    var engine = 0
    var boot = 1
    var nextPID: Int32 = 100
    var isEngineThere = false
    var commands: [Command] = []
    var reports: [HostReport] = []
    var processes: [LaunchID: SimProcess] = [:]
    /// Answers that the store did not take.
    var keptAnswers: [LaunchID: [(TransferID, SimProcess.Answer, session: String)]] = [:]
    /// So many more attempts fail, besides those that are drawn.
    var refusals = 0
    /// Processes that have attached themselves: of which host, and until when.
    var attached: [(host: String, until: Instant, isSlow: Bool)] = []
    /// Processes that take what their hosts are handed.
    var residents: [SimResident] = []
    /// Programs that cannot be run.
    var obstacles: [String: LaunchObstacle] = [:]
    /// Something was reported or answered since the last checks.
    var hasHeard = false
    /// Sessions whose events no launch can deal with.
    var poisoned: Set<String> = []
    /// Events to a launch, and to a page.
    var most = Limits.eventsPerLaunch
    var page = 200
    var ledger = SimHostLedger()
    /// In lives with tasks.
    var tasks: SimTasks?
    var jobs: SimJobs?
    var continued = SimContinued()
    var tally = SimHostTally()

    init(_ world: SimWorld, seed: UInt64) {
        self.world = world
        random = SeededGenerator(seed: seed)
    }

    var now: Instant { world.now.monotonic }

    // MARK: - What the engine asks for

    func listen(_ report: @escaping @Sendable (HostReport) -> Void) {}
    func stop() {}

    func processorSeconds(of id: LaunchID) -> Double? { nil }

    func obstacle(_ program: String) -> LaunchObstacle? { obstacles[program] }

    func isAttached(_ host: String) -> Bool { attached.contains { $0.host == host } }

    func prepare(_ order: LaunchOrder) {
        guard world.burn() else { return }
        if order.program.isJob {
            jobs?.order(order)
            // A dead engine may have given the number to another launch, and not recorded it.
            ledger.watched[order.id] = nil
            ledger.unsettled[order.id] = nil
            return commands.append(.prepare(order))
        }
        world.say("hosts: launch \(order.id.rawValue) of \(order.host) for \(order.eventSession)")
        ledger.watched[order.id] = SimHostLedger.Watched(order: order)
        ledger.ordered.append(order)
        ledger.orderedAt[order.id] = now
        commands.append(.prepare(order))
    }

    func begin(_ id: LaunchID) {
        guard world.burn() else { return }
        ledger.watched[id]?.letGoAt = now
        processes[id]?.letGoAt = now
        if let order = ledger.watched[id]?.order, order.resident != nil { handOver(order) }
        commands.append(.begin(id))
    }

    func discard(_ id: LaunchID) {
        guard world.burn() else { return }
        if jobs?.owns(id) == true { return commands.append(.discard(id)) }
        let isResident = ledger.watched[id]?.order.resident != nil
        ledger.watched[id] = nil
        // The process goes on.
        if isResident || processes[id]?.isResident == true { return }
        commands.append(.discard(id))
    }

    func end(_ id: LaunchID, killing: Bool) {
        guard world.burn() else { return }
        if let jobs, jobs.owns(id) {
            jobs.askToEnd(id)
            return commands.append(.end(id, killing: killing))
        }
        world.say("hosts: launch \(id.rawValue) is \(killing ? "killed" : "asked to end")")
        checkEnd(id, killing: killing)
        commands.append(.end(id, killing: killing))
    }

    func adopt(_ launch: StoredLaunch) -> Bool {
        if launch.resident != nil { return adoptResident(launch) }
        if launch.isOfJob { return jobs?.adopt(launch) ?? false }
        guard let process = processes[launch.id], process.identity == launch.process,
            process.begunAt != nil
        else { return false }
        world.say("hosts: launch \(launch.id.rawValue) is adopted")
        tally.adopted += 1
        ledger.adopt(process, at: now)
        adoptContinued(process)
        return true
    }

    // MARK: - The thread of the hosts

    func step() throws {
        guard isEngineThere, !commands.isEmpty else { return }
        switch commands.removeFirst() {
        case .prepare(let order):
            guard !random.happens(trouble.spawn) else {
                tally.notPrepared += 1
                return report(.notPrepared(order.id, message: "simulated: no process is left"))
            }
            if order.program.isJob, let jobs { return report(try jobs.prepare(order)) }
            guard let session = order.session else { return try make(order, nil, nil, []) }
            let reader = try HandoverReader(
                world.clients, session: session, limit: most, now: world.now.wall)
            let waiting = ledger.waiting(of: order.eventSession)
            commands.insert(.read(order, reader, [], waiting: Set(waiting)), at: 0)
        case .read(let order, var reader, var events, let waiting):
            let found = try reader.next(page: page, now: world.now.wall)
            if !found.isEmpty {
                events += found.map(\.event)
                return commands.insert(.read(order, reader, events, waiting: waiting), at: 0)
            }
            try make(order, reader, reader.handover, events)
            if !events.isEmpty { try checkHandover(order, reader, events, waiting) }
        case .begin(let id) where jobs?.owns(id) == true: try jobs?.begin(id)
        case .begin(let id): try letGo(id)
        case .discard(let id) where jobs?.owns(id) == true: jobs?.discard(id)
        case .discard(let id):
            tally.discarded += 1
            processes[id] = nil
        case .end(let id, let killing) where jobs?.owns(id) == true:
            jobs?.end(id, killing: killing)
        case .end(let id, let killing): signal(id, killing: killing)
        }
    }

    private func report(_ report: HostReport) { reports.append(report) }

    private func isOfJob(_ report: HostReport) -> Bool {
        switch report {
        case .prepared(let launch): jobs?.owns(launch.id) == true
        case .nothingToDo(let id), .notPrepared(let id, _), .ended(let id, _, _, _):
            jobs?.owns(id) == true || jobs?.hasOrdered(id) == true
        case .answersWait, .answerRefused, .progress, .result, .attachments: false
        }
    }

    private func make(
        _ order: LaunchOrder, _ reader: HandoverReader?, _ content: Handover?,
        _ events: [StoredEvent]
    ) throws {
        let carried = try world.clients.tasks.waiting(order.tasks)
        if content == nil, carried.isEmpty { return report(.nothingToDo(order.id)) }
        var handover =
            content ?? Handover(session: nil, reason: order.reason, events: nil, count: 0)
        handover.tasks = carried.map(\.id)
        if let resident = order.resident {
            guard isAlive(resident) else { return report(.nothingToDo(order.id)) }
            ledger.watched[order.id]?.isPrepared = true
            return report(
                .prepared(
                    PreparedLaunch(
                        id: order.id, handover: handover, process: resident.process)))
        }
        nextPID += 1
        let identity = LaunchedProcess(
            pid: nextPID, startTicks: now.nanoseconds / 10_000_000, bootID: "boot-\(boot)")
        processes[order.id] = SimProcess(
            identity: identity, order: order,
            needs: content == nil ? [] : reader?.needs.map(\.transfer.id) ?? [],
            events: events, tasks: carried, parent: engine)
        report(
            .prepared(
                PreparedLaunch(
                    id: order.id, handover: handover, process: identity)))
    }

    private func letGo(_ id: LaunchID) throws {
        guard var process = processes[id], !process.isResident else { return }
        process.begunAt = now
        tally.launches += 1
        world.say("hosts: launch \(id.rawValue) begins with \(process.events.map(\.seq))")
        try checkBegin(process)
        try tasks?.begin(process)
        ledger.note(handed: process.events, &tally)
        if obstacles[process.order.program.argv[0]] != nil {
            process.deeds = [(now, .exit(127))]
        } else {
            let isPoisoned = poisoned.contains(process.order.eventSession)
            process.plan(trouble, isPoisoned: isPoisoned, from: now, &random)
        }
        processes[id] = process
    }

    private func signal(_ id: LaunchID, killing: Bool) {
        if ledger.watched[id]?.order.resident != nil || processes[id]?.isResident == true {
            guard killing, isWatching(id) else { return }
            return report(.ended(id, .unknown, status: nil, output: ""))
        }
        guard processes[id]?.begunAt != nil else { return }
        if killing {
            tally.killed += 1
            processes[id]?.deeds = [(now, .die(signal: 9))]
        } else {
            tally.asked += 1
            processes[id]?.term(at: now, &random)
        }
    }

    // MARK: - The engine's process

    func takeReports() -> [EngineInput] {
        defer { reports = [] }
        if !reports.isEmpty { hasHeard = true }
        for report in reports { tasks?.note(report) }
        for report in reports where !isOfJob(report) { ledger.note(report, at: now) }
        return reports.map { .host($0) }
    }

    /// What had not begun ends with the engine that made it; what it was to be told is lost.
    func engineIsGone(power: Bool) throws {
        try look()
        isEngineThere = false
        jobs?.engineIsGone(power: power)
        commands = []
        reports = []
        keptAnswers = [:]
        continued = SimContinued()
        // Its turn is lost with the engine: nobody can tell whether it has run.
        for (id, entry) in ledger.watched where processes[id]?.begunAt == nil && !entry.isOver {
            ledger.passedOver[entry.order.eventSession] = 0
        }
        try tasks?.engineIsGone()
        ledger.engineIsGone()
        try engineIsGoneForResidents()
        processes = processes.filter { $0.value.begunAt != nil }
        if power {
            boot += 1
            tasks?.machine = SimTasks.machine(boot: boot)
            processes = [:]
            attached = []
            residents = []
        }
    }

    /// Before a new engine recovers: nobody may have looked for a while.
    func engineStarts() throws {
        try engineIsGone(power: false)
        if random.happens(trouble.absence) {
            world.pass(Double.random(in: 0...90, using: &random))
        }
        engine += 1
        tasks?.machine.resumes = 0
        isEngineThere = true
    }
}
