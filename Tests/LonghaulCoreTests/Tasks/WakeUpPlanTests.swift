import LonghaulCore
import LonghaulTestValues
import Testing

/// Plain wake-ups are polite, urgent ones are not: wake-ups of the host `h`, its budget and the
/// machine, and which of them a launch begins with.
@Suite struct WakeUpPlanTests {
    private static let start = Timestamp(milliseconds: 1_767_225_600_000)

    private static func row(_ id: Int64, _ wakeUp: WakeUp) -> StoredTask {
        let (request, isUrgent, expiresAt, timing) = wakeUp.request(replacing: nil, now: start)
        var task = StoredTask(
            id: TaskID(rawValue: id), kind: .wakeUp, request: request, host: "h", timing: timing,
            submittedAt: start)
        (task.isUrgent, task.expiresAt) = (isUrgent, expiresAt)
        return task
    }

    private static func decide(
        _ wakeUps: [WakeUp], at second: Double, budget: Double? = nil, _ power: PowerSource,
        saves: Bool = false, failedUntil: Double? = nil
    ) -> TaskPlan {
        var snapshot = TaskSnapshot()
        snapshot.tasks = zip(1..., wakeUps).map { row($0, $1) }
        var host = HostFacts(name: "h")
        host.wakeUpBudget = WakeUpBudget(fullAt: budget.map { start + $0 })
        host.retryAt = failedUntil.map { start + $0 }
        host.failures = failedUntil == nil ? 0 : 5
        snapshot.hosts["h"] = host
        var conditions = ConditionSnapshot.favourable
        conditions.conditions.power.value = power
        conditions.conditions.savesPower.value = saves
        return TaskPlan.decide(snapshot, conditions, TaskNews(), now: start + second)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var wakeUps = [WakeUp()]
        var second = 6.0
        /// Seconds after the start until the host has all its launches again.
        var budget: Double?
        var power = PowerSource.external
        var saves = false
        var failedUntil: Double?
        /// Numbers of the wake-ups that begin.
        var begins: [Int64] = []
        /// What the first one waits for.
        var reasons: [WaitReason.Reason] = []
        /// When to decide again, seconds after the start.
        var next: Double?
    }

    private static let urgent = WakeUp(identifier: "u", isUrgent: true)
    private static let anywhere: WakeUp = {
        var wakeUp = WakeUp()
        wakeUp.prefers = ConditionNeeds()
        return wakeUp
    }()
    private static func requiring(_ mount: String) -> WakeUp {
        var wakeUp = WakeUp()
        wakeUp.requires.mounts = [mount]
        return wakeUp
    }

    static let rows: [Row] = [
        Row(testDescription: "others are awaited", second: 1, reasons: [.earliestBegin], next: 5),
        Row(testDescription: "it is handed over", begins: [1]),
        Row(
            testDescription: "on battery it waits a day", power: .battery, reasons: [.power],
            next: 86_400),
        Row(
            testDescription: "after a day it waits no longer", second: 86_400, power: .battery,
            begins: [1]),
        Row(
            testDescription: "it waits while power is saved", saves: true, reasons: [.saver],
            next: 86_400),
        Row(
            testDescription: "without preferences the battery serves", wakeUps: [anywhere],
            power: .battery, begins: [1]),
        Row(testDescription: "three launches were used", budget: 3600, begins: [1]),
        Row(
            testDescription: "four launches were used", budget: 4800, reasons: [.budget],
            next: 1200),
        Row(
            testDescription: "one launch is there again", second: 1200, budget: 4800, begins: [1]),
        Row(
            testDescription: "an urgent one waits for nothing", wakeUps: [urgent], second: 0,
            budget: 4800, power: .battery, saves: true, begins: [1]),
        Row(
            testDescription: "an urgent one takes others along", wakeUps: [WakeUp(), urgent],
            second: 0, budget: 4800, power: .battery, saves: true, begins: [2, 1]),
        Row(
            testDescription: "an urgent one takes none along whose requirement is missing",
            wakeUps: [requiring("/media/none"), urgent], second: 0, begins: [2],
            reasons: [.earliestBegin, .mounted]),
        Row(
            testDescription: "an urgent one passes a back-off, with others",
            wakeUps: [WakeUp(), urgent], failedUntil: 60, begins: [2, 1]),
        Row(
            testDescription: "a requirement is missing", wakeUps: [requiring("/media/none")],
            reasons: [.mounted]),
        Row(
            testDescription: "now or never begins at once",
            wakeUps: [WakeUp(expiresAt: start)], second: 0, begins: [1]),
        Row(
            testDescription: "now or never waits for a process only",
            wakeUps: [WakeUp(expiresAt: start)], second: 1, power: .battery, reasons: [.power],
            next: 10),
    ]

    @Test(arguments: rows) func aPlan(row: Row) {
        let plan = Self.decide(
            row.wakeUps, at: row.second, budget: row.budget, row.power, saves: row.saves,
            failedUntil: row.failedUntil)
        #expect(plan.starts.flatMap { $0.tasks.map(\.id.rawValue) }.sorted() == row.begins.sorted())
        if row.begins.contains(1) { return }
        let first = Self.row(1, row.wakeUps[0])
        #expect(plan.reasons(of: first, transfers: nil).map(\.reason) == row.reasons)
        if let next = row.next { #expect(plan.outlook.next == Self.start + next) }
    }

    @Test func whatIsDroppedHasAReason() {
        let wakeUp = WakeUp(expiresAt: Self.start)
        let plan = Self.decide([wakeUp], at: 10, .battery)
        #expect(plan.changes.ended.map(\.end) == [.expired(.power)])
        let late = Self.decide([wakeUp], at: 10, budget: 4800, .external)
        #expect(late.changes.ended.map(\.end) == [.expired(.budget)])
    }

    /// Four launches at once, then one in 20 minutes; after a pause of 80 minutes four again.
    @Test func theBudgetInVirtualTime() {
        var budget = WakeUpBudget()
        var launches: [Double] = []
        for second in stride(from: 0.0, through: 2 * 86_400, by: 10) {
            if (86_400..<86_400 + 4800).contains(second) { continue }
            let now = Self.start + second
            if budget.nextAt(now: now) > now { continue }
            budget.spend(now: now)
            launches.append(second)
        }
        #expect(launches.prefix(6) == [0, 10, 20, 30, 1200, 2400])
        #expect(
            launches.filter { $0 >= 86_400 }.prefix(5) == [
                91_200, 91_210, 91_220, 91_230, 92_400,
            ])
        // A clock that was ahead has spent nothing that counts.
        budget.spend(now: Self.start + 9e6)
        #expect(budget.nextAt(now: Self.start) == Self.start)
    }

    @Test func mergedOnesKeepUrgencyAndTheEndOfPreferences() {
        let first = Self.row(1, Self.urgent)
        let merged = WakeUp(identifier: "u").request(replacing: first, now: Self.start + 60)
        #expect(merged.isUrgent && merged.timing.waivesAt == nil)
        let plain = WakeUp().request(replacing: Self.row(1, WakeUp()), now: Self.start + 60)
        #expect(plain.timing.waivesAt == Self.start + 86_400)
        #expect(plain.timing.dueAt == Self.start + 60)
    }
}
