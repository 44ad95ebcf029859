import LonghaulCore
import LonghaulEngine
import LonghaulStore
import Synchronization
import Testing

@testable import LonghaulSimulation

/// A host and a store, step by step.
@Suite struct HostAnswerTests {
    /// Starts the engine, and adds the host `h0` to the world.
    @discardableResult
    private func host(
        in world: SimWorld, _ settings: HostSettings, hasTasks: Bool = false
    ) throws -> SimHosts {
        let hosts = SimHosts(world, seed: 1)
        world.hosts = hosts
        if hasTasks { hosts.tasks = SimTasks(hosts) }
        try world.startEngine()
        try world.clients.hosts.add("h0", settings, now: world.now.wall)
        hosts.ledger.hosts["h0"] = SimHostLedger.Host(
            argv: settings.argv, budget: settings.eventBudget)
        return hosts
    }

    /// It answers and ends well while the store takes nothing.
    @Test(arguments: [3, 1000])
    func anAnswerIsRecordedOrAskedForAgain(_ refusals: Int) throws {
        let world = try SimWorld(seed: 1)
        defer { world.cleanUp() }
        let hosts = try host(in: world, HostSettings(argv: ["/bin/h0"], eventBudget: 120))
        try world.change("s0") {
            $0.host = .some("h0")
            $0.askBeforeStart = true
        }
        hosts.refusals = refusals
        let id = try world.enqueue(20_000) {
            $0.session = "s0"
            $0.earliestBegin = world.now.wall + 5
        }
        hosts.ledger.sessionOf[id] = "s0"
        let end = LaunchID(rawValue: 1)
        #expect(try world.run(for: 90) { try world.store.hosts.launch(end)?.endedAt != nil })
        let launch = try #require(try world.store.hosts.launch(end))
        #expect(launch.outcome?.ending == (refusals == 3 ? .exited : .unknown))
        #expect(hosts.keptAnswers.isEmpty)
        hosts.refusals = 0
        // Asked again after the back-off of a failure.
        #expect(try world.run(for: 120) { try world.transfer(id).state == .completed })
        #expect(hosts.tally.questions == (refusals == 3 ? 1 : 2))
    }

    /// On battery, too.
    private static let wakeUp: WakeUp = {
        var wakeUp = WakeUp()
        wakeUp.prefers = ConditionNeeds()
        return wakeUp
    }()

    /// The store refuses a commit while the engine finds that the clock was set back.
    @Test(arguments: 1...4)
    func aWakeUpIsNotHeldUpByAClockThatWasAhead(_ failingCommit: Int) throws {
        let world = try SimWorld(seed: 1)
        defer { world.cleanUp() }
        try host(in: world, HostSettings(argv: ["/bin/h0"]))
        try world.clients.tasks.wake("h0", Self.wakeUp, now: world.now.wall)
        world.inputs.append(.wake)
        try world.run(for: 1)
        world.now.wall = world.now.wall + -86_400
        let probe = RefusedCommit(failingCommit)
        world.store.probe = probe
        world.isStoreFailing = true
        world.inputs.append(.wake)
        let launch = LaunchID(rawValue: 1)
        #expect(try world.run(for: 20) { try world.store.hosts.launch(launch) != nil })
        #expect(probe.hasRefused)
    }

    /// It is recorded after the last decision, and before the clock is set back to a moment after
    /// that.
    @Test func aWakeUpOfALaterMomentIsNotHeldUp() throws {
        let world = try SimWorld(seed: 1)
        defer { world.cleanUp() }
        try host(in: world, HostSettings(argv: ["/bin/h0"], permitted: ["t0"]))
        var tomorrow = TaskRequest(identifier: "t0", host: "h0")
        tomorrow.earliestBegin = world.now.wall + 86_400
        _ = try world.clients.tasks.submit(tomorrow, now: world.now.wall)
        try world.run(for: 1)
        world.pass(3600)
        try world.clients.tasks.wake("h0", Self.wakeUp, now: world.now.wall)
        world.now.wall = world.now.wall + -1800
        world.inputs.append(.wake)
        let launch = LaunchID(rawValue: 1)
        #expect(try world.run(for: 20) { try world.store.hosts.launch(launch) != nil })
    }

    /// A process gives a launch back, and the engine looks when the budget is over.
    @Test func whatIsGivenBackInTimeIsNoFailure() throws {
        let world = try SimWorld(seed: 1)
        defer { world.cleanUp() }
        let settings = HostSettings(argv: ["/bin/h0"], eventBudget: 10)
        let hosts = try host(in: world, settings, hasTasks: true)
        try hosts.enter("h0", 600)
        try world.clients.tasks.wake("h0", WakeUp(isUrgent: true), now: world.now.wall)
        world.inputs.append(.wake)
        let (id, next) = (LaunchID(rawValue: 1), LaunchID(rawValue: 2))
        try #require(try world.run(for: 5) { try world.store.hosts.launch(id) != nil })
        try hosts.leave(try #require(hosts.residents.first))
        world.pass(20)
        #expect(try world.run(for: 5) { try world.store.hosts.launch(id)?.endedAt != nil })
        #expect(try world.store.hosts.launch(id)?.outcome?.ending == .unknown)
        #expect(try world.store.hosts.find("h0")?.failures == 0)
        #expect(try world.run(for: 1) { try world.store.hosts.launch(next) != nil })
    }

    /// The engine dies that has asked a launch to end, because a client has asked for it.
    @Test func anEngineThatAdoptsALaunchKnowsThatItIsToExpire() throws {
        let world = try SimWorld(seed: 1)
        defer { world.cleanUp() }
        let settings = HostSettings(argv: ["/bin/h0"], permitted: ["t0"], eventBudget: 600)
        let hosts = try host(in: world, settings, hasTasks: true)
        let request = TaskRequest(identifier: "t0", host: "h0")
        let key = SimTask.Key(host: "h0", identifier: "t0")
        try world.submit(request, key)
        world.inputs.append(.wake)
        let id = LaunchID(rawValue: 1)
        try #require(try world.run(for: 20) { hosts.processes[id]?.begunAt != nil })
        hosts.processes[id]?.manners = .ignores
        hosts.processes[id]?.deeds = [(world.now.monotonic + 400, .exit(0))]
        try world.simulate(key)
        world.inputs.append(.wake)
        try #require(try world.run(for: 2) { hosts.tally.asked == 1 })
        try world.startEngine()
        #expect(try world.run(for: 2) { hosts.tally.asked == 2 })
        #expect(try world.run(for: 7) { try world.store.hosts.launch(id)?.endedAt != nil })
    }
}

/// Refuses one commit, by its number.
private final class RefusedCommit: CommitProbe {
    private let left: Mutex<Int>

    init(_ number: Int) {
        left = Mutex(number)
    }

    var hasRefused: Bool { left.withLock { $0 <= 0 } }

    func willCommit() throws {
        let isRefused = left.withLock {
            $0 -= 1
            return $0 == 0
        }
        if isRefused {
            throw LonghaulError(.storeUnavailable, "simulated: the disk is full", retryable: true)
        }
    }

    func didCommit(_ durability: Durability) {}
}
