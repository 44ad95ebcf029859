import Foundation
import Testing

/// Seeds: each is a life of the engine with a bad network, a forgetful disk, clients that change
/// their minds, servers that change their files, kills and power cuts. `scripts/sim` runs as many
/// as one likes.
@Suite(.timeLimit(.minutes(60))) struct SimulationTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let first = environment["LONGHAUL_SIM_FIRST"].flatMap { UInt64($0) } ?? 1
    private static let count = environment["LONGHAUL_SIM_SEEDS"].flatMap { UInt64($0) } ?? 200

    @Test func everyPromiseHolds() throws {
        var kills = 0
        var powerCuts = 0
        for seed in Self.first..<Self.first + Self.count {
            let world = try SimWorld(seed: seed)
            defer { world.cleanUp() }
            do {
                try live(in: world)
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
            kills += world.kills
            powerCuts += world.powerCuts
        }
        // A simulation that never crashes proves nothing.
        #expect(Self.count < 20 || (kills > 0 && powerCuts > 0))
    }

    private func live(in world: SimWorld) throws {
        try world.populate()
        for _ in 0..<120 { try world.stepInTrouble() }
        try world.makePeace()
        try world.checkEvents()
    }
}
