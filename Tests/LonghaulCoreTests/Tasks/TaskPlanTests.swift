import LonghaulCore
import LonghaulTestValues
import Testing

/// Which tasks begin, end or change, and when to decide again: a row has one task of the host `h`,
/// a host, conditions, and the decision.
@Suite struct TaskPlanTests {
    private static let start = Timestamp(milliseconds: 1_767_225_600_000)
    private var start: Timestamp { Self.start }

    private static func task(
        _ id: Int64 = 1, host: String = "h", _ edit: (inout StoredTask) -> Void = { _ in }
    ) -> StoredTask {
        let request = TaskRequest(identifier: "t\(id)", kind: .processing, host: host)
        var task = StoredTask(
            id: TaskID(rawValue: id), kind: .processing, request: request, host: host,
            timing: TaskTiming(dueAt: start), submittedAt: start)
        edit(&task)
        task.eligibility = task.request.eligibility.eligibility
        return task
    }

    private static func decide(
        _ tasks: [StoredTask], at second: Double = 0,
        host: (inout HostFacts) -> Void = { _ in },
        world: (inout TaskSnapshot, inout ConditionSnapshot, inout TaskNews) -> Void = { _, _, _ in
        }
    ) -> TaskPlan {
        var snapshot = TaskSnapshot()
        snapshot.tasks = tasks
        for task in tasks { snapshot.hosts[task.host] = HostFacts(name: task.host) }
        var facts = HostFacts(name: "h")
        host(&facts)
        snapshot.hosts["h"] = facts
        var conditions = ConditionSnapshot.favourable
        var news = TaskNews()
        world(&snapshot, &conditions, &news)
        return TaskPlan.decide(snapshot, conditions, news, now: start + second)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        typealias World =
            @Sendable (inout TaskSnapshot, inout ConditionSnapshot, inout TaskNews) -> Void

        let testDescription: String
        let second: Double
        let task: @Sendable (inout StoredTask) -> Void
        let host: @Sendable (inout HostFacts) -> Void
        let world: World
        let begins: Bool
        /// Seconds after the start.
        let next: Double?
        let end: TaskChanges.End?
        let reasons: [WaitReason.Reason]

        init(
            _ name: String, at second: Double = 0,
            task: @escaping @Sendable (inout StoredTask) -> Void = { _ in },
            host: @escaping @Sendable (inout HostFacts) -> Void = { _ in },
            world: @escaping World = { _, _, _ in }, begins: Bool = false, next: Double? = nil,
            end: TaskChanges.End? = nil, reasons: [WaitReason.Reason] = []
        ) {
            testDescription = name
            self.second = second
            self.task = task
            self.host = host
            self.world = world
            self.begins = begins
            self.next = next
            self.end = end
            self.reasons = reasons
        }
    }

    /// A job with one retry.
    private static func hasFailed(_ times: Int) -> @Sendable (inout StoredTask) -> Void {
        {
            $0.request.job = JobSchedule()
            $0.request.job?.retries = 1
            $0.timing.failures = times
            $0.timing.dueAt = start + 60
        }
    }

    private static let onBattery: Row.World = { _, conditions, _ in
        conditions.conditions.power.value = .battery
    }
    private static let noPlace: Row.World = { snapshot, _, _ in snapshot.placesForTasks = 0 }
    private static let powerChanges: Row.World = { _, _, news in news.changed.insert(.power) }

    private static func transfer(_ state: TransferState) -> Row.World {
        { snapshot, _, _ in snapshot.transfers[TransferID(rawValue: 7)] = state }
    }

    private static func requires(_ task: inout StoredTask) {
        task.request.requirements.power = true
    }

    private static func prefers(_ task: inout StoredTask) {
        task.request.repetition = TaskRepetition(interval: 3600)
        task.timing.waivesAt = start + 90
    }

    private static func awaits(_ task: inout StoredTask) {
        task.awaits = [TransferID(rawValue: 7)]
        task.timing.dueAt = .distantFuture
    }

    private static func isPutOff(_ task: inout StoredTask) {
        requires(&task)
        task.timing.dueAt = start + 60
        task.timing.deferrals = 3
    }

    private static func isWakeUp(_ task: inout StoredTask) {
        task.kind = .wakeUp
        task.expiresAt = start + 30
    }

    private static func isUrgent(_ task: inout StoredTask) {
        task.kind = .wakeUp
        task.isUrgent = true
    }

    private static func stands(_ task: inout StoredTask) {
        task.request.triggers = [.power]
        task.timing.dueAt = .distantFuture
    }

    private static func hasFailed(_ host: inout HostFacts) {
        host.failures = 1
        host.retryAt = start + 50
    }

    static let time: [Row] = [
        Row("due", begins: true),
        Row("later", task: { $0.timing.dueAt = start + 60 }, next: 60, reasons: [.earliestBegin]),
        Row(
            "after a failure",
            task: {
                $0.timing.dueAt = start + 60
                $0.timing.failures = 1
            }, next: 60, reasons: [.backoff]),
        Row("a job between its retries", task: hasFailed(1), next: 60, reasons: [.backoff]),
        Row("a job after its last retry", task: hasFailed(2), next: 60, reasons: [.earliestBegin]),
        Row("put off", task: isPutOff, next: 60, reasons: [.backoff]),
        Row("put off, and a condition changes", task: isPutOff, world: powerChanges, begins: true),
        Row(
            "stopped, and a condition changes",
            task: {
                isPutOff(&$0)
                $0.wasStopped = true
            }, world: powerChanges, next: 60, reasons: [.backoff]),
        Row(
            "stopped, and a condition settles",
            task: {
                requires(&$0)
                $0.timing.deferrals = 3
                $0.wasStopped = true
            },
            world: { _, _, news in
                news.settling = [(kinds: [.power], until: start + 5)]
            }, next: 5),
        Row(
            "a clock that was set back",
            task: {
                $0.timing.dueAt = start + 3600
                $0.writtenAt = start + 3590
            }, world: { _, _, news in news.clockWentBack = true }, next: 10,
            reasons: [.earliestBegin]),
        Row("a trigger that has not fired", task: stands, reasons: [.trigger]),
        Row(
            "a trigger that fires", task: stands,
            world: { snapshot, _, news in
                var world = WorldFacts()
                world.power = .battery
                snapshot.world = world
                world.power = .external
                news.world = world
            }, next: 5, reasons: [.earliestBegin]),
        Row("a transfer that runs", task: awaits, world: transfer(.running), reasons: [.transfers]),
        Row("a transfer that completes", task: awaits, world: transfer(.completed), begins: true),
        Row(
            "a transfer that was removed", task: awaits,
            end: .missedTransfer(TransferID(rawValue: 7))),
        Row("a deadline", at: 30, task: { $0.expiresAt = start + 30 }, end: .missedDeadline),
    ]

    static let conditions: [Row] = [
        Row("a requirement", task: requires, world: onBattery, reasons: [.power]),
        Row(
            "a requirement that was not read", task: requires,
            world: { _, conditions, _ in conditions.conditions.power = .unknown },
            reasons: [.power]),
        Row(
            "a network that settles", task: { $0.request.requirements.network = true },
            world: { _, conditions, _ in conditions.networkSettlesAt = start + 3 }, next: 3,
            reasons: [.network]),
        Row(
            "asked for without a requirement",
            task: {
                requires(&$0)
                $0.isSimulated = true
            }, world: onBattery, begins: true, reasons: [.power]),
        Row("a preference", task: prefers, world: onBattery, next: 90, reasons: [.power]),
        Row("a preference that is over", at: 90, task: prefers, world: onBattery, begins: true),
        Row("paused", task: { $0.isPaused = true }),
        Row(
            "paused and asked for",
            task: {
                $0.isPaused = true
                $0.isSimulated = true
            }, begins: true),
    ]

    static let hosts: [Row] = [
        Row("its host runs", host: { $0.isBusy = true }, reasons: [.host]),
        Row("its host has failed", host: hasFailed, next: 50, reasons: [.backoff]),
        Row("a missing program", host: { $0.obstacle = .missing }, reasons: [.host]),
        Row(
            "a resident process",
            host: {
                $0.obstacle = .missing
                $0.hasResident = true
            }, begins: true),
        Row("no place", world: noPlace, reasons: [.concurrency]),
        Row("urgent", task: isUrgent, host: hasFailed, world: noPlace, begins: true),
        Row(
            "urgency that was lost", task: isUrgent,
            host: {
                hasFailed(&$0)
                $0.urgencyLostUntil = start + 99
            }, next: 50, reasons: [.backoff]),
        Row("expired without an engine", at: 30, task: isWakeUp, end: .expired(.engine)),
        Row(
            "expired while its host runs", at: 30, task: isWakeUp, host: { $0.isBusy = true },
            end: .expired(.host)),
        Row(
            "expired before its host is tried again", at: 30, task: isWakeUp, host: hasFailed,
            end: .expired(.backoff)),
    ]

    @Test(arguments: time + conditions + hosts) func oneTask(_ row: Row) {
        let task = Self.task(1, row.task)
        let plan = Self.decide([task], at: row.second, host: row.host, world: row.world)
        #expect(plan.starts.flatMap(\.tasks).map(\.id) == (row.begins ? [task.id] : []))
        #expect(plan.changes.ended.map(\.end) == [row.end].compactMap { $0 })
        #expect(plan.outlook.next == row.next.map { start + $0 })
        // It could have waited.
        #expect(plan.requested == (task.isSimulated ? [task.id] : []))
        if row.end != nil { return }
        let awaits = task.awaits.isEmpty || row.begins
        let reasons = plan.reasons(
            of: task, transfers: awaits ? nil : WaitReason(.transfers, required: ""))
        #expect(reasons.map(\.reason) == row.reasons)
    }

    /// Of the same host and of others.
    @Test func openWindowsGoAlong() {
        func window(_ id: Int64, _ host: String, open: Double, due: Double) -> StoredTask {
            Self.task(id, host: host) {
                $0.request.repetition = TaskRepetition(interval: 86_400)
                $0.timing.window = start + -1000
                ($0.timing.mayBeginAt, $0.timing.dueAt) = (start + open, start + due)
            }
        }
        let tasks = [
            window(1, "h", open: 100, due: 200), window(2, "open", open: 150, due: 900),
            window(3, "late", open: 201, due: 300),
        ]
        func begin(
            _ tasks: [StoredTask], at second: Double, host: (inout HostFacts) -> Void = { _ in },
            isAwake: Bool = false
        ) -> Set<String> {
            let plan = Self.decide(tasks, at: second, host: host) { $2.isAwake = isAwake }
            return Set(plan.starts.map(\.host))
        }
        #expect(begin(tasks, at: 199) == [])
        #expect(begin(tasks, at: 200) == ["h", "open"])
        #expect(begin(tasks, at: 199, isAwake: true) == ["h", "open"])
        // What cannot be launched is no reason for others to begin.
        #expect(begin(tasks, at: 200, host: { $0.isBusy = true }) == [])
        // A single request takes along what is of its own host.
        let single = Self.task(4) { $0.timing.dueAt = start + 160 }
        #expect(begin(tasks + [single], at: 160) == ["h"])
        let plan = Self.decide(tasks + [single], at: 160)
        #expect(plan.starts.first?.tasks.map(\.id.rawValue) == [4, 1])
    }

    @Test func triggersAreRecordedInOrderAndPutNothingOff() {
        var task = Self.task(1) {
            $0.request.triggers = [.power, .resume]
            $0.timing.dueAt = .distantFuture
        }
        var world = WorldFacts()
        world.power = .battery
        for (second, resumes) in [(10.0, 1), (12, 2), (14, 3)] {
            let plan = Self.decide([task], at: second, host: { _ in }) { snapshot, _, news in
                snapshot.world = world
                world.resumes = resumes
                world.power = .external
                news.world = world
            }
            #expect(plan.changes.world == world && plan.hasWrites)
            task = plan.changes.written.first ?? task
            #expect(task.timing.dueAt == start + 15)
        }
        #expect(task.trigger?.triggers == [.power, .resume])
        // Without a standing request nothing is remembered.
        let plan = Self.decide([Self.task()], host: { _ in }) { snapshot, _, news in
            snapshot.world = world
            news.world = world
        }
        #expect(plan.changes.world == nil && plan.hasWrites)
    }

    /// A refresh waits for the use of its host, and begins along with other work of it.
    @Test func aRefreshWaitsForTheUseOfItsHost() {
        var usage = UsageHistogram(observedSince: start)
        for day in 0..<21 { usage.record(start + Double(day) * 86_400 + 18 * 3600, .utc) }
        let today = 21.0 * 86_400
        let refresh = Self.task(1) {
            ($0.kind, $0.request.kind) = (.refresh, .refresh)
            $0.request.repetition = TaskRepetition(interval: 900, tolerance: 0)
            ($0.timing.dueAt, $0.timing.mayBeginAt) = (start + today, start + today)
        }
        func decide(_ tasks: [StoredTask], hour: Double) -> TaskPlan {
            Self.decide(tasks, at: today + hour * 3600, host: { _ in }) { snapshot, _, _ in
                snapshot.usages["h"] = usage
            }
        }
        let morning = decide([refresh], hour: 8)
        let next = (morning.outlook.next ?? start) - start - today
        #expect(morning.starts.isEmpty && next > 16 * 3600 && next <= 18 * 3600)
        #expect(decide([refresh], hour: 12).outlook.next == morning.outlook.next)
        #expect(decide([refresh], hour: next / 3600).starts.count == 1)
        let clean = Self.task(2)
        #expect(decide([refresh, clean], hour: 8).starts.first?.tasks.count == 2)
    }

    @Test func aJobWaitsForItsWindow() throws {
        let window = try #require(TimeWindows(parsing: "00:10-00:20"))
        let job = Self.task(1) {
            $0.request.job = JobSchedule()
            $0.request.job?.windows = window
        }
        for (second, begins, next) in [
            (1.0, false, 600.0), (600, true, nil), (1200, false, 87_000),
        ]
            as [(Double, Bool, Double?)]
        {
            let plan = Self.decide([job], at: second)
            #expect(!plan.starts.isEmpty == begins)
            #expect(plan.outlook.next == next.map { start + $0 })
        }
    }
}
