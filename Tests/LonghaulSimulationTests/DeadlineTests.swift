import LonghaulCore
import LonghaulEngine
import LonghaulStore
import Testing

@testable import LonghaulSimulation

@Suite struct DeadlineTests {
    /// It passes while the disk does not answer: what is to leave cannot, and the engine sleeps.
    @Test func aDiskThatHangsIsWaitedFor() throws {
        let world = try SimWorld(seed: 5)
        defer { world.cleanUp() }
        let id = try world.enqueue(20_000_000) { $0.deadline = .after(seconds: 12) }
        #expect(try world.run(for: 5) { world.disk.cells.values.contains { $0.written > 0 } })
        try world.run(for: 10, disk: 0)
        try world.turn()
        let outcome = try #require(try world.turn())
        #expect(try world.transfer(id).state == .running)
        let wake = outcome.wakeAt.map { $0 - world.now.monotonic }
        #expect(wake ?? .infinity > 0)
        #expect(try world.run(for: 5) { try world.transfer(id).state == .failed })
        #expect(try world.transfer(id).error?.code == .timedOut)
    }

    /// Hundreds more than one look takes.
    @Test func allThatAreLateFail() throws {
        let world = try SimWorld(seed: 6)
        defer { world.cleanUp() }
        for _ in 0..<1300 {
            try world.enqueue(1000) {
                $0.deadline = .after(seconds: 2)
                $0.schedule.requires.power = true
            }
        }
        world.pass(3)
        #expect(try world.run(for: 3) { try world.store.transfers.counts()[.failed] == 1300 })
    }
}
