import LonghaulCore
import Testing

@testable import LonghaulStore

/// When a standing request is due once its trigger has come.
@Suite struct TriggerTests {
    private let scratch: ScratchStore
    private let epoch: Epoch

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
        try scratch.store.hosts.add(
            "h", HostSettings(argv: ["/bin/true"], permitted: ["t"]), now: .start)
    }

    private func submit(earliest: Timestamp? = nil) throws -> StoredTask {
        var request = TaskRequest(identifier: "t", host: "h")
        request.triggers = [.online, .networkChange]
        request.earliestBegin = earliest
        return try scratch.store.tasks.submit(request, now: .start)
    }

    private func fire(_ triggers: [TaskTrigger], at now: Timestamp) throws {
        try scratch.turn(epoch) { tx in try tx.tasks.fire(triggers, now: now) }
    }

    private func dueAt() throws -> Timestamp {
        try #require(try scratch.store.tasks.waiting(for: "h").first).timing.dueAt
    }

    @Test func itIsDueOnceForAllThatHappensMeanwhile() throws {
        _ = try submit()
        #expect(try dueAt() == .distantFuture)
        try fire([.online], at: .start + 10)
        #expect(try dueAt() == .start + 15)
        // A link that comes and goes every few seconds.
        for second in [12.0, 14, 18, 22] {
            try fire([.networkChange], at: .start + second)
            #expect(try dueAt() == .start + 15)
        }
    }

    @Test func anEarliestMomentHolds() throws {
        _ = try submit(earliest: .start + 60)
        for second in [10.0, 20] {
            try fire([.online], at: .start + second)
            #expect(try dueAt() == .start + 60)
        }
    }

    /// At most one launch a minute; what comes during one is for the next.
    @Test func aMinuteIsBetweenTwoLaunches() throws {
        let task = try submit()
        try fire([.online], at: .start + 10)
        let id = LaunchID(rawValue: 1)
        var handover = Handover(session: nil, reason: .task, events: nil, count: 0)
        handover.tasks = [task.id]
        try scratch.turn(epoch) { tx in
            try tx.launches.begin(
                id, of: "h", handover, process: nil, deadline: .start + 60, now: .start + 15)
            #expect(try tx.tasks.settle("t", of: id, .result(.success), now: .start + 16))
            try tx.launches.end(id, LaunchOutcome(.exited, status: 0), now: .start + 17)
        }
        #expect(try dueAt() == .distantFuture)
        for second in [20.0, 40] {
            try fire([.online], at: .start + second)
            #expect(try dueAt() == .start + 75)
        }
    }
}
