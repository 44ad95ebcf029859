/// What an engine goes by besides the queue and the machine's conditions, for other processes to
/// explain a wait as it would itself.
package struct EngineOutlook: Hashable, Codable, Sendable {
    package struct Box: Hashable, Codable, Sendable {
        package var seconds: Double
        package var endsAt: Timestamp

        package init(seconds: Double, endsAt: Timestamp) {
            self.seconds = seconds
            self.endsAt = endsAt
        }
    }

    package var limits = SchedulerLimits()
    /// See ``Surroundings/networkSettlesAt``.
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

extension EngineOutlook {
    /// Why a transfer that waits for no condition and no time has not been started.
    ///
    /// - Parameters:
    ///   - bytes: that are left of it; `nil` = unknown.
    ///   - memory: what is known of its origin.
    package func turn(
        isDiscretionary: Bool, since: Timestamp?, bytes: Int64?, memory: OriginMemory?,
        running: RunningNumbers, now: Timestamp
    ) -> WaitReason {
        if isLyingDown {
            return WaitReason(
                .engine, required: "one that begins something",
                current: "the machine sleeps, or this one leaves", since: since)
        }
        if let only = onlyDiscretionary, only != isDiscretionary {
            return WaitReason(
                .engine,
                required:
                    only ? "one for immediate transfers" : "one for discretionary transfers",
                current: only
                    ? "this one is for discretionary transfers only"
                    : "this one is for immediate transfers only",
                since: since)
        }
        if let memory, let reason = origin(memory, running, since: since, now: now) {
            return reason
        }
        if running.total < limits.running {
            if isDiscretionary, running.discretionary >= limits.runningDiscretionary {
                return WaitReason(
                    .concurrency,
                    required: "fewer than \(limits.runningDiscretionary) discretionary running",
                    current: "\(running.discretionary)", since: since)
            }
            if let reason = boxHolds(bytes, memory, since: since, now: now) { return reason }
        }
        return WaitReason(
            .concurrency, required: "fewer than \(limits.running) running",
            current: "\(running.total)",
            since: since)
    }

    private func origin(
        _ memory: OriginMemory, _ running: RunningNumbers, since: Timestamp?, now: Timestamp
    ) -> WaitReason? {
        var allowed = limits.connections(to: OriginState(memory, now: now))
        switch memory.health(at: now) {
        case .cooling(let until):
            return WaitReason(
                .originCooldown, required: "a server that answers", current: "cooling down",
                since: since, nextCheck: until)
        case .probing:
            if running.ofOrigin > 0 {
                return WaitReason(
                    .originCooldown, required: "a server that answers",
                    current: "one transfer tries first", since: since)
            }
            allowed = 1
        case .well: break
        }
        guard running.ofOrigin >= allowed else { return nil }
        return WaitReason(
            .originLimit, required: "fewer than \(allowed) at its server",
            current: "\(running.ofOrigin)",
            since: since)
    }

    /// The same as in a plan: half of the box is for what fits into it.
    private func boxHolds(
        _ bytes: Int64?, _ memory: OriginMemory?, since: Timestamp?, now: Timestamp
    ) -> WaitReason? {
        guard let box, let bytes, let rate = memory?.bytesPerSecond, rate > 0 else { return nil }
        let seconds = Double(bytes) / rate
        let left = max(0, box.endsAt - now)
        guard seconds > left, left < box.seconds / 2 else { return nil }
        return WaitReason(
            .engine, required: "\(Int(min(seconds, 1e15))) s of its time",
            current: "\(Int(left)) s left of its box", since: since)
    }
}
