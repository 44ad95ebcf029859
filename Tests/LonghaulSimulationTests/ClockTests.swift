import LonghaulCore
import LonghaulEngine
import LonghaulStore
import Testing

@testable import LonghaulSimulation

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
        var change = RequestChange()
        change.earliestBegin = .some(nil)
        try world.clients.wants.change(id, change, now: world.now.wall)
        world.inputs.append(.wake)
        #expect(try world.run(for: 30) { try world.transfer(id).state == .completed })
    }

    /// A machine without a clock of its own starts years in the past, and asks for the time later:
    /// what has days is not late, whether it moves, waits or is paused, whoever sees it first.
    @Test(arguments: [false, true]) func whatHasDaysKeepsThem(isSeenByTheNextEngine: Bool) throws {
        let world = try SimWorld(seed: 7)
        defer { world.cleanUp() }
        world.now.wall = Timestamp(milliseconds: 3_600_000)
        world.wire.now = world.now
        try world.restart(in: .utc)
        let moving = try world.enqueue(20_000_000) { _ in }
        let waiting = try world.enqueue(1000) { $0.schedule.requires.power = true }
        let later = try world.enqueue(1000) { $0.earliestBegin = world.now.wall + 50 }
        let paused = try world.enqueue(1000) { _ in }
        _ = try world.clients.wants.change(.ids([paused]), to: .pause)
        #expect(try world.run(for: 20) { try world.transfer(moving).bytesDone > 0 })

        world.now.wall = SimWorld.start
        world.wire.now = world.now
        if isSeenByTheNextEngine { try world.restart(in: .utc) }
        world.inputs.append(.wake)
        #expect(
            try world.run(for: 60) {
                try world.transfer(moving).state == .completed
                    && world.transfer(later).state == .completed
            })
        for (id, state) in [(waiting, TransferState.waiting), (paused, .paused)] {
            let transfer = try world.transfer(id)
            #expect(transfer.state == state, "\(transfer.error?.message ?? "")")
            let left = try #require(transfer.deadline) - world.now.wall
            #expect(left > 6.99 * 86_400 && left <= 7 * 86_400)
        }
    }

    /// The days that are asked for pass all the same.
    @Test func whatHasDaysIsLateAfterThem() throws {
        let world = try SimWorld(seed: 7)
        defer { world.cleanUp() }
        let id = try world.enqueue(1000) { $0.schedule.requires.power = true }
        try world.run(for: 1)
        world.now.wall = world.now.wall + 30 * 86_400
        try world.run(for: 1)
        world.pass(7 * 86_400)
        #expect(try world.run(for: 5) { try world.transfer(id).state == .failed })
        #expect(try world.transfer(id).error?.code == .timedOut)
    }

    /// Somebody will not wait for the end of a pause that a server has asked for, the clock is set
    /// back, and another engine comes: a pause that would be longer by then does not hold it.
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
        try world.change(id, .retry)
        try world.restart(in: .utc)
        #expect(try world.run(for: 300) { try world.transfer(id).state == .completed })
    }
}
