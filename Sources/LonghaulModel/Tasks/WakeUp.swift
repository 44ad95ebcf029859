/// A message that wakes a host. The counterpart of a background push.
public struct WakeUp: Hashable, Sendable {
    /// Waiting wake-ups of one identifier are merged; `nil` = one without a name.
    public var identifier: String?
    /// A JSON text that is handed to the host; of merged ones the newest. `nil` = none.
    public var payload: String?
    /// Handed over at once, also while the host is delayed after a failure, on battery, and beyond
    /// the budget of the host. A host that does not handle three in a row loses this for a day.
    public var isUrgent: Bool
    /// Dropped when it has not been handed over by then; `nil` = never. A moment that has come =
    /// handed over now or never.
    public var expiresAt: Timestamp?
    /// Conditions that must hold, also for an urgent one.
    public var requires = ConditionNeeds()
    /// Conditions that should hold, for a day; `nil` = external power, and no power saving. An
    /// urgent one has none.
    public var prefers: ConditionNeeds?

    /// A background wake-up without a name by default.
    public init(
        identifier: String? = nil, payload: String? = nil, isUrgent: Bool = false,
        expiresAt: Timestamp? = nil
    ) {
        self.identifier = identifier
        self.payload = payload
        self.isUrgent = isUrgent
        self.expiresAt = expiresAt
    }

    /// The wake-up as a row of the requests.
    ///
    /// - Parameter waiting: The one that it replaces: urgency and the end of preferences stay.
    package func request(
        replacing waiting: StoredTask?, now: Timestamp
    ) -> (request: TaskRequest, isUrgent: Bool, expiresAt: Timestamp?, timing: TaskTiming) {
        let isUrgent = isUrgent || waiting?.isUrgent ?? false
        var request = TaskRequest(identifier: identifier ?? "")
        request.requirements = requires
        request.prefers = isUrgent ? ConditionNeeds() : prefers ?? .polite
        let isNowOrNever = expiresAt.map { $0 <= now } ?? false
        let expiresAt = isNowOrNever ? now + Limits.wakeUpNowSeconds : expiresAt
        var dueAt = now
        if !isUrgent, !isNowOrNever {
            dueAt = min(waiting?.timing.dueAt ?? .distantFuture, now + Limits.wakeUpMergeSeconds)
            // Handed over before it expires.
            let latest = expiresAt.map { $0 + -Limits.wakeUpMergeSeconds }
            dueAt = max(now, min(dueAt, latest ?? dueAt))
        }
        var timing = TaskTiming(dueAt: dueAt)
        timing.mayBeginAt = now
        if request.eligibility.eligibility.hasPreferences {
            let day = now + Limits.jobPreferenceSeconds
            timing.waivesAt = min(waiting?.timing.waivesAt ?? day, day)
        }
        return (request, isUrgent, expiresAt, timing)
    }
}

extension WakeUpBudget {
    /// A launch that carries anything else is not counted: it would have begun all the same.
    package static func pays(
        for tasks: [StoredTask], urgencyLostUntil lost: Timestamp?, now: Timestamp
    )
        -> Bool
    {
        let areUrgent = lost.map { $0 <= now } ?? true
        return !tasks.isEmpty
            && tasks.allSatisfy { $0.kind == .wakeUp && !($0.isUrgent && areUrgent) }
    }
}
