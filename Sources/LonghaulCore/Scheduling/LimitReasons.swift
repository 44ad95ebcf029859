/// Why limits hold a transfer back: decided and said in one way, for the plan and for whoever asks
/// `why` in another process.
extension SchedulerLimits {
    /// What holds one more transfer back from an origin; `nil` = nothing.
    func blockage(of origin: OriginState, connections: Int, since: Timestamp?) -> WaitReason? {
        let allowed: Int
        switch origin.health {
        case .cooling(let until):
            return WaitReason(
                .originCooldown, required: "a server that answers", current: "cooling down",
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

    func allRun(_ count: Int, since: Timestamp?) -> WaitReason {
        WaitReason(
            .concurrency, required: "fewer than \(running) running", current: "\(count)",
            since: since)
    }

    func allDiscretionaryRun(_ count: Int, since: Timestamp?) -> WaitReason {
        WaitReason(
            .concurrency, required: "fewer than \(runningDiscretionary) discretionary running",
            current: "\(count)", since: since)
    }
}

extension TimeBox {
    /// What does not fit is begun in the first half all the same, unless all of it would be lost at
    /// the end; `nil` = it may begin.
    func blockage(
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
    func end(since: Timestamp?) -> WaitReason? {
        guard left <= 0 else { return nil }
        return WaitReason(
            .engine, required: "time", current: "the box of this one is over", since: since)
    }
}
