import LonghaulCore
import Testing

@testable import LonghaulStore

/// Refreshes begin when their host is usually used.
@Suite struct HostUseTests {
    private let scratch: ScratchStore
    private let epoch: Epoch
    /// Midnight after three weeks.
    private static let today = Timestamp.start + 21 * 86_400

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
        try add("h")
    }

    private func add(_ host: String, at now: Timestamp = .start) throws {
        try scratch.store.hosts.add(
            host, HostSettings(argv: ["/bin/true"], permitted: ["refresh", "once", "clean"]),
            now: now)
    }

    /// Each evening at six, for three weeks.
    private func use() throws {
        for day in 0..<21 {
            try scratch.store.hosts.recordUse(
                "h", .start + Double(day) * 86_400 + 18 * 3600, .utc)
        }
    }

    private func submit(
        _ identifier: String, _ kind: TaskKind = .refresh, host: String = "h",
        repeats: Bool = true, at now: Timestamp = today
    ) throws {
        var request = TaskRequest(identifier: identifier, kind: kind, host: host)
        if repeats { request.repetition = TaskRepetition(interval: 900, tolerance: 0) }
        _ = try scratch.store.tasks.submit(request, now: now)
    }

    private func plan(at hour: Double) throws -> TaskPlan {
        try scratch.decide(epoch, at: Self.today + hour * 3600)
    }

    @Test func onlyRefreshesThatCanWaitAreMoved() throws {
        try use()
        try submit("clean", .processing)
        try submit("once", repeats: false)
        #expect(try plan(at: 8).starts.flatMap(\.tasks).count == 2)
    }

    /// Nothing is known of a new host; one that was not used since it was made known is refreshed
    /// once a day.
    @Test func hostsWithoutUseAreObservedSinceTheyAreKnown() throws {
        try submit("refresh")
        try add("new", at: Self.today)
        try submit("refresh", host: "new")
        let now = try plan(at: 1)
        #expect(now.starts.map(\.host) == ["new"])
        #expect(try #require(now.outlook.next) - Self.today == 86_400)
        let usage = try #require(try scratch.store.hosts.usage(of: "h"))
        #expect(usage.observedSince == .start)
        #expect(usage.lastUse == nil)
    }

    @Test func usesAreKept() throws {
        try use()
        let known = try #require(try scratch.store.hosts.usage(of: "h"))
        // Within the hour, and of a host that is not there: nothing is written.
        let version = try scratch.store.dataVersion()
        try scratch.store.hosts.recordUse("h", .start + 20 * 86_400 + 18 * 3600 + 60, .utc)
        try scratch.store.hosts.recordUse("unknown", Self.today, .utc)
        #expect(try scratch.store.hosts.usage(of: "h") == known)
        #expect(try scratch.store.dataVersion() == version)
        // A host that is made known anew was used all the same.
        try add("h", at: Self.today)
        #expect(try scratch.store.hosts.usage(of: "h") == known)
    }
}
