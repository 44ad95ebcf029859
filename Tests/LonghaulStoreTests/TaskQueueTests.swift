import LonghaulCore
import Testing

@testable import LonghaulStore

/// When a standing request is due, what the end of a launch leaves of its tasks, and what
/// `host reset` means for the requests of a host.
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
        try scratch.turn(epoch) { tx in try fire(triggers, at: now, tx) }
    }

    private func fire(
        _ triggers: [TaskTrigger], at now: Timestamp, _ tx: borrowing EngineTransaction
    ) throws {
        for var task in try tx.tasks.facts().snapshot.tasks {
            for trigger in triggers { task.fire(TriggerEvent(trigger), now: now) }
            try TaskRows(connection: tx.connection).write(task, now: now)
        }
    }

    @Test func triggersAreStoredWithTheirNamesAndFiles() throws {
        var request = TaskRequest(identifier: "t", host: "h")
        request.requirements =
            ConditionNeeds(parsing: "mounted=/media/b,network=home")
            ?? request
            .requirements
        let path = TaskTrigger.path("/in,out", settle: 60)
        request.triggers = [.boot, .mount("b"), .network("home"), path]
        _ = try scratch.store.tasks.submit(request, now: .start)
        #expect(try waiting().request == request)
        #expect(
            try waiting().eligibility.conditionNeeds.required
                == ConditionNeeds(parsing: "network=home,mounted=/media/b"))
        let events = [
            TriggerEvent(.mount("b"), path: "/media/b"), TriggerEvent(.boot),
            TriggerEvent(path, files: ["/in,out/a", "/in,out/b"]),
        ]
        try scratch.turn(epoch) { tx in
            for var task in try tx.tasks.facts().snapshot.tasks {
                for event in events { task.fire(event, now: .start + 1) }
                try TaskRows(connection: tx.connection).write(task, now: .start + 1)
            }
        }
        #expect(try waiting().trigger?.events == events)
    }

    private func waiting() throws -> StoredTask {
        try #require(try scratch.store.tasks.waiting(for: "h").first)
    }

    private func dueAt() throws -> Timestamp { try waiting().timing.dueAt }

    /// One unknown identifier refuses all, and the known one still waits.
    @Test func anUnknownTaskIsRefused() throws {
        _ = try submit()
        let tasks = scratch.store.tasks
        #expect(try refusal { try tasks.cancel(["t", "u"]) }.code == .noSuchTask)
        #expect(try refusal { try tasks.simulateLaunch(of: "u") }.code == .noSuchTask)
        #expect(try refusal { try tasks.simulateExpiration(of: "u") }.code == .noSuchTask)
        #expect(try waiting().request.identifier == "t")
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

    /// After a failure as before one: a change shortens no back-off, nor does it begin anew what
    /// is over and waits for a requirement.
    @Test func aLinkThatComesAndGoesPutsNoFailedRunOff() throws {
        let task = try submit()
        try fire([.online], at: .start + 10)
        try launch(task, at: .start + 15, LaunchOutcome(.exited, status: 1))
        let due = Timestamp.start + 77
        for second in [20, 75, 76, 80, 200.0] {
            try fire([.networkChange], at: .start + second)
            #expect(try dueAt() == due)
        }
        #expect(try begun(at: .start + 200) == 1)
    }

    /// All that has happened is told, in order, also when a launch that was to tell of it fails.
    @Test func allThatHappensMeanwhileIsTold() throws {
        let task = try submit()
        try fire([.online, .networkChange], at: .start + 10)
        #expect(try waiting().trigger?.triggers == [.online, .networkChange])
        try fire([.online], at: .start + 12)
        #expect(try waiting().trigger?.triggers == [.networkChange, .online])
        #expect(try waiting().trigger?.at == .start + 12)
        try launch(task, at: .start + 15, LaunchOutcome(.exited, status: 1)) { tx in
            try fire([.networkChange], at: .start + 16, tx)
        }
        #expect(try waiting().trigger?.triggers == [.online, .networkChange])
        let run = try #require(try scratch.store.tasks.runs(of: "t", host: "h").first)
        #expect(run.triggers == [.networkChange, .online] && run.trigger == .online)
    }

    // MARK: - Wake-ups

    /// The number of tasks that begin.
    private func begun(at now: Timestamp) throws -> Int {
        try scratch.decide(epoch, at: now).starts.reduce(0) { $0 + $1.tasks.count }
    }

    @Test(arguments: [(1, 0), (4.9, 0), (7, 2), (9, 4), (10, 5), (60, 5), (nil, 5)])
    func aWakeUpIsHandedOverBeforeItExpires(_ expires: Double?, _ due: Double) throws {
        let wakeUp = WakeUp(expiresAt: expires.map { .start + $0 })
        try scratch.store.tasks.wake("h", wakeUp, now: .start)
        #expect(try dueAt() == .start + due)
        #expect(try begun(at: .start + due) == 1)
    }

    /// One that waits is not put off by the next one.
    @Test func theNextWakeUpComesNoLaterThanTheOneBefore() throws {
        try scratch.store.tasks.wake("h", WakeUp(expiresAt: .start + 3), now: .start)
        try scratch.store.tasks.wake("h", WakeUp(), now: .start + 1)
        #expect(try dueAt() == .start + 1)
    }

    @Test func whatWasDroppedIsRememberedWithWhy() throws {
        let tasks = scratch.store.tasks
        for (number, second) in [30.0, 60].enumerated() {
            try tasks.wake(
                "h",
                WakeUp(
                    identifier: "\(number)", isUrgent: number == 1, expiresAt: .start + second),
                now: .start)
            #expect(try begun(at: .start + second) == 0 && tasks.waiting(for: "h").isEmpty)
        }
        let ends = try tasks.wakeUpEnds(of: "h")
        #expect(ends.map(\.identifier) == ["1", "0"])
        #expect(ends.map(\.obstacle) == [.engine, .engine])
        #expect(ends.map(\.at) == [.start + 60, .start + 30])
        #expect(ends.allSatisfy { $0.launch == nil } && ends[0].isUrgent)
    }

    @Test func whatWasNotHandledIsRememberedAndComesAgain() throws {
        for number in 0..<12 {
            try scratch.store.tasks.wake("h", WakeUp(identifier: "\(number)"), now: .start)
            let task = try #require(
                try scratch.store.tasks.waiting(for: "h").first {
                    $0.request.identifier == "\(number)"
                })
            try launch(
                task, id: Int64(number + 1), at: .start + 5, LaunchOutcome(.exited, status: 1))
        }
        #expect(try scratch.store.tasks.waiting(for: "h").count == 12)
        let ends = try scratch.store.tasks.wakeUpEnds(of: "h")
        #expect(ends.map(\.launch?.rawValue) == Array((3...12).reversed()))
        try scratch.store.hosts.remove("h")
        #expect(try scratch.store.tasks.wakeUpEnds(of: "h").isEmpty)
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
        _ task: StoredTask, id number: Int64 = 1, at now: Timestamp, _ outcome: LaunchOutcome,
        meanwhile: (borrowing EngineTransaction) throws -> Void = { _ in }
    ) throws {
        let id = LaunchID(rawValue: number)
        var handover = Handover(session: nil, reason: .task, events: nil, count: 0)
        handover.tasks = [task.id]
        try scratch.turn(epoch) { tx in
            try tx.launches.begin(
                id, of: "h", handover, process: nil, deadline: now + 60, now: now)
            try meanwhile(tx)
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
        #expect(run.exitStatus == 0)
        #expect(try scratch.store.hosts.find("h")?.failures == 0)
    }

    // MARK: - Resets

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
            #expect(try tx.carriedTasks.settle("t", of: id, end, now: .start + 1))
        }
    }

    @Test func aRequestThatRepeatsIsDueAndKeepsItsWindow() throws {
        var request = TaskRequest(identifier: "t", host: "h")
        request.repetition = TaskRepetition(interval: 20, tolerance: 20)
        try run(request, .result(.failure))
        #expect(try waiting().timing.dueAt == .start + 61)
        try scratch.store.hosts.reset("h", now: .start + 2)
        let task = try waiting()
        #expect(task.timing.failures == 0)
        #expect(task.timing.dueAt == .start + 2 && task.timing.mayBeginAt == .start + 2)
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
        #expect(try waiting().timing.dueAt == .distantFuture)
    }
}
