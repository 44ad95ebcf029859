import LonghaulCore
import LonghaulSimulatedWire
import Testing

@testable import LonghaulSimulation

/// A connection of a split file that says nothing any more.
@Suite struct SilenceTests {
    /// What it leaves is taken by those that are free, all of it and once, and long before the
    /// stall timeout of a minute.
    @Test(arguments: [0.0, 0.5, 0.99]) func othersTakeTheRest(part: Double) throws {
        let world = try SimWorld(seed: 3)
        defer { world.cleanUp() }
        let size: Int64 = 40_000_000
        try world.enqueue(size) { $0.options.connections = .exactly(2) }
        #expect(try world.run(for: 30) { world.wire.order.count == 2 })
        let tail = try #require(world.wire.order.last)
        world.wire.requests[tail]?.served.silentAfter = Int64(part * Double(size) / 2)
        let start = world.now.monotonic
        #expect(try world.run(for: 55) { try world.transfer().state == .completed })
        let seconds = world.now.monotonic - start
        #expect(seconds < 45, "\(seconds)")
        let transfer = try world.transfer()
        #expect(transfer.restarts == 0 && world.wire.stalls == 0)
        #expect(transfer.bytesFetched <= size + 64 << 10)
    }

    /// Each connection stops at once, in the same place, again and again: the server is not asked
    /// more often for it than once besides.
    @Test func aServerThatIsSilentIsNotPressed() throws {
        let world = try SimWorld(seed: 3)
        defer { world.cleanUp() }
        try world.enqueue(20_000_000) { $0.options.connections = .exactly(2) }
        #expect(try world.run(for: 30) { world.wire.order.count == 2 })
        let tail = try #require(world.wire.order.last)
        world.wire.requests[tail]?.served.silentAfter = 1000
        #expect(try world.run(for: 30) { world.wire.requests[tail] == nil })
        let before = world.wire.answered
        _ = try world.run(for: 40) {
            for key in world.wire.order { world.wire.requests[key]?.served.silentAfter = 0 }
            return false
        }
        #expect(world.wire.answered - before <= 3)
        #expect(try world.transfer().state == .running)
    }
}
