/// When a refresh may start, by what is known of its host's use, and why then.
package struct RefreshTiming: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// The host has not been observed for long enough; or its refreshes are a day apart anyway.
        case asAsked
        /// Its host is likely to be used soon after, at about this moment.
        case beforeUse(Timestamp)
        /// No use is likely within a day: one refresh a day.
        case daily
        /// Its host has not been used since then: two refreshes a day at most, later one.
        case unused(since: Timestamp)
    }

    /// Never before the refresh is due; at or before now: it may start.
    package var startsAt: Timestamp
    package var reason: Reason

    /// Only refreshes that repeat or have an earliest moment are asked about. The answer may be
    /// asked for again at any time: nothing is remembered between two.
    ///
    /// - Parameters:
    ///   - due: When it is due by its own definition.
    ///   - lastRun: The last start of the same refresh, by this or an earlier request.
    package static func decide(
        due: Timestamp, lastRun: Timestamp?, usage: UsageHistogram, now: Timestamp,
        _ time: LocalTime
    ) -> RefreshTiming {
        let soonest = max(due, now)
        // Of a clock that was set back: a moment to come holds nothing.
        let last = min(lastRun ?? due, now)
        let latest = max(due, last + Limits.refreshHeldSeconds)
        if now - usage.observedSince < Limits.usageLearningSeconds || latest <= soonest {
            return RefreshTiming(startsAt: due, reason: .asAsked)
        }
        let unusedSince = usage.lastUse ?? usage.observedSince
        let unused = now - unusedSince
        if unused >= Limits.usageForgottenSeconds {
            return RefreshTiming(startsAt: latest, reason: .unused(since: unusedSince))
        }
        let isSeldom = unused >= Limits.usageSeldomSeconds && lastRun != nil
        let first = isSeldom ? max(soonest, last + Limits.refreshHeldSeconds / 2) : soonest
        guard let (start, use) = usage.nextLikely(from: first, time), start < latest else {
            return RefreshTiming(startsAt: latest, reason: .daily)
        }
        return RefreshTiming(
            startsAt: start, reason: isSeldom ? .unused(since: unusedSince) : .beforeUse(use))
    }

    /// In a sentence; `nil` when it starts as asked.
    package func sentence(shown: (Timestamp) -> String) -> String? {
        switch reason {
        case .asAsked: nil
        case .beforeUse(let use): "its host is usually used at about \(shown(use))"
        case .daily: "its host is not usually used within a day"
        case .unused(let since): "its host has not been used since \(shown(since))"
        }
    }
}

extension UsageHistogram {
    /// The first moment within a day at which a use is likely within the hour, and when about.
    fileprivate func nextLikely(
        from now: Timestamp, _ time: LocalTime
    ) -> (start: Timestamp, use: Timestamp)? {
        let first = QuarterHour(now, time)
        let expected = expected(from: first, count: 101, time)
        // A burst counts once: the next use is at least so much later.
        let burst = lastUse.map { QuarterHour($0 + Limits.usageBurstSeconds, time).number } ?? .min
        func within(_ index: Int, after quarter: Int64 = .min) -> Double {
            var sum = 0.0
            for step in 0...4 where first.number + Int64(index + step) >= quarter {
                sum += expected[index + step] * (step == 0 || step == 4 ? 0.5 : 1)
            }
            return sum
        }
        let peak = (0...96).reduce(0) { max($0, within($1)) }
        let threshold = max(Limits.likelyUse, peak * Limits.likelyUseOfPeak)
        guard let index = (0...96).first(where: { within($0, after: burst) >= threshold })
        else { return nil }
        let start = QuarterHour(number: first.number + Int64(index)).start(time)
        let middle = (1...4).max { expected[index + $0] < expected[index + $1] } ?? 1
        let use = QuarterHour(number: first.number + Int64(index + middle)).start(time)
        return (max(now, start), use)
    }
}
