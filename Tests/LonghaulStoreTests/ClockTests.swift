import LonghaulCore
import LonghaulStore
import Testing

/// What a clock that was set makes of stored deadlines.
@Suite struct ClockTests {
    private static let day: Double = 86_400

    private func mark(_ boot: String, _ wall: Timestamp, uptime: Double) -> ClockMark {
        ClockMark(
            boot: boot,
            at: Moment(wall: wall, monotonic: Instant(nanoseconds: Int64(uptime * 1e9))))
    }

    private struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        /// Seconds by which the clock was set, an hour after the first mark.
        var jump: Double
        /// Seconds after the first mark at which it was enqueued, by the clock of then.
        var enqueued: Double = 0
        var earliest: Double?
        var deadline = Deadline.after(seconds: 7 * day)
        var boot = "a"
        /// Seconds after the first mark by the clock of then.
        var expected: Double

        var testDescription: String { name }
    }

    private static let cases = [
        Case(name: "forward", jump: 50 * day, expected: 57 * day),
        Case(name: "forward, short", jump: 120, expected: 7 * day + 120),
        Case(name: "steered", jump: 30, expected: 7 * day),
        Case(name: "over a boot nobody can say", jump: 50 * day, boot: "b", expected: 7 * day),
        Case(
            name: "its beginning was jumped over", jump: 50 * day, earliest: 10 * day,
            expected: 3600 + 57 * day),
        Case(
            name: "it begins later than now", jump: 50 * day, earliest: 60 * day,
            expected: 67 * day),
        Case(
            name: "written by a clock that was right", jump: 50 * day, enqueued: 52 * day,
            expected: 59 * day),
        Case(
            name: "written by a clock that was right, and begun", jump: 50 * day,
            enqueued: 20 * day, expected: 27 * day),
        Case(
            name: "a moment is a moment", jump: 50 * day, deadline: .at(.start + 8 * day),
            expected: 8 * day),
        Case(name: "backward", jump: -50 * day, enqueued: 600, expected: -43 * day + 600),
        Case(
            name: "backward, written before it was wrong", jump: -50 * day, enqueued: -60 * day,
            expected: -53 * day),
        Case(
            name: "backward, with a beginning that was asked for", jump: -50 * day,
            earliest: 3 * day, expected: 10 * day),
    ]

    @Test(arguments: cases) private func deadlinesFollow(_ known: Case) throws {
        let scratch = try ScratchStore()
        try scratch.store.settings.follow(mark("a", .start, uptime: 100), now: .start)
        let id = try scratch.add("/d/a", now: .start + known.enqueued) {
            $0.earliestBegin = known.earliest.map { .start + $0 }
            $0.deadline = known.deadline
        }
        let now = Timestamp.start + 3600 + known.jump
        try scratch.store.settings.follow(mark(known.boot, now, uptime: 3700), now: now)
        // Seen twice is set once.
        try scratch.store.settings.follow(mark(known.boot, now + 60, uptime: 3760), now: now + 60)
        let found = try work(id, scratch).deadline - .start
        #expect(abs(found - known.expected) < 0.01, "\(found / Self.day) days")
    }

    private func work(_ id: TransferID, _ scratch: ScratchStore) throws -> TransferWork {
        let epoch = try scratch.lead()
        return try scratch.turn(epoch) { try #require(try $0.transfers.work(id)) }
    }

    /// Those that run are moved in memory, by the same rule.
    @Test(arguments: cases.filter { $0.boot == "a" && abs($0.jump) >= 60 })
    private func thoseThatRunFollowAlike(_ known: Case) throws {
        let scratch = try ScratchStore()
        let id = try scratch.add("/d/a", now: .start + known.enqueued) {
            $0.earliestBegin = known.earliest.map { .start + $0 }
            $0.deadline = known.deadline
        }
        let work = try work(id, scratch)
        let subscriber = Subscriber(
            id: id, request: work.request, destination: work.path,
            deadline: work.deadline, eligibility: work.eligibility, isWanted: true, bytesFetched: 0)
        let found =
            subscriber.moved(by: Int64(known.jump * 1000), now: .start + 3600 + known.jump).deadline
        #expect(abs(found - .start - known.expected) < 0.01)
    }

    /// What was done to a file since is dated before its end, where the clock was set back.
    @Test(arguments: [
        (-7200.0, 600.0, false), (-7200, -7300, true), (-30, 600, true), (7200, 600, true),
    ])
    func finishedFilesAreTrustedUnlessTheirTimeComesAgain(
        _ jump: Double, _ ended: Double, _ isKept: Bool
    ) throws {
        let scratch = try ScratchStore()
        try scratch.store.settings.follow(mark("a", .start, uptime: 100_000), now: .start)
        let epoch = try scratch.lead()
        func end(_ path: String, at seconds: Double) throws {
            let id = try scratch.add(path) { $0.url = "https://a.example\(path)" }
            try scratch.turn(epoch) { tx in
                let claim = try tx.transfers.claim(id, now: .start + seconds)
                var (_, state) = try #require(claim)
                state.partIdentity = FileIdentity(device: 1, inode: 2)
                state.partPath = path
                state.validator = Validator(etag: "\"v1\"", length: 5)
                state.bytesTotal = 5
                try tx.fetches.save(state)
                let numbers = TransferTotals(state)
                try tx.transfers.complete(
                    id, finalPath: path, numbers: numbers, now: .start + seconds)
            }
        }
        try end("/d/a", at: ended)
        try end("/d/last", at: 1000)
        let now = Timestamp.start + 3600 + jump
        try scratch.store.settings.follow(mark("a", now, uptime: 103_600), now: now)
        let id = try scratch.add("/d/b") { $0.url = "https://a.example/d/a" }
        let kept = try scratch.turn(epoch) { tx in
            let found = try tx.transfers.work(id)
            return try tx.sharing.finished(like: try #require(found), now: now + 86_400)
        }
        #expect((kept != nil) == isKept)
    }

    @Test func aMarkIsReadAsItWasWritten() {
        let mark = mark("0a0b", .start, uptime: 5)
        #expect(ClockMark(mark.text) == mark)
        for text in ["", "a", "a b", "a 1 2", " "] { #expect(ClockMark(text) == nil) }
    }
}
