/// A stored request or wake-up.
package struct StoredTask: Sendable {
    package var id: TaskID
    package var host: String
    package var kind: DueTask.Kind
    package var request: TaskRequest
    package var isUrgent: Bool
    package var expiresAt: Timestamp?
    package var submittedAt: Timestamp
    /// What must and should hold, as submitted; see ``eligibility(at:)``.
    package var eligibility: EligibilityKey
    package var timing: TaskTiming
    /// When the timing was written.
    package var writtenAt: Timestamp
    /// Triggers that have fired and are not handed over yet.
    package var trigger: FiredTrigger?
    /// The launch that carries it; `nil` = it waits.
    package var launch: LaunchID?
    package var startedAt: Timestamp?
    /// Triggers that the present launch of a standing request hands over.
    package var firedBy: FiredTrigger?
    /// A launch, or the end of the one that carries it, was asked for.
    package var isSimulated = false
    /// The run that carries it is to be cancelled.
    package var isCancelled = false
    package var isPaused = false
    /// The transfers that must complete before it is due.
    package var awaits: [TransferID] = []
    /// The start of the last run of this name; `nil` = unknown, or not a refresh.
    package var lastRun: Timestamp?
    /// The last run was stopped since a requirement was lost, and comes again.
    package var wasStopped = false
    /// What its program has reported in this run; `nil` = nothing.
    package var report: ProgressReport?
    /// The number of such reports.
    package var reports = 0

    package init(
        id: TaskID, kind: DueTask.Kind, request: TaskRequest, host: String, timing: TaskTiming,
        submittedAt: Timestamp
    ) {
        self.id = id
        self.kind = kind
        self.request = request
        self.host = host
        self.timing = timing
        self.submittedAt = submittedAt
        isUrgent = false
        eligibility = request.eligibility.eligibility
        writtenAt = submittedAt
    }
}

extension StoredTask {
    /// Title and subtitle of a continued task, as its program has replaced them.
    package var continued: ContinuedWork? {
        guard var work = request.continued else { return nil }
        work.title = report?.title ?? work.title
        work.subtitle = report?.subtitle ?? work.subtitle
        if work.subtitle == "" { work.subtitle = nil }
        return work
    }

    /// The reason for the next run of a job.
    package var reason: RunReason? {
        guard let job = request.job else { return nil }
        if isSimulated { return .asked }
        if timing.deferrals > 0 { return .again }
        let attempt = job.attempt(ofFailures: timing.failures)
        if attempt > 0, job.isTriedAgain(afterFailures: timing.failures) { return .retry }
        return trigger == nil ? .due : .trigger
    }
}

extension StoredTask {
    /// What must and should hold at a moment: preferences count until their time is over.
    package func eligibility(at now: Timestamp) -> EligibilityKey {
        timing.waivesAt.map { $0 <= now } ?? false ? eligibility.waived : eligibility
    }

    /// Something has happened that a standing request waits for.
    package mutating func fire(_ event: TriggerEvent, now: Timestamp) {
        let fired = FiredTrigger([event], at: now)
        self.trigger = self.trigger?.adding(fired) ?? fired
        if launch == nil { makeDue(now: now) }
    }

    /// The standing request is due when the world has settled.
    package mutating func makeDue(now: Timestamp) {
        var at = now + Limits.triggerSettleSeconds
        if let last = timing.lastStart, last <= now {
            at = max(at, last + Limits.triggerPauseSeconds)
        }
        // A task that has a moment already keeps it: a link that comes and goes would put it off
        // for ever. A failure waits for its back-off, which no change shortens.
        let waitsForBackOff = timing.failures > 0 && timing.dueAt < .distantFuture
        at = waitsForBackOff ? timing.dueAt : min(at, timing.dueAt)
        if let earliest = request.earliestBegin { at = max(at, earliest) }
        timing.dueAt = at
        timing.mayBeginAt = at
        timing.waivesAt = request.preferencesEnd(due: at)
    }

    /// When a refresh starts by the use of its host. `nil` for what learning does not move: all but
    /// refreshes that repeat or have an earliest moment, and those that come again after a failure
    /// or a deferral.
    ///
    /// - Parameter due: `nil` = by its own definition.
    package func refreshTiming(
        _ usage: UsageHistogram?, due: Timestamp? = nil, now: Timestamp, _ time: LocalTime
    ) -> RefreshTiming? {
        guard let usage, kind == .refresh, !request.isStanding,
            request.repetition != nil || request.earliestBegin != nil,
            timing.failures == 0, timing.deferrals == 0, timing.dueAt < .distantFuture
        else { return nil }
        return RefreshTiming.decide(
            due: due ?? timing.dueAt, lastRun: timing.lastStart ?? lastRun, usage: usage, now: now,
            time)
    }
}

extension TaskTiming {
    /// Timing of a task, corrected for a clock that was set back since it was written.
    package init(_ task: StoredTask, at now: Timestamp) {
        self = task.timing
        follow(
            task.writtenAt, earliest: task.request.earliestBegin,
            isDaily: task.request.job?.daily != nil,
            hasCalendar: task.request.job?.calendar != nil, now: now)
    }
}

/// How the world has changed for a standing request, and when it last did so.
package struct FiredTrigger: Hashable, Sendable {
    /// All changes that are handed over together, in order; never empty, each once.
    package private(set) var events: [TriggerEvent]
    package private(set) var at: Timestamp

    /// - Parameter events: Not empty.
    package init(_ events: [TriggerEvent], at: Timestamp) {
        precondition(!events.isEmpty, "something has fired")
        self.events = events
        self.at = at
    }

    package var triggers: [TaskTrigger] { events.map(\.trigger) }

    /// The trigger with everything that has fired since.
    package func adding(_ new: FiredTrigger) -> FiredTrigger {
        var all = self
        let added = new.events.map { event in
            events.first { $0.trigger == event.trigger }.map { event.after($0) } ?? event
        }
        all.events.removeAll { new.triggers.contains($0.trigger) }
        all.events += added
        all.at = new.at
        return all
    }
}
