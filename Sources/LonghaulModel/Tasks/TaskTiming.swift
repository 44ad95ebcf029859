/// When a pending task may begin, as far as time goes: the engine's part of its row.
package struct TaskTiming: Hashable, Sendable {
    /// Earliest moment by the request's own definition and its own back-off.
    package var dueAt: Timestamp
    /// Moment from which the task may begin together with other work of its host.
    package var mayBeginAt: Timestamp
    /// Moment from which the task's preferences do not count; `nil` = it has none.
    package var waivesAt: Timestamp?
    /// The window that ends with the moment for which it is meant begins here. Of a repeating one.
    package var window: Timestamp?
    /// When its last run began that counts.
    package var lastStart: Timestamp?
    /// Runs in a row that failed.
    package var failures = 0
    /// Times in a row that it was put off, without a failure.
    package var deferrals = 0
    /// Runs in a row of a refresh that brought nothing.
    package var emptyRuns = 0

    package init(dueAt: Timestamp) {
        self.dueAt = dueAt
        mayBeginAt = dueAt
    }
}

extension TaskTiming {
    /// Creates the timing of a new request.
    ///
    /// - Parameter replaced: The timing of the request that it replaces: one that repeats goes on
    ///   with its interval, so that submitting it at each start of a program runs it no more often.
    package init(
        _ request: TaskRequest, replacing replaced: TaskTiming?, place: Double, now: Timestamp,
        _ time: LocalTime = .utc
    ) {
        let begin = max(now, request.earliestBegin ?? now)
        guard !request.isStanding, request.job?.after.isEmpty ?? true else {
            self.init(dueAt: .distantFuture)
            lastStart = replaced?.lastStart
            return
        }
        if let job = request.job, job.hasMoments {
            // A run that was missed and waits is not lost by saying the same again.
            let missed = replaced.flatMap { old in
                let isDue = begin == now && old.dueAt <= now
                return isDue && job.isMissed(old.dueAt, now: now, time) ? old.dueAt : nil
            }
            self.init(
                dueAt: missed ?? job.nextMoment(after: begin + -0.001, time) ?? .distantFuture)
            lastStart = replaced?.lastStart
            waivesAt = request.preferencesEnd(due: dueAt)
            return
        }
        self.init(dueAt: begin)
        guard let repetition = request.repetition else {
            waivesAt = request.preferencesEnd(due: dueAt)
            return
        }
        guard let last = replaced?.lastStart, last <= now else {
            window = begin + -repetition.slack
            waivesAt = begin
            return
        }
        // Counted from the last run: each submission would put the next one off.
        lastStart = last
        emptyRuns = request.kind == .refresh ? replaced?.emptyRuns ?? 0 : 0
        // The grid of moments goes on, unless it was that of a longer interval.
        window = replaced?.window.flatMap { $0 <= last + repetition.interval ? $0 : nil }
        moveOn(repetition, place: place, now: now)
        hold(until: begin)
    }

    /// All transfers have completed that the request had to wait for.
    package mutating func endWait(of request: TaskRequest, now: Timestamp) {
        dueAt = max(now, request.earliestBegin ?? now)
        mayBeginAt = dueAt
        waivesAt = request.preferencesEnd(due: dueAt)
    }

    /// The request's own earliest moment counts, wherever its window is.
    private mutating func hold(until begin: Timestamp) {
        dueAt = max(dueAt, begin)
        mayBeginAt = max(mayBeginAt, begin)
        waivesAt = waivesAt.map { max($0, dueAt) }
    }

    /// The request that this one replaced was running, and has ended with nothing: the run counts
    /// for this one, which begins no earlier for it than it asked.
    package mutating func skip(
        afterEmpty end: TaskEnd, of request: TaskRequest, place: Double, now: Timestamp
    ) {
        countEmpty(end, of: request)
        guard end == .result(.noData), let repetition = request.repetition, lastStart != nil
        else { return }
        moveOn(repetition, of: request, place: place, now: now)
    }

    /// The next run of a repeating request, no earlier than the request asks.
    fileprivate mutating func moveOn(
        _ repetition: TaskRepetition, of request: TaskRequest, place: Double, now: Timestamp
    ) {
        moveOn(repetition, place: place, now: now)
        if let begin = request.earliestBegin { hold(until: begin) }
    }

    /// The next run of a repeating request. Windows are on a grid; those that were missed are
    /// skipped, and the run that is late counts for the last of them. A refresh that has brought
    /// nothing skips some, which a run that has brought something takes back.
    ///
    /// - Parameter place: 0…1, the same for all requests of one machine and another on other
    ///   machines, see ``sharedMoment(in:_:place:)``.
    package mutating func moveOn(
        _ repetition: TaskRepetition, place: Double, now: Timestamp
    ) {
        let slack = repetition.slack
        let last = lastStart ?? now
        var next = window ?? last + -slack
        // A run that was asked for comes before its window: it counts for it where they are near.
        if next <= last || next + slack < last + (repetition.interval - slack) {
            next = next + repetition.interval
        }
        // The same whether they were skipped before or not.
        let held = last + (repetition.interval(afterEmpty: emptyRuns) - repetition.interval)
        if held > last, next <= held {
            let skipped = ((held - next) / repetition.interval).rounded(.down) + 1
            next = next + skipped * repetition.interval
        }
        // A successful run within the skipped windows ends the skipping: the next window is the
        // first one that begins at least an interval, less twice the tolerance, after the run.
        let near = last + (repetition.interval - 2 * slack)
        let spared = min(
            ((next - near) / repetition.interval).rounded(.down),
            ((next - max(last, held)) / repetition.interval).rounded(.up) - 1)
        if spared > 0 { next = next + -(spared * repetition.interval) }
        if next + repetition.interval <= now {
            let missed = ((now - next) / repetition.interval).rounded(.down)
            next = next + missed * repetition.interval
        }
        window = next
        mayBeginAt = max(next, last + (repetition.interval - slack))
        dueAt = max(Self.sharedMoment(in: next, repetition, place: place), mayBeginAt)
        waivesAt = max(next + slack, dueAt)
        assert(mayBeginAt <= dueAt, "no run begins before it may")
        assert(mayBeginAt - last >= repetition.interval - slack - 0.01, "runs keep their distance")
    }

    /// When in a window a run is meant to begin: at a moment that the windows of other requests of
    /// this machine have as well, so that they begin together, and that differs between machines,
    /// so that a fleet spreads.
    ///
    /// These moments lie on a grid of the interval; where none of them is in the window, on one of
    /// half the interval, and so on. All grids of a machine have one moment in common. The moment
    /// is at the same distance in each window.
    private static func sharedMoment(
        in window: Timestamp, _ repetition: TaskRepetition, place: Double
    ) -> Timestamp {
        let slack = repetition.slack
        // Less than the resolution of the clock.
        guard slack > 0.002 else { return window }
        let origin = Timestamp(milliseconds: Int64(place * 86_400_000))
        var step = repetition.interval
        while true {
            let moment = origin + ((window - origin) / step).rounded(.up) * step
            if moment - window <= slack { return max(moment, window) }
            step /= 2
        }
    }

    /// A clock that was set back: what was written at a later moment than now was meant to last as
    /// long from now on. An earliest moment was asked for, and stays.
    ///
    /// - Parameters:
    ///   - isDaily: It is due at times of day.
    ///   - hasCalendar: It is due at moments of a calendar, which may be far away.
    package mutating func follow(
        _ written: Timestamp, earliest: Timestamp? = nil, isDaily: Bool = false,
        hasCalendar: Bool = false, now: Timestamp
    ) {
        let jump = written - now
        guard jump > 0 else { return }
        lastStart = lastStart.map { $0 + -jump }
        window = window.map { $0 + -jump }
        guard dueAt < .distantFuture else { return }
        if isDaily || hasCalendar {
            // A time of day does not depend on the clock before; the run of a time that
            // comes once more has been.
            let ahead = hasCalendar ? min(jump, dueAt - now) : dueAt - now
            if ahead > Limits.dailyMaximumSeconds { dueAt = now }
            mayBeginAt = dueAt
            return
        }
        let soonest = earliest ?? now
        dueAt = max(dueAt + -jump, soonest)
        mayBeginAt = max(mayBeginAt + -jump, soonest)
        waivesAt = waivesAt.map { max($0 + -jump, dueAt) }
    }

    /// The rules of a zone have changed, or the machine is in another one: a run that waits for a
    /// time of day waits for the moment that the same words mean now. One that is due stays due.
    ///
    /// - Returns: Whether the moment is another one.
    package mutating func followZone(
        of request: TaskRequest, now: Timestamp, _ time: LocalTime
    ) -> Bool {
        guard let job = request.job, job.hasMoments, dueAt > now, dueAt < .distantFuture,
            deferrals == 0, failures == 0 || !job.isTriedAgain(afterFailures: failures),
            !job.isMoment(dueAt, time)
        else { return false }
        let begin = max(now, request.earliestBegin ?? now)
        dueAt = job.nextMoment(after: begin + -0.001, time) ?? .distantFuture
        assert(dueAt > now + -1, "the run of a time that has passed is not due again")
        mayBeginAt = dueAt
        waivesAt = request.preferencesEnd(due: dueAt)
        return true
    }

    /// A client has ended the delays of its host: what waits for a back-off is due. Preferences
    /// count until the end of its window, to which the back-off had added.
    package mutating func forgive(_ repetition: TaskRepetition?, now: Timestamp) {
        failures = 0
        deferrals = 0
        // A request that waits for a change waits for no delay.
        guard dueAt < .distantFuture else { return }
        dueAt = min(dueAt, now)
        mayBeginAt = min(mayBeginAt, now)
        guard let repetition, let window else { return }
        waivesAt = waivesAt.map { min($0, max(window + repetition.slack, now)) }
    }

    /// Refreshes that bring nothing come more rarely, until one succeeds. Other requests skip
    /// nothing, also where they have the place of such a refresh.
    package mutating func countEmpty(_ end: TaskEnd, of request: TaskRequest) {
        guard request.kind == .refresh, request.repetition != nil else { return emptyRuns = 0 }
        if end == .result(.success) { emptyRuns = 0 }
        if end == .result(.noData) { emptyRuns = min(emptyRuns + 1, Limits.emptyRunsCounted) }
    }

    /// Seconds until a task comes again after this number of deferrals in a row.
    package static func delay(afterDeferrals deferrals: Int) -> Double {
        guard deferrals > 0 else { return 0 }
        return deferrals > 10
            ? Limits.deferralMaximumSeconds
            : min(Double(1 << (deferrals - 1)), Limits.deferralMaximumSeconds)
    }
}

/// How a run of a task ended.
package enum TaskEnd: Hashable, Sendable {
    /// The host said so, or its exit status did.
    case result(TaskResult)
    /// The launch expired before the task had a result.
    case expired(ExpirationReason)
    /// How the launch ended is not known.
    case lost

    /// The user is notified of a run of this program that has ended so: of a host's when its time
    /// was used up, of a job's when it has failed. A job that runs once is also notified of when it
    /// is done; one that runs again and again is silent then. A person who has cancelled a run
    /// knows, and a run that was put off or interrupted comes again.
    package func isNotified(of program: LaunchedProgram) -> Bool {
        guard program.notifies else { return false }
        switch self {
        case .lost, .expired(.requirement), .expired(.cancelled), .result(.deferred): return false
        case .expired: return true
        case .result(.failure): return program.isJob
        case .result(.success), .result(.noData): return program.job?.isOnce ?? false
        }
    }
}

/// Effect of a run's end on its request: pure.
package enum TaskSettlement: Hashable, Sendable {
    /// The request is carried out.
    case done
    /// The request waits again.
    case again(TaskTiming)

    /// - Parameters:
    ///   - timing: As it was when the run began.
    ///   - started: When the run began.
    ///   - time: The zone of times of day.
    package static func decide(
        _ request: TaskRequest, _ timing: TaskTiming, _ end: TaskEnd, started: Timestamp,
        place: Double, now: Timestamp, _ time: LocalTime = .utc
    ) -> TaskSettlement {
        var next = timing
        switch end {
        case .result(.deferred), .lost: return again(request, &next, now)
        case .expired(.requirement) where request.returnsAfterExpiration:
            return again(request, &next, now)
        // A request that is not to come again after such an end has had its run.
        case .result(.success), .result(.noData), .expired(.requirement), .expired(.cancelled):
            next.failures = 0
        case .result(.failure), .expired: next.failures += 1
        }
        // A person sees how it has ended, and begins it again.
        if request.kind == .continued { return .done }
        next.countEmpty(end, of: request)
        next.deferrals = 0
        next.lastStart = min(started, now)
        if let job = request.job {
            return settle(job, request, &next, place: place, now: now, time)
        }
        let retryAt = now + LaunchPolicy.delay(afterFailures: next.failures)
        if let repetition = request.repetition {
            next.moveOn(repetition, of: request, place: place, now: now)
            if next.failures > 0 {
                next.dueAt = max(next.dueAt, retryAt)
                next.mayBeginAt = next.dueAt
                next.waivesAt = next.waivesAt.map { max($0, next.dueAt) }
            }
            return .again(next)
        }
        if next.failures > 0 {
            next.dueAt = retryAt
            next.mayBeginAt = retryAt
            return .again(next)
        }
        if !request.isStanding { return .done }
        next.dueAt = .distantFuture
        next.mayBeginAt = .distantFuture
        return .again(next)
    }

    /// A due run of a job is tried again a number of times before the next one is due.
    private static func settle(
        _ job: JobSchedule, _ request: TaskRequest, _ next: inout TaskTiming, place: Double,
        now: Timestamp, _ time: LocalTime
    ) -> TaskSettlement {
        let attempt = job.attempt(ofFailures: next.failures)
        if attempt > 0, job.isTriedAgain(afterFailures: next.failures) {
            next.dueAt = now + LaunchPolicy.delay(afterFailures: attempt)
            next.mayBeginAt = next.dueAt
            next.waivesAt = request.preferencesEnd(after: next)
            return .again(next)
        }
        if let repetition = request.repetition {
            next.moveOn(repetition, of: request, place: place, now: now)
            return .again(next)
        }
        if job.hasMoments {
            guard let due = job.nextMoment(after: now, time) else { return .done }
            next.dueAt = due
            next.waivesAt = request.preferencesEnd(due: next.dueAt)
        } else if request.isStanding {
            next.dueAt = .distantFuture
        } else {
            return .done
        }
        next.mayBeginAt = next.dueAt
        return .again(next)
    }

    private static func again(
        _ request: TaskRequest, _ timing: inout TaskTiming, _ now: Timestamp
    ) -> TaskSettlement {
        timing.deferrals += 1
        timing.dueAt = now + TaskTiming.delay(afterDeferrals: timing.deferrals)
        timing.mayBeginAt = timing.dueAt
        // Preferences whose time was over do not come back, nor do they count for as long as a
        // back-off would have lasted.
        if let repetition = request.repetition {
            let end = timing.window.map { $0 + repetition.slack } ?? timing.dueAt
            timing.waivesAt = max(min(timing.waivesAt ?? timing.dueAt, end), timing.dueAt)
        } else if request.job != nil {
            timing.waivesAt = request.preferencesEnd(after: timing)
        }
        return .again(timing)
    }
}
