extension YieldControl {
    /// Keeps the queueing delay near the target, and looks out for others.
    mutating func stayOpen(seconds: Double, _ now: Instant) {
        let delay = queueing(now) ?? 0
        steadyRate += (rate - steadyRate) * min(1, seconds / 0.25)
        capacity.record(steadyRate, at: openTime)
        if isContended(delay, now) {
            guard isUnproven else {
                giveWay(now)
                return
            }
            if delay > 0.6 * Self.target || now - since > 3 {
                measure(delay, asksWhose: true, now)
                return
            }
        }
        if rate > Self.freeShare * (capacity.value ?? 0), now >= settledAt { isUnproven = false }
        if openTime >= nextMeasure, delay > noticeable, now >= settledAt {
            measure(delay, asksWhose: false, now)
            return
        }
        for index in lines.indices {
            lines[index] = steered(lines[index], common: delay, seconds: seconds, now)
        }
    }

    /// Less than the line gives, although packets queue or are lost, for longer than a hiccup.
    private mutating func isContended(_ delay: Double, _ now: Instant) -> Bool {
        let trip = base + delay
        let isLossy = lastLoss.map { now - $0 < max(0.2, 2 * trip) } ?? false
        let best = capacity.value ?? 0
        let inFlight = lines.reduce(0) { $0 + $1.inFlight }
        guard now >= settledAt, now - since > max(0.1, 4 * trip), rate < Self.freeShare * best,
            delay > noticeable || isLossy,
            // Senders that have nothing to send do not make a busy line.
            inFlight > 0.25 * min(window, Self.firstWindow * 4 * lines[0].segment)
        else {
            suspectSince = nil
            return false
        }
        guard let suspectSince else {
            suspectSince = now
            return false
        }
        return now - suspectSince >= max(delay > Self.target ? 0.05 : 0.1, min(0.4, trip))
    }

    private func steered(
        _ line: YieldLine, common: Double, seconds: Double, _ now: Instant
    ) -> YieldLine {
        var line = line
        let floor = Self.floor * line.segment
        // A queue that only this connection meets counts where it is far too long.
        let own = line.queueing ?? common
        let delay = own > 2 * Self.target ? own : min(own, common)
        let pace = max(line.roundTrip ?? 0, 0.02)
        if delay > Self.target {
            // Once in a round trip: the effect shows no earlier.
            guard now >= line.nextCut else { return line }
            line.nextCut = now + pace
            line.window = max(floor, line.window * max(0.5, 1.5 - delay / Self.target / 2))
            return line
        }
        let gain = 1 + 0.5 * (1 - delay / Self.target) * min(1, seconds / pace)
        // A window that is not used must not grow: it would be let loose at once later.
        let useful =
            line.roundTrip == nil
            ? Self.windowMax : max(floor, 2 * line.inFlight + 20 * line.segment)
        line.window = min(max(line.window * gain, floor), useful, Self.windowMax)
        return line
    }

    // MARK: - The path's own delay

    private mutating func measure(_ delay: Double, asksWhose: Bool, _ now: Instant) {
        let trip = base + delay
        let measuring = Measuring(
            until: now + (asksWhose ? max(0.15, 5 * trip) : max(0.06, 3 * trip)),
            delayBefore: delay, asksWhose: asksWhose,
            windows: Dictionary(uniqueKeysWithValues: lines.map { ($0.connection, $0.window) }))
        for index in lines.indices {
            let floor = Self.floor * lines[index].segment
            let drained =
                min(lines[index].window, lines[index].inFlight)
                * (base + 0.3 * delay) / trip
            lines[index].window = asksWhose ? max(floor, drained) : floor
        }
        enter(.measuring(measuring), now)
    }

    /// Closed windows drain our queue. The queue that stays is that of other traffic.
    mutating func measure(_ measuring: Measuring, _ now: Instant) {
        guard now >= measuring.until else { return }
        let delay = queueing(now) ?? 0
        if measuring.asksWhose {
            // Alone, less under way is less queue at the same rate; beside others, theirs stays.
            guard delay < 0.45 * measuring.delayBefore else {
                giveWay(now)
                return
            }
            steadyRate = rate
            capacity.restart(rate, at: openTime)
            isUnproven = false
            failedProbes = 0
        } else {
            nextMeasure = openTime + Self.measureEvery
        }
        if !measuring.asksWhose, delay > max(2 * noticeable, 0.7 * measuring.delayBefore),
            share < 0.5
        {
            giveWay(now)
            return
        }
        for index in lines.indices {
            if let window = measuring.windows[lines[index].connection] {
                lines[index].window = window
            }
        }
        settledAt = now + max(0.25, 4 * (base + delay))
        enter(.open, now)
    }

    // MARK: - Giving way

    mutating func giveWay(_ now: Instant) {
        failedProbes += 1
        let pause = min(Self.probeMax, 0.4 * Double(1 << min(failedProbes, 4)))
        for index in lines.indices { lines[index].window = lines[index].segment }
        enter(.yielded(nextProbe: now + pause, earliest: now + pause / 2), now)
    }

    // MARK: - Without round trips

    /// A share of the best rate seen; at times all of it for a second, to see it anew.
    mutating func share(_ fullUntil: Instant, _ next: Instant, _ now: Instant) {
        for index in lines.indices { lines[index].window = Self.windowMax }
        if now < fullUntil {
            blindRate = max(blindRate, rate)
        } else if now >= next {
            // Round trips may be had by now.
            if lines.contains(where: { $0.roundTrip != nil && $0.isFresh(now) }) {
                for index in lines.indices {
                    lines[index].window = Self.firstWindow * lines[index].segment
                }
                blindSince = nil
                enter(.open, now)
                return
            }
            blindRate = 0
            stage = .sharing(fullUntil: now + 1, next: now + Self.measureEvery)
        }
    }
}
