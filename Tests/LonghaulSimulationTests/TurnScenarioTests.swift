import LonghaulCore
import Testing

@testable import LonghaulSimulation

/// Two sessions and one place.
@Suite struct TurnScenarioTests {
    @Test func smallFilesDoNotWaitForALargeOneOfAnotherSession() throws {
        let world = try SimWorld(seed: 7)
        defer { world.cleanUp() }
        world.policy.limits.running = 1
        try world.restart(in: .utc)
        let large = try world.enqueue(300_000_000) { $0.session = "a" }
        #expect(try world.run(for: 20) { try world.transfer(large).state == .running })
        let small = try (0..<3).map { _ in try world.enqueue(1_000_000) { $0.session = "b" } }
        #expect(
            try world.run(for: Limits.turnSeconds + 30) {
                try small.allSatisfy { try world.transfer($0).state == .completed }
            })
        #expect(try world.transfer(large).state != .completed)
        #expect(try world.run(for: 400) { try world.transfer(large).state == .completed })
        // The large one went on where it was.
        #expect(try world.transfer(large).bytesFetched == 300_000_000)
    }
}
