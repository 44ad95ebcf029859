import Foundation
import LonghaulCore
import LonghaulStore
import Testing

/// Seeds: each is a life of hosts that hang, fail, answer, attach themselves and go on, beside an
/// engine that is killed, and people who change their minds. `scripts/sim --hosts` lives more.
@Suite(.timeLimit(.minutes(600))) struct HostSimulationTests {
    static let environment = ProcessInfo.processInfo.environment
    static let first = environment["LONGHAUL_SIM_FIRST"].flatMap { UInt64($0) } ?? 1
    static let count = environment["LONGHAUL_SIM_HOST_SEEDS"].flatMap { UInt64($0) } ?? 200
    private static let complaintsMax = 5
    /// Lives that once broke a promise; lived always, but where seeds were asked for.
    private static let taught: [UInt64] =
        environment["LONGHAUL_SIM_HOST_SEEDS"] == nil ? [3_002_154, 7_300_125] : []

    @Test func everyEventIsTold() throws {
        var tally = SimTally()
        var hosts = SimHostTally()
        var complaints = 0
        let start = Date()
        for seed in Self.taught + Array(Self.first..<Self.first + Self.count) {
            let world = try SimWorld(seed: seed)
            defer { world.cleanUp() }
            do {
                try world.liveWithHosts()
            } catch let complaint as SimComplaint {
                Issue.record("seed \(seed): \(complaint)\nscripts/sim --hosts \(seed)")
                try trace(seed)
                complaints += 1
                if complaints >= Self.complaintsMax { break }
            }
            tally += world.tally
            hosts += world.hosts?.tally ?? SimHostTally()
        }
        let seconds = Date().timeIntervalSince(start)
        print(
            "hosts, seeds \(Self.first)...\(Self.first + Self.count - 1), \(complaints) failed,"
                + " \(Int(Double(Self.count) / seconds * 10)) in ten seconds: \(hosts.description);"
                + " \(tally.kills) kills, \(tally.powerCuts) power cuts,"
                + " \(tally.clockJumps) clock jumps, \(tally.storeFaults) failed commits")
        guard Self.count >= 100 else { return }
        // A simulation in which nothing goes wrong proves nothing.
        #expect(tally.kills > 0 && tally.powerCuts > 0 && tally.clockJumps > 0)
        #expect(hosts.again > 0 && hosts.succeeded > 0 && hosts.failed > 0)
        #expect(hosts.asked > 0 && hosts.killed > 0 && hosts.adopted > 0)
        #expect(hosts.answers > 0 && hosts.attachments > 0 && hosts.waits > 0)
        #expect(hosts.refusals > 0)
    }

    /// It answers and ends well while the store takes nothing.
    @Test(arguments: [3, 1000])
    func anAnswerIsRecordedOrAskedForAgain(_ refusals: Int) throws {
        let world = try SimWorld(seed: 1)
        defer { world.cleanUp() }
        let hosts = SimHosts(world, seed: 1)
        world.hosts = hosts
        try world.startEngine()
        var settings = HostSettings(argv: ["/bin/h0"])
        settings.eventBudget = 120
        try world.clients.add(host: "h0", settings, now: world.now.wall)
        hosts.ledger.hosts["h0"] = SimHostLedger.Host(argv: settings.argv, budget: 120)
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
        #expect(try world.run(for: 90) { try world.store.launch(end)?.endedAt != nil })
        let launch = try #require(try world.store.launch(end))
        #expect(launch.ending == (refusals == 3 ? .exited : .unknown))
        #expect(hosts.keptAnswers.isEmpty)
        hosts.refusals = 0
        // Asked again after the back-off of a failure.
        #expect(try world.run(for: 120) { try world.transfer(id).state == .completed })
        #expect(hosts.tally.questions == (refusals == 3 ? 1 : 2))
    }

    private func trace(_ seed: UInt64) throws {
        let world = try SimWorld(seed: seed, isTracing: true)
        defer { world.cleanUp() }
        try? world.liveWithHosts()
        print("the last of seed \(seed):")
        for line in world.trace.suffix(Self.count == 1 ? SimWorld.traceMax : 60) { print(line) }
    }
}
