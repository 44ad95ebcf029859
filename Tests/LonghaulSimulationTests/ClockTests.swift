import LonghaulCore
import LonghaulEngine
import LonghaulStore
import Testing

/// A wall clock that is set under a running engine.
@Suite struct ClockTests {
    /// It began, the clock was set back, and somebody says that it need not wait: it does not go by
    /// the moment that it once waited for.
    @Test func theMomentThatIsWantedNowCounts() throws {
        let world = try SimWorld(seed: 7)
        defer { world.cleanUp() }
        let id = try world.enqueue(3_000_000) { $0.earliestBegin = world.now.wall + 5 }
        #expect(try world.run(for: 20) { try world.transfer(id).bytesDone > 0 })
        world.now.wall = world.now.wall + -3600
        var change = TransferChange()
        change.earliestBegin = .some(nil)
        try world.clients.change(id, change, now: world.now.wall)
        world.inputs.append(.wake)
        #expect(try world.run(for: 30) { try world.transfer(id).state == .completed })
    }

    /// Somebody will not wait for the end of a pause that a server has asked for, the clock is set
    /// back, and another engine comes: it goes by the pause as long as it was meant to be.
    @Test func aPauseIsNotReadBeforeItIsSetRight() throws {
        let world = try SimWorld(seed: 7)
        defer { world.cleanUp() }
        let id = try world.enqueue(30_000) { _ in }
        world.wire.trouble.busy = 1
        try #require(
            try world.run(for: 60) {
                try world.transfer(id).waitingFor.contains { $0.required == WaitReason.retryAfter }
            })
        world.wire.trouble.busy = 0
        world.now.wall = world.now.wall + -7200
        _ = try world.clients.change(.ids([id]), to: .retry)
        try world.restart(in: .utc)
        #expect(try world.run(for: 300) { try world.transfer(id).state == .completed })
    }
}
