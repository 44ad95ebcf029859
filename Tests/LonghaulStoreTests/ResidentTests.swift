import LonghaulCore
import Testing

@testable import LonghaulStore

/// Launches that are handed to processes that run by themselves, and their reports.
@Suite struct ResidentTests {
    private let scratch: ScratchStore
    private let epoch: Epoch
    private let resident: StoredResident
    private static let id = LaunchID(rawValue: 1)

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
        try scratch.store.hosts.add(
            "h", HostSettings(argv: ["/bin/true"], permitted: ["a", "b"]), now: .start)
        resident = try scratch.store.residents.enter("h", Self.process(7)) { _ in true }
        for name in ["a", "b"] {
            _ = try scratch.store.tasks.submit(
                TaskRequest(identifier: name, kind: .processing, host: "h"), now: .start)
        }
        try scratch.store.tasks.wake("h", WakeUp(isUrgent: true), now: .start)
    }

    private static func process(_ pid: Int32) -> LaunchedProcess {
        LaunchedProcess(pid: pid, startTicks: 8, bootID: "b")
    }

    @discardableResult private func begin() throws -> Bool {
        var handover = Handover(session: nil, reason: .task, events: nil, count: 0)
        handover.tasks = try scratch.store.tasks.waiting(for: "h").map(\.id)
        handover.resident = resident.id
        var hasBegun = false
        try scratch.turn(epoch) { tx in
            hasBegun = try tx.launches.begin(
                Self.id, of: "h", handover, process: resident.process, deadline: .start + 30,
                now: .start)
        }
        return hasBegun
    }

    private func end(_ outcome: LaunchOutcome) throws -> LaunchOutcome {
        var recorded = outcome
        try scratch.turn(epoch) { tx in
            recorded = try tx.launches.end(Self.id, outcome, now: .start + 2)
        }
        #expect(try scratch.store.residents.reports().isEmpty)
        return recorded
    }

    private func say(_ content: LaunchReport.Content) throws -> Bool {
        try scratch.store.residents.add(LaunchReport(launch: Self.id, content: content))
    }

    private func result(_ task: String) throws -> TaskResult? {
        try scratch.store.tasks.runs(of: task, host: "h").first?.result
    }

    private var waiting: [String] {
        get throws { try scratch.store.tasks.waiting(for: "h").map(\.request.identifier).sorted() }
    }

    @Test func nothingIsHandedToAProcessThatHasLeft() throws {
        try scratch.store.residents.leave(resident.id)
        #expect(try !begin())
        #expect(try scratch.store.hosts.openLaunches().isEmpty)
        #expect(try waiting == ["", "a", "b"])
    }

    @Test func rowsOfDeadProcessesGo() throws {
        let other = try scratch.store.residents.enter("h", Self.process(9)) { $0.pid != 7 }
        #expect(try scratch.store.residents.all(of: "h") == [other])
        #expect(throws: LonghaulError.self) {
            try scratch.store.residents.enter("x", Self.process(9)) { _ in true }
        }
    }

    /// Before the engine has looked: whatever became of the process counts after it.
    @Test func whatWasSaidCountsAfterTheProcessIsDead() throws {
        try begin()
        #expect(try scratch.store.residents.launch(of: resident.id)?.tasks.count == 3)
        #expect(try say(.result(task: "a", .noData)))
        #expect(try !say(.result(task: "a", .failure)), "the first result counts")
        #expect(try !say(.result(task: "x", .failure)), "it carries no such task")
        #expect(try scratch.store.residents.openTasks(of: Self.id) == 1)
        #expect(try end(LaunchOutcome(.unknown)).ending == .unknown)
        #expect(try result("a") == .noData)
        #expect(try result("b") == nil)
        #expect(try waiting == ["", "b"])
        #expect(try scratch.store.hosts.find("h")?.failures == 0)
        // The process is dead, or does not listen.
        #expect(try !scratch.store.residents.isPresent(resident.id))
        #expect(try !say(.result(task: "b", .success)), "the launch has ended")
    }

    @Test(
        arguments: [
            (0, nil, LaunchEnding.exited), (1, nil, .exited), (0, .time, .exited),
            (1, .time, .expired), (1, .simulated, .expired),
        ] as [(Int, ExpirationReason?, LaunchEnding)])
    func anEndThatWasSaidCounts(
        status: Int, asked: ExpirationReason?, ending: LaunchEnding
    ) throws {
        try begin()
        if let asked {
            try scratch.turn(epoch) { tx in try tx.launches.askToEnd(Self.id, asked) }
            #expect(try scratch.store.residents.course(of: Self.id) == .expired(asked))
        }
        #expect(try say(.ended(status: status)))
        #expect(try scratch.store.residents.launch(of: resident.id) == nil, "it is done with it")
        let outcome = try end(LaunchOutcome(.unknown))
        #expect(outcome.ending == ending)
        #expect(outcome.status == status)
        #expect(try waiting.contains("") == (status != 0), "the wake-up was handled")
        #expect(try scratch.store.residents.course(of: Self.id) == .ended)
        #expect(try scratch.store.residents.isPresent(resident.id))
    }

    @Test func whoLeavesGivesBackWhatHasNoResult() throws {
        try begin()
        #expect(try say(.result(task: "b", .success)))
        try scratch.store.residents.leave(resident.id)
        let reports = try scratch.store.residents.reports().map(\.content)
        #expect(reports == [.result(task: "b", .success), .ended(status: nil)])
        #expect(try end(LaunchOutcome(.unknown)).ending == .unknown)
        #expect(try waiting == ["", "a"])
        #expect(try scratch.store.hosts.find("h")?.failures == 0)
    }

    /// A wake-up that is given back in time is as urgent as before; a process that dies, or that
    /// was to end, has not handled it.
    @Test(
        arguments: [(true, nil, true), (false, nil, false), (true, .time, false)]
            as [(Bool, ExpirationReason?, Bool)])
    func urgencyIsGivenBack(leaves: Bool, asked: ExpirationReason?, isUrgent: Bool) throws {
        try begin()
        if let asked {
            try scratch.turn(epoch) { tx in try tx.launches.askToEnd(Self.id, asked) }
        }
        if leaves { try scratch.store.residents.leave(resident.id) }
        _ = try end(LaunchOutcome(asked == nil ? .unknown : .expired))
        let wakeUp = try scratch.store.tasks.waiting(for: "h").first { $0.kind == .wakeUp }
        #expect(wakeUp?.isUrgent == isUrgent)
        #expect(wakeUp?.timing.dueAt == .start + 2)
    }
}
