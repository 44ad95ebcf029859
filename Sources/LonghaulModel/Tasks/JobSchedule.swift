/// The part of a job's request that the request of a program does not have.
package struct JobSchedule: Hashable, Sendable {
    /// Its windows; `nil` = it may run at any time.
    package var windows: TimeWindows?
    /// Preferences, until they have kept a run waiting for a day or half of the time to the
    /// deadline; those of a repeating job, until the end of its tolerance. `nil` = the default of
    /// such a request.
    package var prefers: ConditionNeeds?
    package var isDiscretionary = false
    /// The times of day of its runs; `nil` = it does not repeat daily.
    package var daily: DailyMoment?
    /// The moments of its runs by a calendar; `nil` = it has none. Excludes ``daily``.
    package var calendar: CalendarMoments?
    /// The number of retries of a due run after a failure; `nil` = without end.
    package var retries: Int?
    /// No run begins from this moment on; `nil` = the job has no deadline.
    package var deadline: Timestamp?
    /// The transfers that must have completed before the run. Of a job that runs once.
    package var after: [TransferID] = []

    package init() {}

    /// The zone of its windows and times of day, see ``TimeWindows/timeZone``.
    package var timeZone: String? {
        get { daily?.timeZone ?? calendar?.timeZone ?? windows?.timeZone }
        set {
            daily?.timeZone = newValue
            calendar?.timeZone = newValue
            windows?.timeZone = newValue
        }
    }

    /// Its runs are due when the clock on the wall shows certain times.
    package var hasMoments: Bool { daily != nil || calendar != nil }

    /// The first of these moments that is later than `now`; `nil` = there is none.
    package func nextMoment(after now: Timestamp, _ time: LocalTime) -> Timestamp? {
        daily?.next(after: now, time) ?? calendar?.next(after: now, time)
    }

    package func isMoment(_ moment: Timestamp, _ time: LocalTime) -> Bool {
        nextMoment(after: moment + -0.001, time) == moment
    }

    /// The moment is the last one until now.
    package func isMissed(_ moment: Timestamp, now: Timestamp, _ time: LocalTime) -> Bool {
        isMoment(moment, time) && nextMoment(after: moment, time).map { $0 > now } ?? true
    }

    /// The place of a failure within one due run: 1 for its first attempt. 0 = none failed.
    ///
    /// - Parameter failures: In a row, including earlier due runs.
    package func attempt(ofFailures failures: Int) -> Int {
        guard let retries, failures > 0 else { return failures }
        return (failures - 1) % (retries + 1) + 1
    }

    /// True if the due run is tried again after this number of failures in a row.
    package func isTriedAgain(afterFailures failures: Int) -> Bool {
        retries.map { attempt(ofFailures: failures) <= $0 } ?? true
    }
}

extension TaskRequest {
    /// The phase of its windows at a moment; `nil` = it may run at any time.
    package func windowPhase(at now: Timestamp, _ time: LocalTime) -> TimeWindow.Phase? {
        job?.windows?.phase(at: now, time)
    }

    /// The end of a job's preferences, which count from `due` on; `nil` = it has none.
    package func preferencesEnd(due: Timestamp) -> Timestamp? {
        guard let job, eligibility.eligibility.hasPreferences else { return nil }
        let day = due + Limits.jobPreferenceSeconds
        return job.deadline.map { max(due, min(day, due + ($0 - due) / 2)) } ?? day
    }

    /// The same for a run that comes again: preferences that were waived do not return.
    func preferencesEnd(after timing: TaskTiming) -> Timestamp? {
        guard job != nil, eligibility.eligibility.hasPreferences else { return nil }
        return max(timing.waivesAt ?? timing.dueAt, timing.dueAt)
    }
}

/// The reason why a run of a job began. The text is stored, printed and in the environment of the
/// command.
package enum RunReason: String, Sendable, CaseIterable {
    /// The time of the job had come.
    case due
    /// Something happened that it stands for.
    case trigger
    /// A client asked for it.
    case asked
    /// The run before it failed.
    case retry
    /// The run before it was put off, stopped, or lost with its machine.
    case again

    /// The names of the triggers in place of the word for them.
    package func text(triggers: [String]) -> String {
        self == .trigger && !triggers.isEmpty ? triggers.joined(separator: ",") : rawValue
    }
}

extension SleepInhibition {
    /// True if a run keeps the machine awake in these conditions.
    package func holds(in conditions: Conditions) -> Bool {
        switch self {
        case .off: false
        case .on: true
        case .onPower: conditions.power.value == .external
        }
    }
}
