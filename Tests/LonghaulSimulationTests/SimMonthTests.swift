import Foundation
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulSimulation

/// A month with power, networks and users that come and go, a clock that is set and changes to
/// summer time, crashes and deadlines: no requirement is broken, every wait is explained and every
/// end has one event, as in each life of the simulation.
@Suite struct SimMonthTests {
    private static let count = ProcessInfo.processInfo.environment["LONGHAUL_MONTHS"].flatMap {
        UInt64($0)
    }

    @Test(arguments: 1...(count ?? 1)) func aMonth(seed: UInt64) throws {
        let world = try SimWorld(seed: seed, start: Month.start)
        defer { world.cleanUp() }
        do {
            try world.liveMonth(transfers: 50)
        } catch let complaint as SimComplaint {
            Issue.record("month \(seed): \(complaint)")
        }
        // A month in which nothing happens proves nothing.
        #expect(world.tally.completed > 15, "\(world.tally.description)")
        #expect(world.tally.kills + world.tally.powerCuts > 3)
        #expect(world.longestTurn < 6 * 3600)
    }
}
