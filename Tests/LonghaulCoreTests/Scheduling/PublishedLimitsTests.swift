import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// What other processes say of a transfer that waits for its turn is what holds it.
@Suite struct PublishedLimitsTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var what: String
        var reason: WaitReason.Reason
        var required: String?
        var current: String
        var next: Double?
        var isDiscretionary = false
        var isUnresumable = false
        var running = RunningNumbers(total: 0, discretionary: 0, ofOrigin: 0)
        var cooldown: Double?
        var outlook: @Sendable (inout PublishedLimits) -> Void = { _ in }

        var testDescription: String { what }
    }

    static let now = Timestamp(milliseconds: 1_790_000_000_000)

    static let rows = [
        Row(
            what: "every place", reason: .concurrency, required: "fewer than 3 running",
            current: "3",
            running: RunningNumbers(total: 3, discretionary: 0, ofOrigin: 0)),
        Row(
            what: "places for the others", reason: .concurrency,
            required: "fewer than 2 discretionary running", current: "2", isDiscretionary: true,
            running: RunningNumbers(total: 2, discretionary: 2, ofOrigin: 0)),
        Row(
            what: "connections", reason: .originLimit, required: "fewer than 2 at its server",
            current: "2",
            running: RunningNumbers(total: 2, discretionary: 0, ofOrigin: 2)),
        Row(
            what: "a pause of the server", reason: .originCooldown,
            required: "a server that answers", current: "the server failed (500)", next: 30,
            cooldown: 30),
        Row(
            what: "one goes ahead", reason: .originCooldown, required: "a server that answers",
            current: "one transfer tries first",
            running: RunningNumbers(total: 1, discretionary: 0, ofOrigin: 1), cooldown: -1),
        Row(
            what: "an engine for others", reason: .engine, required: "one for immediate transfers",
            current: "this one is for discretionary transfers only",
            outlook: { $0.onlyDiscretionary = true }),
        Row(
            what: "a machine that sleeps", reason: .engine, required: "one that begins something",
            current: "the machine sleeps, or this one leaves", outlook: { $0.isSuspended = true }),
        Row(
            what: "too little time", reason: .engine, required: "100 s of its time",
            current: "20 s left of its box",
            outlook: {
                $0.box = PublishedLimits.Box(seconds: 60, endsAt: PublishedLimitsTests.now + 20)
            }),
        Row(
            what: "too little time to end in one go", reason: .engine,
            required: "100 s of its time in one go",
            current: "31 s left of its box; nothing lets it resume", isUnresumable: true,
            outlook: {
                $0.box = PublishedLimits.Box(seconds: 60, endsAt: PublishedLimitsTests.now + 31)
            }),
        Row(
            what: "a box that is over", reason: .engine, required: "time",
            current: "the box of this one is over",
            outlook: {
                $0.box = PublishedLimits.Box(seconds: 60, endsAt: PublishedLimitsTests.now + -1)
            }),
        Row(
            what: "a box of which half is left", reason: .engine,
            current: "ready, about to start",
            outlook: {
                $0.box = PublishedLimits.Box(seconds: 60, endsAt: PublishedLimitsTests.now + 31)
            }),
        Row(
            what: "an engine that stands still", reason: .engine, current: "ready, about to start",
            running: RunningNumbers(total: 1, discretionary: 0, ofOrigin: 1)),
    ]

    @Test(arguments: rows) func explains(_ row: Row) {
        var outlook = PublishedLimits()
        outlook.limits.running = 3
        outlook.limits.reserved = 1
        outlook.limits.perOrigin = 2
        row.outlook(&outlook)
        var memory = OriginMemory(origin: "http://h:80")
        memory.bytesPerSecond = 10
        memory.coolDownUntil = row.cooldown.map { Self.now + $0 }
        memory.lastFailure = row.cooldown.map { _ in "the server failed (500)" }
        var candidate = Candidate(
            id: TransferID(rawValue: 1), session: "s", origin: OriginID(rawValue: "http://h:80"),
            eligibility: EligibilityKey(isDiscretionary: row.isDiscretionary).eligibility,
            waitingSince: Self.now + -5,
            expectedSeconds: Candidate.seconds(bytes: 1_000, rate: memory.bytesPerSecond))
        candidate.isUnresumable = row.isUnresumable
        let found = outlook.turn(
            of: candidate, memory: memory, running: row.running, now: Self.now)
        #expect(
            found
                == WaitReason(
                    row.reason, required: row.required, current: row.current,
                    since: Self.now + -5, nextCheck: row.next.map { Self.now + $0 }))
    }
}
