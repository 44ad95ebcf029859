import LonghaulCore
import LonghaulStore
import Testing

@testable import LonghaulSimulation

/// A host and a store, step by step.
@Suite struct HostAnswerTests {
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
        try world.clients.hosts.add("h0", settings, now: world.now.wall)
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
        #expect(try world.run(for: 90) { try world.store.hosts.launch(end)?.endedAt != nil })
        let launch = try #require(try world.store.hosts.launch(end))
        #expect(launch.ending == (refusals == 3 ? .exited : .unknown))
        #expect(hosts.keptAnswers.isEmpty)
        hosts.refusals = 0
        // Asked again after the back-off of a failure.
        #expect(try world.run(for: 120) { try world.transfer(id).state == .completed })
        #expect(hosts.tally.questions == (refusals == 3 ? 1 : 2))
    }
}
