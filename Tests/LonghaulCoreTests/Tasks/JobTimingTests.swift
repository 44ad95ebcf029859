import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// When jobs run: at times of day, again after failures, once for what was missed.
@Suite struct JobTimingTests {
    /// Thursday, 2026-11-26, 12:00 UTC.
    private static let noon = CivilTime(year: 2026, month: 11, day: 26, hour: 12).timestamp
    private static let hour: Double = 3600
    /// Of Berlin: summer time until 2026-10-25 01:00 UTC, and again from 2027-03-28 01:00 UTC.
    private static let berlin = LocalTime { moment in
        let autumn = CivilTime(year: 2026, month: 10, day: 25, hour: 1).timestamp
        let spring = CivilTime(year: 2027, month: 3, day: 28, hour: 1).timestamp
        return moment < autumn || moment >= spring ? 7200 : 3600
    }

    private func moment(_ text: String) throws -> Timestamp { try #require(RFC3339.parse(text)) }

    private func job(_ change: (inout TaskRequest) -> Void = { _ in }) -> TaskRequest {
        var request = TaskRequest(identifier: "j", kind: .processing)
        request.job = JobSchedule()
        request.job?.retries = 3
        change(&request)
        return request
    }

    private func settle(
        _ request: TaskRequest, _ timing: TaskTiming, _ end: TaskEnd, started: Timestamp,
        now: Timestamp? = nil
    ) -> TaskTiming? {
        let decision = TaskSettlement.decide(
            request, timing, end, started: started, place: 0.3, now: now ?? started + 1)
        guard case .again(let next) = decision else { return nil }
        return next
    }

    // MARK: - Times of day

    @Test(arguments: [
        ("02:30", nil, "2026-11-27T02:30:00Z"), ("12:00", nil, "2026-11-27T12:00:00Z"),
        ("12:01", nil, "2026-11-26T12:01:00Z"), ("23:59", "Sat,Sun", "2026-11-28T23:59:00Z"),
        ("12:00", "Thu", "2026-12-03T12:00:00Z"), ("13:00", "Thu", "2026-11-26T13:00:00Z"),
    ])
    func theNextMomentIsTheFirstAfterNow(_ text: String, _ days: String?, _ next: String) throws {
        let among = try days.map { try #require(Weekdays(parsing: $0)) } ?? .all
        let daily = try #require(DailyMoment(parsing: text, days: among))
        #expect(daily.next(after: Self.noon, .utc) == (try moment(next)))
    }

    /// 02:30 does not exist on the day in spring, and comes twice on the one in autumn.
    @Test func aClockThatIsChangedLosesAndDoublesNothing() throws {
        let daily = try #require(DailyMoment(parsing: "02:30"))
        let spring = try moment("2027-03-27T12:00:00Z")
        #expect(daily.next(after: spring, Self.berlin) == (try moment("2027-03-28T01:00:00Z")))
        let next = daily.next(after: try moment("2027-03-28T01:00:00Z"), Self.berlin)
        #expect(next == (try moment("2027-03-29T00:30:00Z")))
        let autumn = try moment("2026-10-24T12:00:00Z")
        let first = daily.next(after: autumn, Self.berlin)
        #expect(first == (try moment("2026-10-25T00:30:00Z")))
        #expect(daily.next(after: first, Self.berlin) == (try moment("2026-10-26T01:30:00Z")))
    }

    @Test func severalTimesOfDayAreMetInOrder() throws {
        let daily = try #require(DailyMoment(parsing: "14:30,02:30,02:30"))
        #expect(daily.times == "02:30,14:30")
        var moments: [String] = []
        var now = Self.noon
        for _ in 1...3 {
            now = daily.next(after: now, .utc)
            moments.append(RFC3339.format(now))
        }
        #expect(
            moments.map { String($0.dropFirst(8).prefix(8)) } == [
                "26T14:30", "27T02:30", "27T14:30",
            ])
        for bad in ["", ",", "02:30,", "02:30;03:00", "24:00", "2:30", "02:30, 03:00"] {
            #expect(DailyMoment(parsing: bad) == nil, "\(bad)")
        }
    }

    /// A machine in another zone keeps the words, not the moment. What is due stays due.
    @Test func aMovedMachineKeepsTheWords() throws {
        let request = job { $0.job?.daily = DailyMoment(parsing: "08:00") }
        var timing = TaskTiming(request, replacing: nil, place: 0, now: Self.noon)
        let east = LocalTime { _ in 9 * 3600 }
        #expect(timing.followZone(of: request, now: Self.noon, .utc) == false)
        #expect(timing.followZone(of: request, now: Self.noon, east) == true)
        #expect(timing.dueAt == (try moment("2026-11-26T23:00:00Z")))
        #expect(timing.followZone(of: request, now: Self.noon, east) == false)
        let due = timing
        #expect(timing.followZone(of: request, now: timing.dueAt + 1, .utc) == false)
        #expect(timing == due)
        timing.deferrals = 1
        #expect(timing.followZone(of: request, now: Self.noon, .utc) == false)
    }

    /// What TZ strings reach: by 24 hours and 59 minutes, in both directions.
    @Test(arguments: [
        (-89_940, 89_940), (89_940, -89_940), (93_540, -89_940), (-93_540, 93_540), (0, 0),
    ])
    func aZoneThatMovesByDaysHasItsTimes(before: Int, after: Int) throws {
        let zone = LocalTime { $0 < Self.noon ? before : after }
        for days in ["Mon-Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] {
            let among = try #require(Weekdays(parsing: days))
            let daily = DailyMoment(minute: 510, days: among)
            let windows = try #require(TimeWindows(parsing: "\(days) 08:30-09:30"))
            for hours in -250...250 {
                let now = Self.noon + Double(hours) * Self.hour
                #expect(daily.next(after: now, zone) > now)
                #expect(windows.phase(at: now, zone).until > now)
            }
        }
    }

    /// The machine is off in the night: the run is made up for once, and the next one is as ever.
    @Test func aNightWithoutTheMachineIsMadeUpFor() throws {
        let request = job { $0.job?.daily = DailyMoment(parsing: "02:30") }
        let timing = TaskTiming(request, replacing: nil, place: 0, now: Self.noon)
        #expect(timing.dueAt == (try moment("2026-11-27T02:30:00Z")))
        // Three nights later.
        let morning = try moment("2026-11-29T08:00:00Z")
        #expect(timing.dueAt < morning, "it is due as soon as the machine runs")
        let next = settle(request, timing, .result(.success), started: morning)
        #expect(next?.dueAt == (try moment("2026-11-30T02:30:00Z")))
    }

    /// The same again, as a script says it at each login, neither loses a missed run nor adds one.
    @Test func aJobThatIsMadeAnewKeepsItsMissedRun() throws {
        let request = job { $0.job?.daily = DailyMoment(parsing: "02:30") }
        let old = TaskTiming(request, replacing: nil, place: 0, now: Self.noon)
        let morning = try moment("2026-11-27T08:00:00Z")
        let new = TaskTiming(request, replacing: old, place: 0, now: morning)
        #expect(new.dueAt == old.dueAt)
        let ran = try #require(settle(request, new, .result(.success), started: morning))
        let again = TaskTiming(request, replacing: ran, place: 0, now: morning + 60)
        #expect(again.dueAt == (try moment("2026-11-28T02:30:00Z")))
    }

    @Test func aClockThatIsSetBackRunsNothingTwice() throws {
        let request = job { $0.job?.daily = DailyMoment(parsing: "02:30") }
        var timing = TaskTiming(request, replacing: nil, place: 0, now: Self.noon)
        let due = timing.dueAt
        timing = try #require(settle(request, timing, .result(.success), started: due))
        let tomorrow = timing.dueAt
        // Three seconds back, to before the moment; a day back; ten years.
        for back in [3.0, 86_400] {
            var moved = timing
            moved.follow(due + 1, isDaily: true, now: due + (1 - back))
            #expect(moved.dueAt == tomorrow && moved.mayBeginAt == tomorrow)
        }
        let past = due + -315_360_000
        timing.follow(due + 1, isDaily: true, now: past)
        #expect(timing.dueAt == past)
    }

    // MARK: - Intervals

    @Test func aSleepOfTenIntervalsIsOneRun() throws {
        let request = job { $0.repetition = TaskRepetition(interval: Self.hour) }
        var timing = TaskTiming(request, replacing: nil, place: 0.3, now: Self.noon)
        timing = try #require(settle(request, timing, .result(.success), started: Self.noon))
        let later = Self.noon + 10.4 * Self.hour
        #expect(timing.dueAt < later)
        let next = try #require(settle(request, timing, .result(.success), started: later))
        #expect(next.dueAt - later >= Self.hour / 2 && next.dueAt - later <= 1.5 * Self.hour)
    }

    // MARK: - Failures

    /// Three retries of the due run, then the next one; of a job that stands for an event the next
    /// event; a job that runs once has ended.
    @Test func aDueRunIsTriedAgainAFewTimes() throws {
        var daily = TaskTiming(dueAt: Self.noon)
        let nightly = job { $0.job?.daily = DailyMoment(parsing: "02:30") }
        var now = Self.noon
        for delay in [60.0, 120, 240] {
            daily = try #require(settle(nightly, daily, .result(.failure), started: now, now: now))
            #expect(daily.dueAt == now + delay && daily.mayBeginAt == daily.dueAt)
            now = daily.dueAt
        }
        daily = try #require(settle(nightly, daily, .result(.failure), started: now, now: now))
        #expect(daily.failures == 4)
        #expect(daily.dueAt == (try moment("2026-11-27T02:30:00Z")))
        // The failures of that night count anew.
        daily = try #require(
            settle(nightly, daily, .expired(.time), started: daily.dueAt, now: daily.dueAt))
        #expect(daily.failures == 5)
        #expect(daily.dueAt == (try moment("2026-11-27T02:31:00Z")))
        daily = try #require(settle(nightly, daily, .result(.success), started: daily.dueAt))
        #expect(daily.failures == 0)
    }

    @Test func theLastRetryEndsAJobWithoutAnother() throws {
        let once = job()
        var timing = TaskTiming(once, replacing: nil, place: 0, now: Self.noon)
        for _ in 0..<3 {
            timing = try #require(
                settle(once, timing, .result(.failure), started: Self.noon, now: Self.noon))
        }
        #expect(settle(once, timing, .result(.failure), started: Self.noon) == nil)
        let endless = job { $0.job?.retries = nil }
        timing.failures = 100
        let next = settle(endless, timing, .result(.failure), started: Self.noon, now: Self.noon)
        #expect(next?.dueAt == Self.noon + Self.hour)
        let standing = job {
            $0.triggers = [.online]
            $0.job?.retries = 0
        }
        let waits = settle(standing, timing, .result(.failure), started: Self.noon)
        #expect(waits?.dueAt == .distantFuture)
    }

    @Test func aRunThatIsPutOffOrStoppedComesAgainWithoutAFailure() throws {
        let nightly = job { $0.job?.daily = DailyMoment(parsing: "02:30") }
        var timing = TaskTiming(dueAt: Self.noon)
        for (count, delay) in [1.0, 2, 4, 8].enumerated() {
            let end: TaskEnd = count % 2 == 0 ? .result(.deferred) : .expired(.requirement)
            timing = try #require(settle(nightly, timing, end, started: Self.noon, now: Self.noon))
            #expect(timing.dueAt == Self.noon + delay && timing.failures == 0)
        }
        timing.deferrals = 60
        timing = try #require(
            settle(nightly, timing, .result(.deferred), started: Self.noon, now: Self.noon))
        #expect(timing.dueAt == Self.noon + 900)
        timing.failures = 2
        let cancelled = settle(nightly, timing, .expired(.cancelled), started: Self.noon)
        #expect(cancelled?.failures == 0)
        #expect(cancelled?.dueAt == (try moment("2026-11-27T02:30:00Z")))
        #expect(settle(job(), timing, .expired(.cancelled), started: Self.noon) == nil)
    }

    // MARK: - Preferences

    @Test func preferencesEndBeforeTheDeadline() throws {
        var request = job { $0.job?.isDiscretionary = true }
        #expect(request.preferencesEnd(due: Self.noon) == Self.noon + 86_400)
        request.job?.deadline = Self.noon + 7200
        #expect(request.preferencesEnd(due: Self.noon) == Self.noon + 3600)
        let timing = TaskTiming(request, replacing: nil, place: 0, now: Self.noon)
        #expect(timing.waivesAt == Self.noon + 3600)
        #expect(job().preferencesEnd(due: Self.noon) == nil)
        // One that repeats prefers what its kind does, unless the user says otherwise.
        var often = job { $0.repetition = TaskRepetition(interval: 86_400) }
        #expect(
            often.eligibility.eligibility.conditionNeeds.preferred.names == [
                "power", "unmetered", "idle", "saver=off",
            ])
        often.job?.prefers = ConditionNeeds()
        #expect(often.eligibility.eligibility.conditionNeeds.preferred.isEmpty)
    }

    // MARK: - Transfers

    @Test func aJobAfterTransfersIsDueWhenTheyHaveCompleted() throws {
        var request = job {
            $0.job?.after = [TransferID(rawValue: 7)]
            $0.job?.isDiscretionary = true
        }
        var timing = TaskTiming(request, replacing: nil, place: 0, now: Self.noon)
        #expect(timing.dueAt == .distantFuture && timing.mayBeginAt == .distantFuture)
        // No clock and no `host reset` makes it due.
        timing.follow(Self.noon, now: Self.noon + -9 * Self.hour)
        timing.forgive(nil, now: Self.noon)
        #expect(timing.dueAt == .distantFuture)
        timing.endWait(of: request, now: Self.noon + 60)
        #expect(timing.dueAt == Self.noon + 60 && timing.waivesAt == Self.noon + 60 + 86_400)
        request.earliestBegin = Self.noon + Self.hour
        timing.endWait(of: request, now: Self.noon + 60)
        #expect(timing.dueAt == Self.noon + Self.hour && timing.mayBeginAt == timing.dueAt)
    }
}
