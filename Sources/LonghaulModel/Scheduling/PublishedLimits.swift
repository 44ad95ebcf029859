/// The facts that an engine decides by besides the queue and the machine's conditions. They are
/// published, so that other processes explain a wait as the engine would itself.
package struct PublishedLimits: Hashable, Codable, Sendable {
    package struct Box: Hashable, Codable, Sendable {
        package var seconds: Double
        package var endsAt: Timestamp
        package var unresumable: UnresumablePolicy

        package init(
            seconds: Double, endsAt: Timestamp, unresumable: UnresumablePolicy = .wait
        ) {
            self.seconds = seconds
            self.endsAt = endsAt
            self.unresumable = unresumable
        }

        func box(at now: Timestamp) -> TimeBox {
            TimeBox(length: seconds, left: max(0, endsAt - now), unresumable: unresumable)
        }
    }

    package var limits = SchedulerLimits()
    /// See ``ConditionSnapshot/networkSettlesAt``.
    package var networkSettlesAt: Timestamp?
    /// `true` = discretionary transfers alone are started, `false` = immediate ones alone.
    package var onlyDiscretionary: Bool?
    /// The time that it was given.
    package var box: Box?
    /// The engine begins nothing: the machine sleeps or is about to, or the engine leaves.
    package var isSuspended = false

    package init() {}
}

/// How much is running, beside a transfer that waits.
package struct RunningNumbers: Sendable {
    package var total: Int
    package var discretionary: Int
    /// The limit of the transfer's origin.
    package var ofOrigin: Int

    package init(total: Int, discretionary: Int, ofOrigin: Int) {
        self.total = total
        self.discretionary = discretionary
        self.ofOrigin = ofOrigin
    }
}

extension PublishedLimits {
    /// True if it starts transfers of this kind at all. Transfers that a foreground process waits
    /// for always count.
    package func starts(_ eligibility: EligibilityKey) -> Bool {
        let isDiscretionary = eligibility.isDiscretionary
        return eligibility.isAwaited
            || (onlyDiscretionary ?? isDiscretionary) == isDiscretionary
    }

    /// Why a transfer that waits for no condition and no time has not been started: the reason that
    /// a plan would give.
    ///
    /// - Parameter memory: The memory of its origin; `nil` = its origin alone does not decide.
    package func turn(
        of candidate: Candidate, memory: OriginMemory?, running: RunningNumbers, now: Timestamp
    ) -> WaitReason {
        let since = candidate.waitingSince
        if isSuspended {
            return WaitReason(
                .engine, required: "one that begins something",
                current: "the machine sleeps, or this one leaves", since: since)
        }
        if let only = onlyDiscretionary, !starts(candidate.eligibility) {
            return WaitReason(
                .engine,
                required:
                    only ? "one for immediate transfers" : "one for discretionary transfers",
                current: only
                    ? "this one is for discretionary transfers only"
                    : "this one is for immediate transfers only",
                since: since)
        }
        let origin = memory.flatMap {
            limits.blockage(
                of: OriginState($0, now: now), connections: running.ofOrigin, since: since)
        }
        let places = PlacesInUse(
            running: running.total, discretionary: running.discretionary,
            box: box?.box(at: now))
        return origin ?? places.blockage(of: candidate, limits, now: now)
            ?? .ready(since: since)
    }

    /// Why a transfer of this origin will not begin yet, regardless of other transfers; `nil` = it
    /// may.
    package func coolDown(
        of memory: OriginMemory, since: Timestamp?, now: Timestamp
    ) -> WaitReason? {
        let reason = limits.blockage(
            of: OriginState(memory, now: now), connections: 0, since: since)
        return reason?.reason == .originCooldown ? reason : nil
    }
}
