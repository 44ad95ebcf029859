import Foundation
import LonghaulCore
import LonghaulStore

/// A month of a machine with hosts that have repeating requests, and nothing else: how often it
/// wakes for them, beside the same work by systemd timers.
package struct TaskMonth {
    package struct Work: Sendable {
        package var name: String
        /// Of hosts of their own: how many, the interval, and the tolerance.
        package var requests: [(count: Int, interval: Double, tolerance: Double)]
        /// Of the machine: when its hosts submit.
        package var seed: UInt64

        package init(
            _ name: String, _ requests: [(Int, Double, Double)], seed: UInt64 = 1
        ) {
            self.name = name
            self.requests = requests.map { (count: $0.0, interval: $0.1, tolerance: $0.2) }
            self.seed = seed
        }
    }

    /// Ten hosts each.
    package static let works = [
        Work("ten daily, ±12 h", [(10, 86_400, 43_200)]),
        Work("ten hourly, ±30 min", [(10, 3600, 1800)]),
        Work(
            "five daily, three 6-hourly, two hourly",
            [(5, 86_400, 43_200), (3, 21_600, 10_800), (2, 3600, 1800)]),
    ]

    /// A day.
    package private(set) var wakeUps = 0.0
    package private(set) var launches = 0.0
    /// With a timer for each, its accuracy one minute.
    package private(set) var timerWakeUps = 0.0

    private static let start = Timestamp(milliseconds: 1_790_000_000_000)
    private static let days = 30.0

    package init(_ work: Work) throws {
        let directory = FileManager.default.temporaryDirectory.path + "/month-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try Store.open(directory: directory)
        defer { try? store.close() }
        var random = SeededGenerator(seed: work.seed)
        var submitted: [(at: Timestamp, request: TaskRequest)] = []
        for (kind, row) in work.requests.enumerated() {
            for number in 0..<row.count {
                var request = TaskRequest(
                    identifier: "t", kind: .processing, host: "h\(kind)-\(number)")
                request.repetition = TaskRepetition(
                    interval: row.interval, tolerance: row.tolerance)
                let at = Self.start + Double.random(in: 0..<86_400, using: &random)
                submitted.append((at, request))
            }
        }
        submitted.sort { $0.at < $1.at }
        try live(store, submitted)
        countTimers(submitted.map { ($0.at, $0.request.repetition?.interval ?? 0) })
    }

    private mutating func live(
        _ store: Store, _ submitted: [(at: Timestamp, request: TaskRequest)]
    ) throws {
        let epoch = try store.lease.raiseEpoch(
            EngineHolder(pid: 1, pidStart: 2, bootID: "b", mode: "daemon"), now: Self.start)
        var rest = submitted[...]
        var next: Timestamp?
        var number: Int64 = 0
        var conditions = ConditionSnapshot()
        conditions.conditions.power = Reading(.external, source: "test", since: Self.start)
        conditions.conditions.network = Reading(.unmetered, source: "test", since: Self.start)
        conditions.conditions.isIdle = Reading(true, source: "test", since: Self.start)
        conditions.conditions.savesPower = Reading(false, source: "test", since: Self.start)
        while let now = [rest.first?.at, next].compactMap({ $0 }).min(),
            now < Self.start + Self.days * 86_400
        {
            while let first = rest.first, first.at <= now {
                rest.removeFirst()
                try store.hosts.add(
                    first.request.host ?? "",
                    HostSettings(argv: ["/bin/true"], permitted: ["t"]), now: now)
                _ = try store.tasks.submit(first.request, now: now)
            }
            var due = 0
            try store.withEngineTransaction(epoch, .relaxed) { tx in
                let plan = TaskPlan.decide(
                    try tx.tasks.facts().snapshot, conditions, TaskNews(), now: now)
                try tx.tasks.apply(plan.changes, now: now)
                next = plan.outlook.next
                due = plan.starts.count
                for start in plan.starts {
                    number += 1
                    var handover = Handover(session: nil, reason: .task, events: nil, count: 0)
                    handover.tasks = start.tasks.map(\.id)
                    try tx.launches.begin(
                        LaunchID(rawValue: number), of: start.host, handover, process: nil,
                        deadline: now + 30, now: now)
                    try tx.launches.end(
                        LaunchID(rawValue: number), LaunchOutcome(.exited, status: 0),
                        now: now + 1)
                }
            }
            if due == 0 { continue }
            // What has run is due again at a moment that this look did not know.
            next = now + 2
            wakeUps += 1 / Self.days
            launches += Double(due) / Self.days
        }
    }

    /// systemd lets a timer elapse at the next full minute of the machine after its moment.
    private mutating func countTimers(_ timers: [(at: Timestamp, interval: Double)]) {
        var minutes: Set<Int64> = []
        for timer in timers {
            var at = timer.at
            while at < Self.start + Self.days * 86_400 {
                let minute = (at.milliseconds + 59_999) / 60_000
                minutes.insert(minute)
                at = Timestamp(milliseconds: minute * 60_000) + timer.interval
            }
        }
        timerWakeUps = Double(minutes.count) / Self.days
    }

    /// The figures of all ``works``, for people.
    package static func report() throws -> [String] {
        try works.map { work in
            let month = try TaskMonth(work)
            func shown(_ value: Double) -> String { String(format: "%.1f", value) }
            return "\(work.name): \(shown(month.wakeUps)) wake-ups a day for"
                + " \(shown(month.launches)) launches, \(shown(month.timerWakeUps)) by systemd"
                + " timers"
        }
    }
}
