import LonghaulCore
import LonghaulTestValues
import Testing

/// Which jobs begin where several have one slot.
@Suite struct JobSlotTests {
    private let start = Timestamp(milliseconds: 1_767_225_600_000)

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Names with their slots; `a`, `b` and so on wait, in the order in which they were due.
        let waiting: [(String, String?)]
        let running: [(String, String?)]
        /// A client has asked for it.
        let asked: Set<String>
        let begins: [String]

        init(
            _ name: String, _ waiting: [(String, String?)], running: [(String, String?)] = [],
            asked: Set<String> = [], begins: [String]
        ) {
            testDescription = name
            self.waiting = waiting
            self.running = running
            self.asked = asked
            self.begins = begins
        }
    }

    static let rows: [Row] = [
        Row("without slots", [("a", nil), ("b", nil)], begins: ["a", "b"]),
        Row("one slot", [("a", "s"), ("b", "s")], begins: ["a"]),
        Row("two slots", [("a", "s"), ("b", "t")], begins: ["a", "b"]),
        Row("one runs", [("a", "s"), ("b", "t")], running: [("z", "s")], begins: ["b"]),
        Row("asked for", [("a", "s")], running: [("z", "s")], asked: ["a"], begins: []),
        Row(
            "two places", [("a", "s=2"), ("b", "s=2"), ("c", "s=2")], begins: ["a", "b"]),
        Row(
            "two places, one taken", [("a", "s=2"), ("b", "s=2")], running: [("z", "s=2")],
            begins: ["a"]),
        Row("one that runs alone", [("a", "s=2")], running: [("z", "s")], begins: []),
        Row("one that wants to run alone", [("a", "s")], running: [("z", "s=2")], begins: []),
        Row(
            "no overtaking", [("a", "s"), ("b", "s=3")], running: [("z", "s=3")], begins: []),
    ]

    private func plan(_ row: Row) -> (TaskPlan, [StoredTask]) {
        var snapshot = TaskSnapshot()
        for (name, slot) in row.waiting + row.running {
            snapshot.hosts[name] = HostFacts(name: name)
            snapshot.hosts[name]?.slot = slot.flatMap { JobSlot(rawValue: $0) }
        }
        for (name, _) in row.running { snapshot.hosts[name]?.isBusy = true }
        for (number, (name, _)) in zip(1..., row.waiting) {
            var request = TaskRequest(identifier: name, kind: .processing, host: name)
            request.job = JobSchedule()
            var task = StoredTask(
                id: TaskID(rawValue: Int64(number)), kind: .processing, request: request,
                host: name, timing: TaskTiming(dueAt: start + Double(number)), submittedAt: start)
            task.isSimulated = row.asked.contains(name)
            snapshot.tasks.append(task)
        }
        let plan = TaskPlan.decide(snapshot, .favourable, TaskNews(), now: start + 60)
        return (plan, snapshot.tasks)
    }

    @Test(arguments: rows) func aSlotHasItsPlaces(_ row: Row) {
        let (plan, tasks) = plan(row)
        #expect(plan.starts.map(\.host) == row.begins)
        for task in tasks {
            let reasons = plan.reasons(of: task, transfers: nil).map(\.reason)
            #expect(reasons == (row.begins.contains(task.host) ? [] : [.slot]), "\(task.host)")
        }
    }

    /// A job without a place takes none of those for all programs.
    @Test func aWaitForASlotTakesNoPlace() {
        let waiting = [("a", "s")] + (1...16).map { ("b\($0)", nil) }
        let row = Row("", waiting, running: [("z", "s")], begins: [])
        #expect(plan(row).0.starts.count == 16)
    }

    @Test(arguments: [
        ("build", "build", 1), ("a.B_9-c=12", "a.B_9-c", 12), ("one=1", "one", 1),
    ]) func aSlotIsRead(_ text: String, _ name: String, _ places: Int) throws {
        let slot = try #require(JobSlot(rawValue: text))
        #expect(slot.name == name && slot.places == places)
        #expect(JobSlot(rawValue: slot.rawValue) == slot)
    }

    @Test(arguments: [
        "", "=2", "a=", "a=0", "a=-1", "a=1000", "a=2=3", "a b", "ä", "a/b",
        String(repeating: "a", count: 101),
    ]) func otherTextsAreRefused(_ text: String) {
        #expect(JobSlot(rawValue: text) == nil)
    }
}
