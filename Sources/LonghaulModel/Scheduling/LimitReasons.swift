/// Why limits hold a transfer back: decided and said in one way, for the plan and for `why` in
/// another process.
extension SchedulerLimits {
    /// Reason why an origin takes no further transfer now; `nil` = it takes one.
    package func blockage(of origin: OriginState, connections: Int, since: Timestamp?)
        -> WaitReason?
    {
        let allowed: Int
        switch origin.health {
        case .cooling(let until):
            return WaitReason(
                .originCooldown, required: "a server that answers", current: origin.lastFailure,
                since: since, nextCheck: until)
        case .probing:
            if connections > 0 {
                return WaitReason(
                    .originCooldown, required: "a server that answers",
                    current: "one transfer tries first", since: since)
            }
            allowed = 1
        case .well: allowed = self.connections(to: origin) + origin.prefetched
        }
        guard connections >= allowed else { return nil }
        return WaitReason(
            .originLimit, required: "fewer than \(allowed) at its server",
            current: "\(connections)", since: since)
    }

    /// The origin can take no more until one of its transfers gives its place back.
    package func isFull(_ origin: OriginState, connections: Int) -> Bool {
        blockage(of: origin, connections: connections, since: nil).map { $0.nextCheck == nil }
            ?? false
    }

}

/// Used part of an engine's limits, and the rest of its time.
package struct PlacesInUse {
    package var running = 0
    package var discretionary = 0
    let box: TimeBox?

    package init(running: Int = 0, discretionary: Int = 0, box: TimeBox?) {
        self.running = running
        self.discretionary = discretionary
        self.box = box
    }

    /// Reason why a candidate does not start although its conditions hold and its origin takes one
    /// more; `nil` = none.
    ///
    /// - Parameters:
    ///   - needsPlace: Not where it is only made ready for a connection that others have.
    ///   - byAge: It starts for having waited longest, even if it is discretionary.
    package func blockage(
        of candidate: Candidate, _ limits: SchedulerLimits, needsPlace: Bool = true,
        byAge: Bool = false, now: Timestamp
    ) -> WaitReason? {
        let since = candidate.waitingSince
        if running >= limits.running, needsPlace {
            return WaitReason(
                .concurrency, required: "fewer than \(limits.running) running",
                current: "\(running)", since: since)
        }
        let yields =
            candidate.eligibility.isDiscretionary && !byAge && !candidate.isUrgent(now: now)
        if yields, discretionary >= limits.runningDiscretionary {
            return WaitReason(
                .concurrency,
                required: "fewer than \(limits.runningDiscretionary) discretionary running",
                current: "\(discretionary)", since: since)
        }
        if let reason = box?.end(since: since) { return reason }
        if candidate.eligibility.isAwaited { return nil }
        return box?.blockage(
            ofSeconds: candidate.expectedSeconds,
            isUnresumable: candidate.isUnresumable || candidate.eligibility.goesOnce, since: since)
    }
}

extension TimeBox {
    /// Reason why the length of a transfer holds it back; `nil` = it may begin. A transfer that
    /// does not fit still begins in the first half of the time, unless all of it would be lost at
    /// the end.
    fileprivate func blockage(
        ofSeconds seconds: Double?, isUnresumable: Bool, since: Timestamp?
    ) -> WaitReason? {
        let waits = isUnresumable && unresumable == .wait
        guard let seconds, seconds > left, waits || left < length / 2 else { return nil }
        let required = "\(Int(min(seconds, 1e15))) s of its time"
        let current = "\(Int(max(0, left))) s left of its box"
        return WaitReason(
            .engine, required: waits ? "\(required) in one go" : required,
            current: waits ? "\(current); nothing lets it resume" : current, since: since)
    }

    /// While the last ones are let finish: nothing begins.
    fileprivate func end(since: Timestamp?) -> WaitReason? {
        guard left <= 0 else { return nil }
        return WaitReason(
            .engine, required: "time", current: "the box of this one is over", since: since)
    }
}
