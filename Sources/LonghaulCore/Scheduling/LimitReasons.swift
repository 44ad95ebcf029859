/// Why limits hold a transfer back: decided and said in one way, for the plan and for `why` in
/// another process.
extension SchedulerLimits {
    /// What holds one more transfer back from an origin; `nil` = nothing.
    func blockage(of origin: OriginState, connections: Int, since: Timestamp?) -> WaitReason? {
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

    /// Whether an origin can take no more until one of its transfers gives its place back.
    package func isFull(_ origin: OriginState, connections: Int) -> Bool {
        blockage(of: origin, connections: connections, since: nil).map { $0.nextCheck == nil }
            ?? false
    }

}

/// What is in use of an engine's limits, and what is left of its time.
struct PlacesInUse {
    var running = 0
    var discretionary = 0
    let box: TimeBox?

    /// What holds back a candidate whose conditions hold and whose origin takes one more; `nil` =
    /// nothing.
    ///
    /// - Parameters:
    ///   - needsPlace: Not where it is only made ready for a connection that others have.
    ///   - byAge: It starts for having waited longest, even if it is discretionary.
    func blockage(
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
    /// What does not fit is begun in the first half all the same, unless all of it would be lost at
    /// the end; `nil` = it may begin.
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
