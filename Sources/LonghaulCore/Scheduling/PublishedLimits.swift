/// What an engine goes by besides the queue and the machine's conditions, for other processes to
/// explain a wait as it would itself.
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
    /// Only discretionary (`true`) or only immediate (`false`) transfers are started.
    package var onlyDiscretionary: Bool?
    /// The time that it was given.
    package var box: Box?
    /// It begins nothing: the machine sleeps or is about to, or the engine leaves.
    package var isLyingDown = false

    package init() {}
}

/// How much is running, beside a transfer that waits.
package struct RunningNumbers: Sendable {
    package var total: Int
    package var discretionary: Int
    /// Of the transfer's origin.
    package var ofOrigin: Int

    package init(total: Int, discretionary: Int, ofOrigin: Int) {
        self.total = total
        self.discretionary = discretionary
        self.ofOrigin = ofOrigin
    }
}

extension PublishedLimits {
    /// Why a transfer that waits for no condition and no time has not been started.
    ///
    /// - Parameters:
    ///   - isAwaited: see ``EligibilityKey/isAwaited``.
    ///   - bytes: that are left of it; `nil` = unknown.
    ///   - isUnresumable: see ``Candidate/isUnresumable``.
    ///   - memory: what is known of its origin.
    package func turn(
        isDiscretionary: Bool, isAwaited: Bool = false, since: Timestamp?, bytes: Int64?,
        isUnresumable: Bool = false, memory: OriginMemory?,
        running: RunningNumbers, now: Timestamp
    ) -> WaitReason {
        if isLyingDown {
            return WaitReason(
                .engine, required: "one that begins something",
                current: "the machine sleeps, or this one leaves", since: since)
        }
        if let only = onlyDiscretionary, only != isDiscretionary, !isAwaited {
            return WaitReason(
                .engine,
                required:
                    only ? "one for immediate transfers" : "one for discretionary transfers",
                current: only
                    ? "this one is for discretionary transfers only"
                    : "this one is for immediate transfers only",
                since: since)
        }
        if let memory,
            let reason = limits.blockage(
                of: OriginState(memory, now: now), connections: running.ofOrigin, since: since)
        {
            return reason
        }
        if running.total < limits.running {
            if isDiscretionary, running.discretionary >= limits.runningDiscretionary {
                return limits.allDiscretionaryRun(running.discretionary, since: since)
            }
            let box = box?.box(at: now)
            if let reason = box?.end(since: since) { return reason }
            if !isAwaited, let box, let bytes, let rate = memory?.bytesPerSecond, rate > 0 {
                let reason = box.blockage(
                    ofSeconds: Double(bytes) / rate, isUnresumable: isUnresumable, since: since)
                if let reason { return reason }
            }
            return WaitReason(
                .engine, required: "one that begins it", current: "this one has not come to it",
                since: since)
        }
        return limits.allRun(running.total, since: since)
    }

    /// Why one of this origin will not be begun yet whatever else runs; `nil` = it may be.
    package func coolDown(
        of memory: OriginMemory, since: Timestamp?, now: Timestamp
    ) -> WaitReason? {
        let reason = limits.blockage(
            of: OriginState(memory, now: now), connections: 0, since: since)
        return reason?.reason == .originCooldown ? reason : nil
    }
}
