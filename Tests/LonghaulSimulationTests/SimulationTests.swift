import Foundation
import Testing

@testable import LonghaulSimulation

/// Seeds: each is a life of the engine with a bad network, a forgetful and failing disk, a clock
/// that jumps, clients that change their minds, servers that change their files, kills and power
/// cuts. `scripts/sim` lives as many as one likes.
@Suite(.timeLimit(.minutes(600))) struct SimulationTests {
    @Test func everyPromiseHolds() throws {
        let tally = try lived(.ordinary, 150).tally
        // A simulation in which nothing goes wrong proves nothing.
        #expect(tally.kills > 0 && tally.powerCuts > 0 && tally.forgotten > 0)
        #expect(tally.stalls > 0 && tally.redirects > 0)
        #expect(tally.clockJumps > 0 && tally.diskFaults > 0)
    }

    /// Lives with servers that ignore If-Range, leave validators out, send parts of parts and take
    /// few connections, and with processes that read along.
    @Test func everyPromiseHoldsWithOddServers() throws {
        let tally = try lived(.servers, 50).tally
        #expect(tally.kills > 0 && tally.powerCuts > 0 && tally.restarts > 0)
        #expect(tally.forbidden > 0 && tally.readers > 0)
    }

    @Test func everyPromiseHoldsForThoseWhoShare() throws {
        #expect(try lived(.shared, 60).tally.crashPoints > 0)
    }

    /// Lives of hosts that hang, fail, answer, attach themselves and go on, beside an engine that
    /// is killed, and people who change their minds.
    @Test func everyEventIsTold() throws {
        let total = try lived(.hosts, 200)
        let (tally, hosts) = (total.tally, total.hosts)
        #expect(tally.kills > 0 && tally.powerCuts > 0 && tally.clockJumps > 0)
        #expect(hosts.again > 0 && hosts.succeeded > 0 && hosts.failed > 0)
        #expect(hosts.asked > 0 && hosts.killed > 0 && hosts.adopted > 0)
        #expect(hosts.answers > 0 && hosts.attachments > 0 && hosts.waits > 0)
        #expect(hosts.refusals > 0)
    }

    /// Lives of hosts with background tasks and wake-ups, whose machine changes under them.
    @Test func everyTaskIsCarriedOut() throws {
        let total = try lived(.tasks, 25)
        #expect(total.tally.kills > 0 && total.tally.powerCuts > 0)
        let hosts = total.hosts
        #expect(hosts.taskRuns > 0 && hosts.results > 0 && hosts.carriedOut > 0)
        #expect(hosts.wakeUps > 0 && hosts.fired > 0)
        #expect(hosts.named > 0 && hosts.streamed > 0 && hosts.plain > 0)
    }

    /// Lives of uploads in several dialects, to servers that forget and move back, of files that
    /// change.
    @Test func everyUploadIsOneVersion() throws {
        let tally = try lived(.uploads, 100).tally
        #expect(tally.kills > 0 && tally.powerCuts > 0 && tally.restarts > 0)
        #expect(tally.resources > 0 && tally.uploaded > 0 && tally.completed > 0)
    }

    /// Lives of bundles whose lists change in the middle, from servers that do not keep to them.
    @Test func everyBundleIsWhole() throws {
        let tally = try lived(.bundles, 40).tally
        #expect(tally.kills > 0 && tally.powerCuts > 0 && tally.storeFaults > 0)
        #expect(tally.bundlesReady > 0 && tally.bundlesFailed > 0)
    }

    /// Scripts of commands, crashes and clocks, compared with the reference model.
    @Test func theQueueIsAsTheModelSays() throws {
        let tally = try lived(.model, 40).tally
        #expect(tally.kills > 0 && tally.powerCuts > 0 && tally.clockJumps > 0)
        #expect(tally.completed > 0 && tally.failures > 0 && tally.cancelled > 0)
    }

    /// The first seeds, and those that once broke a promise.
    private func lived(_ life: SimLife, _ count: Int) throws -> Simulation.Total {
        var amount = Simulation.Amount()
        amount.lives = count
        let simulation = Simulation([life], first: 1, amount)
        let total = simulation.run(jobs: 1) { _ in }
        var violations = total.violations
        for seed in life.taught {
            if let violation = try life.live(seed).violation { violations.append(violation) }
        }
        for violation in violations {
            Issue.record("\(violation.text)")
            for line in violation.trace.suffix(60) { print(line) }
        }
        #expect(total.failure == nil)
        print("\(life): \(simulation.summary); \(total.tally.description)")
        return total
    }
}
