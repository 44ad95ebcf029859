import LonghaulCore
import Testing

@Suite struct RetryPolicyTests {
    private let now = Timestamp(milliseconds: 1_000_000)

    private func decide(
        _ failure: Failure, fruitless: Int = 0, hasGained: Bool = false, retries: Int? = nil,
        deadline: Timestamp? = nil, random: FixedRandom = .lowest
    ) -> RetryPolicy.Verdict {
        var random = random
        return RetryPolicy.decide(
            failure,
            attempts: RetryPolicy.Attempts(
                fruitless: fruitless, hasGained: hasGained, retries: retries),
            now: now, deadline: deadline, using: &random)
    }

    /// Seconds until the next try and the count that is kept, `nil` when there is none.
    private func retry(_ verdict: RetryPolicy.Verdict) -> (wait: Double, count: Int)? {
        switch verdict {
        case .retry(let at, let count, _), .restart(_, let at, let count): (at - now, count)
        case .waitForStorage, .needsInput, .fail: nil
        }
    }

    private let broken = FailureTable.classify(curl: 56, text: "reset")

    @Test(arguments: [
        (0, 2.0), (1, 4), (2, 8), (3, 16), (4, 32), (5, 64), (6, 128), (7, 256), (8, 512), (9, 600),
        (10, 600), (1_000_000, 600),
    ])
    func theWindowDoubles(fruitless: Int, ceiling: Double) throws {
        let least = try #require(retry(decide(broken, fruitless: fruitless)))
        let most = try #require(retry(decide(broken, fruitless: fruitless, random: .highest)))
        #expect(least.wait == 1)
        #expect(abs(most.wait - ceiling) < 0.01)
        #expect(least.count == fruitless + 1)
    }

    /// A MiB or a percent of the file is a gain. With less, the back-off grows.
    @Test(arguments: [
        Gain(0, of: 0, false), Gain(0, of: nil, false), Gain(0, of: 50_000, false),
        Gain(1, of: 1, true), Gain(1, of: 199, true), Gain(1, of: 200, false),
        Gain(499, of: 50_000, false), Gain(500, of: 50_000, true),
        Gain((1 << 20) - 1, of: nil, false), Gain(1 << 20, of: nil, true),
        Gain((1 << 20) - 1, of: 1 << 40, false), Gain(1 << 20, of: 1 << 40, true),
    ])
    func aGainIsAMebibyteOrAPercent(_ row: Gain) {
        #expect(RetryPolicy.isGain(row.bytes, of: row.total) == row.isOne)
    }

    /// After a gain, too, no more than one attempt a second.
    @Test(arguments: [(0.0, 1.0), (0.25, 0.75), (1, 0), (300, 0)])
    func attemptsAreASecondApart(sinceRequest: Double, least: Double) throws {
        var random = FixedRandom.lowest
        let verdict = RetryPolicy.decide(
            broken,
            attempts: RetryPolicy.Attempts(
                fruitless: 0, hasGained: true, sinceRequest: sinceRequest, retries: nil),
            now: now, deadline: nil, using: &random)
        #expect(abs(try #require(retry(verdict)).wait - least) < 0.002)
    }

    @Test func gainedBytesStartAnew() throws {
        let verdict = decide(broken, fruitless: 20, hasGained: true, random: .highest)
        let most = try #require(retry(verdict))
        #expect(most.wait <= 1)
        #expect(most.count == 1)
    }

    @Test(arguments: [
        (5.0, 6.0), (0, 1), (100_000, 86_400),
    ])
    func retryAfterIsAMinimum(wish: Double, wait: Double) throws {
        let busy = FailureTable.classify(status: 503, retryAfter: wish)
        #expect(try #require(retry(decide(busy))).wait == wait)
    }

    @Test func retryAfterDoesNotShortenTheBackOff() throws {
        let busy = FailureTable.classify(status: 503, retryAfter: 5)
        let verdict = decide(busy, fruitless: 9, random: .highest)
        #expect(try #require(retry(verdict)).wait > 500)
    }

    @Test(arguments: [
        (0, 0, false, false), (0, 0, true, false),
        (1, 0, false, true), (1, 1, false, false), (1, 5, true, true),
        (3, 2, false, true), (3, 3, false, false),
    ])
    func retriesAreCounted(retries: Int, fruitless: Int, hasGained: Bool, again: Bool) {
        let verdict = decide(broken, fruitless: fruitless, hasGained: hasGained, retries: retries)
        #expect((retry(verdict) != nil) == again)
        if case .fail(let error) = verdict {
            #expect(error.code == .network)
            #expect(error.message.contains("given up after \(retries)"))
        }
    }

    @Test func aTransferGetsItsFirstAttemptAndItsRetries() {
        var fruitless = 0
        var attempts = 1
        while let next = retry(decide(broken, fruitless: fruitless, retries: 3)) {
            fruitless = next.count
            attempts += 1
        }
        #expect(attempts == 4)
    }

    /// A back-off that would outlast the deadline takes half of the time that is left.
    @Test(arguments: [
        (600.0, 300.0), (240, 120), (10, 5), (3, 1.5), (1.5, 1), (601, 600),
    ])
    func theBackOffGivesWayToTheDeadline(left: Double, wait: Double) throws {
        let verdict = decide(broken, fruitless: 9, deadline: now + left, random: .highest)
        #expect(abs(try #require(retry(verdict)).wait - wait) < 0.1)
        let again = decide(broken, fruitless: 9, deadline: now + 1, random: .highest)
        #expect(retry(again) == nil)
    }

    @Test func aPauseThatWasAskedForDoesNotGiveWay() throws {
        let busy = FailureTable.classify(status: 503, retryAfter: 50)
        let verdict = decide(busy, fruitless: 9, deadline: now + 60, random: .highest)
        #expect(try #require(retry(verdict)).wait >= 50)
        #expect(retry(decide(busy, fruitless: 9, deadline: now + 50, random: .highest)) == nil)
    }

    @Test func noRetryBeginsAfterTheDeadline() {
        let busy = FailureTable.classify(status: 503, retryAfter: 100)
        #expect(retry(decide(busy, deadline: now + 104)) != nil)
        guard case .fail(let error) = decide(busy, deadline: now + 100) else {
            Issue.record("retried at the deadline")
            return
        }
        #expect(error.code == .timedOut)
        #expect(error.httpStatus == 503)
    }

    @Test func otherClasses() {
        let full = FailureTable.classify(errno: 28)
        #expect(decide(full) == .waitForStorage(full.error))
        let gone = FailureTable.classify(status: 404)
        #expect(decide(gone) == .needsInput(gone.error))
        let tls = FailureTable.classify(curl: 60, text: "")
        #expect(decide(tls) == .fail(tls.error))
        let readOnly = FailureTable.classify(errno: 30)
        #expect(decide(readOnly) == .fail(readOnly.error))
        let differs = FailureTable.restart(.overlapDiffers)
        #expect(decide(differs) == .restart(.overlapDiffers, at: now + 1, fruitlessAttempts: 1))
    }

    @Test(arguments: 0..<20) func everyDrawIsInsideItsWindow(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for failures in 0..<30 {
            let seconds = BackOff.seconds(afterFailures: failures, using: &random)
            let least: Double = failures == 0 ? 0 : 1
            #expect(seconds >= least && seconds <= BackOff.ceiling(afterFailures: failures))
        }
    }
}

/// So many more bytes of a file, and whether they are a gain.
struct Gain: Hashable, Sendable {
    let bytes: Int64
    let total: Int64?
    let isOne: Bool

    init(_ bytes: Int64, of total: Int64?, _ isOne: Bool) {
        self.bytes = bytes
        self.total = total
        self.isOne = isOne
    }
}

@Suite struct OriginHealthTests {
    private let now = Timestamp(milliseconds: 1_000_000)

    private func fail(
        _ origin: inout OriginMemory, _ failure: Failure, gained: Int64 = 0, after: Double = 0
    ) {
        var random = FixedRandom.lowest
        origin.afterFailure(failure, gained: gained, now: now + after, using: &random)
    }

    private let broken = FailureTable.classify(curl: 7, text: "")

    @Test func theThirdFailureInARowCoolsDown() {
        var origin = OriginMemory(origin: "http://h:80")
        fail(&origin, broken)
        fail(&origin, broken)
        #expect(origin.health(at: now) == .well)
        fail(&origin, broken)
        #expect(origin.health(at: now) == .cooling(until: now + 1))
        #expect(origin.health(at: now + 1) == .probing)
        origin.afterSuccess(now: now + 1)
        #expect(origin.health(at: now + 1) == .well)
        #expect(origin.failures == 0)
    }

    @Test func aPauseThatWasAskedForCountsAtOnce() {
        var origin = OriginMemory(origin: "http://h:80")
        fail(&origin, FailureTable.classify(status: 429))
        #expect(origin.health(at: now) == .cooling(until: now + 1))
        fail(&origin, FailureTable.classify(status: 503, retryAfter: 60))
        #expect(origin.health(at: now) == .cooling(until: now + 60))
        // What fails late does not shorten it.
        fail(&origin, broken)
        #expect(origin.health(at: now) == .cooling(until: now + 60))
    }

    /// The answers that come meanwhile were asked for before.
    @Test func aRateLimitThatIsUsedUpPausesTheOrigin() {
        var origin = OriginMemory(origin: "http://h:80")
        origin.pause(for: 30, now: now)
        origin.worked(at: 1000, http2: false, now: now)
        origin.endCoolDown(at: now)
        #expect(origin.health(at: now) == .cooling(until: now + 30))
        #expect(origin.failures == 0)
    }

    /// A server that is away for a moment fails all that is out: no more than one failure, or it
    /// would be left alone for minutes.
    @Test func whatFailsTogetherCountsOnce() {
        var origin = OriginMemory(origin: "http://h:80")
        for late in 0..<16 { fail(&origin, broken, after: Double(late) / 100) }
        #expect(origin.failures == 3)
        #expect(origin.health(at: now) == .cooling(until: now + 0.02 + 1))
    }

    /// What others are answered had been asked before: they end no pause that was asked for.
    @Test func aGoodAnswerEndsNoPauseThatWasAskedFor() {
        var origin = OriginMemory(origin: "http://h:80")
        fail(&origin, FailureTable.classify(status: 429, retryAfter: 60))
        origin.afterSuccess(now: now + 1)
        #expect(origin.health(at: now + 1) == .cooling(until: now + 60))
        #expect(!origin.mayRecover(at: now + 1))
        #expect(origin.health(at: now + 60) == .probing)
        origin.afterSuccess(now: now + 60)
        #expect(origin == OriginMemory(origin: "http://h:80"))
        // One that we have thought of ourselves it does.
        for _ in 0..<3 { fail(&origin, broken) }
        origin.afterSuccess(now: now + 0.5)
        #expect(origin.health(at: now + 0.5) == .well)
    }

    /// Another network, or somebody who will not wait: one transfer goes first, as after the pause.
    /// What the server has asked for stays.
    @Test func aReasonToAskAgainEndsNoPauseThatWasAskedFor() {
        var origin = OriginMemory(origin: "http://h:80")
        origin.endCoolDown(at: now)
        #expect(origin == OriginMemory(origin: "http://h:80"))
        for _ in 0..<3 { fail(&origin, broken) }
        origin.endCoolDown(at: now + 0.5)
        #expect(origin.health(at: now + 0.4) == .cooling(until: now + 0.5))
        #expect(origin.health(at: now + 0.5) == .probing)
        fail(&origin, FailureTable.classify(status: 503, retryAfter: 60), after: 1)
        origin.endCoolDown(at: now + 2)
        #expect(origin.health(at: now + 2) == .cooling(until: now + 61))
    }

    /// A person does not wait: one transfer goes first, a second after the refusal at the earliest.
    @Test func somebodyWhoWillNotWaitEndsEachPause() {
        var origin = OriginMemory(origin: "http://h:80")
        origin.endPause(at: now)
        #expect(origin == OriginMemory(origin: "http://h:80"))
        fail(&origin, FailureTable.classify(status: 403, retryAfter: 900_000))
        origin.endPause(at: now + 0.3)
        #expect(origin.health(at: now + 0.3) == .cooling(until: now + 1))
        #expect(origin.health(at: now + 1) == .probing)
        fail(&origin, FailureTable.classify(status: 429, retryAfter: 60), after: 2)
        #expect(origin.health(at: now + 3) == .cooling(until: now + 62))
        origin.endPause(at: now + 10)
        #expect(origin.health(at: now + 10) == .probing)
        origin.afterSuccess(now: now + 11)
        origin.pause(for: 3600, now: now + 11)
        origin.endPause(at: now + 20)
        #expect(origin.health(at: now + 20) == .probing)
    }

    /// A clock that was set back a day makes no pause of a day of a minute.
    @Test func aPauseThatWasAskedForAndAClockThatIsSetBack() {
        var origin = OriginMemory(origin: "http://h:80")
        fail(&origin, FailureTable.classify(status: 429, retryAfter: 60))
        origin.resumePause(at: now + -80_000)
        origin.afterSuccess(now: now + -80_000)
        #expect(origin.health(at: now + -80_000) == .cooling(until: now + -80_000 + 60))
    }

    @Test func aFailedProbeCoolsDownAgain() {
        var origin = OriginMemory(origin: "http://h:80")
        for _ in 0..<3 { fail(&origin, broken) }
        fail(&origin, broken, after: 5)
        #expect(origin.health(at: now + 5) == .cooling(until: now + 6))
    }

    @Test func whatIsNotTheOriginsFaultDoesNotCount() {
        var origin = OriginMemory(origin: "http://h:80")
        for _ in 0..<10 {
            fail(&origin, FailureTable.classify(status: 404))
            fail(&origin, FailureTable.classify(errno: 28))
            fail(&origin, broken, gained: 1)
        }
        #expect(origin == OriginMemory(origin: "http://h:80"))
    }

    @Test func aClockSetBackDoesNotStretchThePause() {
        var origin = OriginMemory(origin: "http://h:80")
        for _ in 0..<3 { fail(&origin, broken) }
        #expect(origin.health(at: now + -200_000) == .probing)
    }

    /// A user looks on: what reaches no server fails at the third attempt, unless a byte has come.
    @Test(
        arguments: [
            ("dns", 2, 3, true), ("refused", 2, 3, true), ("dns", 1, 3, false),
            ("dns", 9, nil, false),
            ("503", 9, 3, false), ("broken", 9, 3, false),
        ] as [(String, Int, Int?, Bool)])
    func whatReachesNoServer(how: String, fruitless: Int, limit: Int?, fails: Bool) {
        let failure =
            switch how {
            case "dns": FailureTable.classify(curl: 6, text: "Could not resolve host: h")
            case "refused": FailureTable.classify(curl: 7, text: "refused")
            case "503": FailureTable.classify(status: 503)
            default: FailureTable.classify(curl: 56, text: "reset")
            }
        var random = FixedRandom.lowest
        let verdict = RetryPolicy.decide(
            failure,
            attempts: RetryPolicy.Attempts(
                fruitless: fruitless, hasGained: false, retries: nil, unreachable: limit),
            now: now, deadline: nil, using: &random)
        #expect((verdict == .fail(failure.error)) == fails)
    }
}
