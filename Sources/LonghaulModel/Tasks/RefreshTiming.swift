/// When a refresh may start, by what is known of its host's use, and why then.
package struct RefreshTiming: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// When it is due. The host has not been observed for long enough, or the last run was so
        /// long ago that it is not held any longer.
        case asAsked
        /// The host is usually used at about this moment.
        case beforeUse(Timestamp)
        /// No use is likely in time: it runs a day after the last run.
        case daily
        /// The host has not been used since then: the refresh runs a day after the last run.
        case unused(since: Timestamp)
    }

    /// Never before it is due; if that is not after now, it may start.
    package let startsAt: Timestamp
    package let reason: Reason

    /// Nothing is remembered from one answer to the next: it may be asked for at any time, and is
    /// asked for again when the clock was set or the host was used.
    ///
    /// - Parameters:
    ///   - due: When it is due by its own definition.
    ///   - lastRun: The last start of a request of this name; `nil` = none is known.
    package static func decide(
        due: Timestamp, lastRun: Timestamp?, usage: UsageHistogram, now: Timestamp,
        _ time: LocalTime
    ) -> RefreshTiming {
        // A run that lies ahead, since the clock was set back, is as good as unknown.
        let last = lastRun.flatMap { $0 > now ? nil : $0 } ?? due
        let latest = max(due, last + Limits.refreshHeldSeconds)
        let soonest = max(due, now)
        if now - usage.observedSince < Limits.usageLearningSeconds || latest <= soonest {
            return RefreshTiming(startsAt: due, reason: .asAsked)
        }
        let lastUse = usage.lastUse ?? usage.observedSince
        if now - lastUse >= Limits.usageForgottenSeconds {
            return RefreshTiming(startsAt: latest, reason: .unused(since: lastUse))
        }
        guard let (start, use) = usage.likelyUse(from: soonest, time), start < latest else {
            return RefreshTiming(startsAt: latest, reason: .daily)
        }
        return RefreshTiming(startsAt: start, reason: .beforeUse(use))
    }

    /// The reason in a sentence; `nil` for a refresh that starts when it is due.
    ///
    /// - Parameter shown: How a moment is written.
    package func sentence(shown: (Timestamp) -> String) -> String? {
        switch reason {
        case .asAsked: nil
        case .beforeUse(let use): "its host is usually used at about \(shown(use))"
        case .daily: "its host is not usually used before then"
        case .unused(let since): "its host has not been used since \(shown(since))"
        }
    }
}

extension UsageHistogram {
    /// The first moment within a day that a use is likely to follow soon, and when about it does.
    fileprivate func likelyUse(
        from now: Timestamp, _ time: LocalTime
    ) -> (start: Timestamp, use: Timestamp)? {
        let first = QuarterHour(now, time)
        let ahead = Limits.likelyUseQuarters
        let expected = expected(from: first, count: 96 + 2 * ahead, time)
        // A burst counts once: the next use is at least so much later.
        var open = 0
        if let lastUse, lastUse <= now {
            let burst = QuarterHour(lastUse + Limits.usageBurstSeconds, time)
            open = Int(max(0, burst.number - first.number))
        }
        let found = (0...96).first { index in
            let from = max(index, open)
            return from < index + ahead
                && expected[from..<index + ahead].reduce(0, +) >= Limits.likelyUse
        }
        guard let found else { return nil }
        // The middle of the uses that follow.
        var (sum, moment) = (0.0, 0.0)
        for index in found..<found + 2 * ahead {
            sum += expected[index]
            moment += expected[index] * Double(index)
        }
        let use = QuarterHour(number: first.number + Int64(moment / sum + 0.5))
        let start = QuarterHour(number: first.number + Int64(found)).start(time)
        return (max(now, start), use.start(time))
    }
}
