import LonghaulCore
import Testing

@testable import LonghaulStore

/// When a standing request is due, and what the end of a launch leaves of its tasks.
@Suite struct TaskQueueTests {
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

    // MARK: - Triggers

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
        try launch(task, at: .start + 15, LaunchOutcome(.exited, status: 0))
        #expect(try dueAt() == .distantFuture)
        for second in [20.0, 40] {
            try fire([.online], at: .start + second)
            #expect(try dueAt() == .start + 75)
        }
    }

    // MARK: - Ends

    /// Two seconds, in which it tells no result.
    private func launch(
        _ task: StoredTask, at now: Timestamp, _ outcome: LaunchOutcome
    ) throws {
        let id = LaunchID(rawValue: 1)
        var handover = Handover(session: nil, reason: .task, events: nil, count: 0)
        handover.tasks = [task.id]
        try scratch.turn(epoch) { tx in
            try tx.launches.begin(
                id, of: "h", handover, process: nil, deadline: now + 60, now: now)
            try tx.launches.end(id, outcome, now: now + 2)
        }
    }

    /// A host that ends with 0 when it is asked to has not done its work for that.
    @Test(
        arguments: [
            (nil, true), (.time, true), (.processor, true), (.requirement, false),
            (.simulated, true),
        ] as [(ExpirationReason?, Bool)])
    func statusZeroAfterARequestToEnd(_ expiration: ExpirationReason?, isDone: Bool) throws {
        var request = TaskRequest(identifier: "t", kind: .processing, host: "h")
        request.requirements = ConditionNeeds(parsing: "power") ?? ConditionNeeds()
        let task = try scratch.store.tasks.submit(request, now: .start)
        var outcome = LaunchOutcome(.exited, status: 0)
        outcome.expiration = expiration
        try launch(task, at: .start, outcome)
        #expect(try scratch.store.tasks.waiting(for: "h").isEmpty == isDone)
        let run = try #require(try scratch.store.tasks.runs(of: "t", host: "h").first)
        #expect(run.kind == .processing)
        #expect(run.result == (isDone ? .success : nil))
        #expect(run.expiration == (isDone ? nil : expiration))
        #expect(try scratch.store.hosts.find("h")?.failures == 0)
    }
}
