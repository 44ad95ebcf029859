import LonghaulCore
import Testing

@testable import LonghaulStore

/// What `host reset` means for the requests of a host.
@Suite struct TaskResetTests {
    private let scratch: ScratchStore
    private let epoch: Epoch

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
        try scratch.store.hosts.add(
            "h", HostSettings(argv: ["/bin/true"], permitted: ["t"]), now: .start)
    }

    /// One run at the start, which takes a second.
    private func run(_ request: TaskRequest, _ end: TaskEnd) throws {
        let task = try scratch.store.tasks.submit(request, now: .start)
        let id = LaunchID(rawValue: 1)
        var handover = Handover(session: nil, reason: .task, events: nil, count: 0)
        handover.tasks = [task.id]
        try scratch.turn(epoch) { tx in
            try tx.launches.begin(
                id, of: "h", handover,
                process: LaunchedProcess(pid: 7, startTicks: 8, bootID: "b"),
                deadline: .start + 30, now: .start)
            #expect(try tx.tasks.settle("t", of: id, end, now: .start + 1))
        }
    }

    private func waiting() throws -> StoredTask {
        try #require(try scratch.store.tasks.waiting(for: "h").first)
    }

    @Test func aRequestThatRepeatsIsDueAndKeepsItsWindow() throws {
        var request = TaskRequest(identifier: "t", host: "h")
        request.repetition = TaskRepetition(interval: 20, tolerance: 20)
        try run(request, .result(.failure))
        #expect(try waiting().timing.dueAt == .start + 61)
        try scratch.store.hosts.reset("h", now: .start + 2)
        let task = try waiting()
        #expect(task.timing.failures == 0)
        #expect(task.readyAt == .start + 2 && task.timing.mayBeginAt == .start + 2)
        // Its preferences do not count for as long as its back-off would have lasted.
        #expect(try #require(task.timing.waivesAt) <= .start + 40)
    }

    /// By a reset, and by settings that replace its own.
    @Test(arguments: [false, true])
    func aHostThatLostUrgencyGetsItBack(isAddedAnew: Bool) throws {
        for number in 1...3 {
            let id = LaunchID(rawValue: Int64(number))
            try scratch.store.tasks.wake("h", WakeUp(isUrgent: true), now: .start)
            var handover = Handover(session: nil, reason: .wake, events: nil, count: 0)
            handover.tasks = try scratch.store.tasks.waiting(for: "h").map(\.id)
            try scratch.turn(epoch) { tx in
                try tx.launches.begin(
                    id, of: "h", handover,
                    process: LaunchedProcess(pid: 7, startTicks: 8, bootID: "b"),
                    deadline: .start + 30, now: .start)
                try tx.launches.end(id, LaunchOutcome(.exited, status: 1), now: .start + 1)
            }
        }
        #expect(try scratch.store.hosts.find("h")?.urgencyLostUntil != nil)
        if isAddedAnew {
            try scratch.store.hosts.add("h", HostSettings(argv: ["/bin/false"]), now: .start + 2)
        } else {
            try scratch.store.hosts.reset("h", now: .start + 2)
        }
        #expect(try scratch.store.hosts.find("h")?.urgencyLostUntil == nil)
    }

    @Test func aRequestThatStandsForAChangeStillWaitsForIt() throws {
        var request = TaskRequest(identifier: "t", host: "h")
        request.triggers = [.online]
        request.returnsAfterExpiration = false
        try run(request, .expired(.requirement))
        try scratch.store.hosts.reset("h", now: .start + 2)
        #expect(try waiting().readyAt == .distantFuture)
    }
}
