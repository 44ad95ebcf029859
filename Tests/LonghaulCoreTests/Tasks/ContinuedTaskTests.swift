import LonghaulCore
import LonghaulTestValues
import Testing

/// Continued tasks: which requests and reports make sense, when one begins, when its silence ends
/// it, and what its end means.
@Suite struct ContinuedTaskTests {
    private static let start = Timestamp(milliseconds: 1_767_225_600_000)
    private var start: Timestamp { Self.start }
    private let begin = Instant(nanoseconds: 5_000_000_000)

    private static func report(_ completed: Int64, _ total: Int64) -> ProgressReport {
        ProgressReport(TaskProgress(completedUnitCount: completed, totalUnitCount: total))
    }

    // MARK: - Reports

    @Test(
        arguments: [
            (report(0, 1), true), (report(1, 1), true), (report(5, 1 << 53), true),
            (report(-1, 1), false), (report(2, 1), false), (report(0, 0), false),
            (report(0, -1), false), (report(.min, .max), false), (report(0, 1 << 53 + 1), false),
            (ProgressReport(), false), (ProgressReport(title: "t"), true),
            (ProgressReport(title: ""), false), (ProgressReport(subtitle: ""), true),
            (ProgressReport(title: String(repeating: "t", count: 256)), true),
            (ProgressReport(title: String(repeating: "t", count: 257)), false),
            (ProgressReport(subtitle: String(repeating: "t", count: 257)), false),
            (ProgressReport(title: "a\nb"), false), (ProgressReport(title: "\u{1B}[2J"), false),
            (
                ProgressReport(TaskProgress(completedUnitCount: 2, totalUnitCount: 1), title: "t"),
                false
            ),
        ] as [(ProgressReport, Bool)])
    func aReportMakesSense(report: ProgressReport, isValid: Bool) {
        #expect(report.isValid == isValid)
        var run = ContinuedRun("t", now: begin)
        run.receive(report, now: begin + 10)
        let isProgress = isValid && report.progress != nil
        #expect(run.silentUntil == begin + (isProgress ? 70 : 60))
        #expect((run.recordsAt != nil) == isValid)
    }

    @Test func percentIsRoundedDown() {
        #expect(TaskProgress(completedUnitCount: 999, totalUnitCount: 1000).percent == 99)
        #expect(TaskProgress(completedUnitCount: 1, totalUnitCount: 1).percent == 100)
        #expect(TaskProgress(completedUnitCount: 1, totalUnitCount: 0).fractionCompleted == 0)
    }

    /// The first report is recorded at once, and of those in the next second the last values.
    @Test func oneReportASecondIsRecorded() {
        var run = ContinuedRun("t", now: begin)
        #expect(run.due(now: begin) == nil)
        run.receive(Self.report(1, 9), now: begin)
        #expect(run.due(now: begin) == Self.report(1, 9))
        run.record(now: begin)
        run.receive(ProgressReport(title: "new"), now: begin + 0.1)
        run.receive(Self.report(2, 9), now: begin + 0.2)
        run.receive(Self.report(3, 9), now: begin + 0.3)
        #expect(run.due(now: begin + 0.9) == nil && run.recordsAt == begin + 1)
        let both = ProgressReport(
            TaskProgress(completedUnitCount: 3, totalUnitCount: 9), title: "new")
        #expect(run.due(now: begin + 1) == both)
        run.record(now: begin + 1)
        #expect(run.due(now: begin + 100) == nil && run.recordsAt == nil)
    }

    /// The row of a resident process's run: more reports are progress, a row that is gone is none.
    @Test(arguments: [(4, 70), (3, 60), (0, 60)])
    func reportsAreCountedInTheStore(count: Int, silentUntil: Double) {
        var run = ContinuedRun("t", reports: 3, now: begin)
        run.receive(reports: count, now: begin + 10)
        #expect(run.silentUntil == begin + silentUntil)
    }

    // MARK: - Requests

    private static func request(
        _ edit: (inout TaskRequest) -> Void = { _ in }
    ) -> TaskRequest {
        var request = TaskRequest(
            identifier: "export.7", continued: ContinuedWork(title: "Export"), host: "h")
        edit(&request)
        return request
    }

    @Test(
        arguments: [
            request { $0.continued?.title = "" }, request { $0.continued?.title = "a\u{7}" },
            request { $0.continued?.subtitle = String(repeating: "s", count: 257) },
            request { $0.repetition = TaskRepetition(interval: 60) },
            request { $0.triggers = [.online] }, request { $0.earliestBegin = start },
            request { $0.continued = nil }, request { $0.kind = .processing },
        ])
    func aRequestIsRefused(request: TaskRequest) {
        #expect(request.defect != nil)
    }

    @Test func aRequestMakesSense() {
        #expect(Self.request().defect == nil)
        #expect(Self.request { $0.requirements.power = true }.defect == nil)
    }

    @Test(
        arguments: [
            (["export.7"], "export.7", true, true), (["export.*"], "export.7", true, false),
            (["export.*"], "export.a.b", true, false), (["export.*"], "export.", false, false),
            (["export.*"], "export", false, false), (["export.*"], "exports.7", false, false),
            (["export.*"], "export.*", false, false), (["*"], "export.7", false, false),
            ([], "export.7", false, false),
        ] as [([String], String, Bool, Bool)])
    func wildcardsPermitContinuedTasks(
        permitted: [String], identifier: String, continued: Bool, refresh: Bool
    ) {
        let host = HostSettings(argv: ["/h"], permitted: permitted)
        #expect(host.permits(Self.request { $0.identifier = identifier }) == continued)
        #expect(host.permits(TaskRequest(identifier: identifier)) == refresh)
    }

    // MARK: - The plan

    private static func task(
        _ id: Int64 = 1, _ request: TaskRequest = request()
    ) -> StoredTask {
        let kind: DueTask.Kind = request.kind == .continued ? .continued : .refresh
        return StoredTask(
            id: TaskID(rawValue: id), kind: kind, request: request, host: "h",
            timing: TaskTiming(dueAt: start), submittedAt: start)
    }

    private func decide(
        _ tasks: [StoredTask], _ host: (inout HostFacts) -> Void = { _ in }, places: Int = 16
    ) -> TaskPlan {
        var snapshot = TaskSnapshot()
        snapshot.tasks = tasks
        var facts = HostFacts(name: "h")
        host(&facts)
        snapshot.hosts["h"] = facts
        snapshot.placesForTasks = places
        return TaskPlan.decide(snapshot, .favourable, TaskNews(), now: start)
    }

    @Test func itBeginsAlone() {
        let other = Self.task(1, TaskRequest(identifier: "refresh", host: "h"))
        let plan = decide([other, Self.task(2)]) {
            var session = WaitingSession(name: "s", firstWaiting: start)
            session.isDrained = true
            $0.sessions = [session]
        }
        #expect(plan.starts.count == 1 && plan.begins(Self.task(2)) && !plan.begins(other))
        #expect(plan.starts.first?.session == nil && plan.starts.first?.reason == .task)
        let program = LaunchedProgram.host(HostSettings(argv: ["/h"], taskBudget: 5))
        #expect(plan.starts.first.map(program.budget) == 60)
    }

    @Test func itPassesTheBackOffOfItsHost() {
        let plan = decide(
            [Self.task()],
            {
                $0.failures = 1
                $0.retryAt = start + 50
            }, places: 0)
        #expect(plan.begins(Self.task()))
    }

    @Test(arguments: ["busy", "missing", "power"])
    func itWaits(what: String) {
        var snapshot = TaskSnapshot()
        var task = Self.task(1, Self.request { $0.requirements.power = what == "power" })
        task.eligibility = task.request.eligibility.eligibility
        snapshot.tasks = [task]
        var facts = HostFacts(name: "h")
        facts.isBusy = what == "busy"
        facts.obstacle = what == "missing" ? .missing : nil
        snapshot.hosts["h"] = facts
        let reason: WaitReason.Reason = what == "power" ? .power : .host
        var conditions = ConditionSnapshot.favourable
        conditions.conditions.power.value = .battery
        let plan = TaskPlan.decide(snapshot, conditions, TaskNews(), now: start)
        #expect(!plan.begins(task))
        #expect(plan.reasons(of: task, transfers: nil).map(\.reason) == [reason])
    }

    @Test func aRunIsStopped() {
        var task = Self.task()
        task.launch = LaunchID(rawValue: 7)
        task.isSimulated = true
        task.isCancelled = true
        let plan = decide([task]) { $0.isBusy = true }
        #expect(plan.expirations.map(\.launch) == [LaunchID(rawValue: 7)])
        #expect(plan.expirations.map(\.reason) == [.cancelled])
    }

    // MARK: - Ends

    @Test(
        arguments: [
            (.result(.success), true), (.result(.noData), true), (.result(.failure), true),
            (.expired(.progress), true), (.expired(.cancelled), true), (.expired(.time), true),
            (.expired(.simulated), true), (.result(.deferred), false), (.lost, false),
            (.expired(.requirement), false),
        ] as [(TaskEnd, Bool)])
    func anEndIsTheLast(end: TaskEnd, isLast: Bool) {
        let decision = TaskSettlement.decide(
            Self.request(), TaskTiming(dueAt: start), end, started: start, place: 0,
            now: start + 10)
        #expect((decision == .done) == isLast)
    }
}
