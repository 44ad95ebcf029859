extension YieldControl {
    /// Others have the line. When its queue has gone, or at the latest when the pause is over, one
    /// connection tries.
    mutating func wait(_ next: Instant, _ earliest: Instant, _ now: Instant) {
        let looksFree = (queueing(now) ?? .infinity) < noticeable
        guard now >= next || (looksFree && now >= earliest) else { return }
        probeTurn = (probeTurn + 1) % lines.count
        let chosen = lines[probeTurn].connection
        for index in lines.indices {
            lines[index].window = (index == probeTurn ? Self.floor : 1) * lines[index].segment
        }
        // Every fourth time in vain the line itself may have become slower.
        enter(
            .probing(
                Probe(
                    connection: chosen, isThorough: failedProbes % 4 == 0, stepBegun: now)), now)
    }

    /// Opens the window of one connection step by step. Free: the rate is the line's again, or
    /// grows with the window and no queue appears. Busy: packets queue, and the rate is not ours.
    mutating func go(on probe: Probe, _ now: Instant) {
        var probe = probe
        defer { if case .probing = stage { stage = .probing(probe) } }
        guard let index = lines.firstIndex(where: { $0.connection == probe.connection }) else {
            giveWay(now)
            return
        }
        let line = lines[index]
        let trip = min(0.25, max(line.roundTrip ?? 0, 0.01))
        let age = now - probe.stepBegun
        guard let mark = probe.mark else {
            if age >= max(0.035, 1.5 * trip) {
                probe.mark = Mark(at: now, value: Double(line.bytes))
            } else if age > 1 {
                giveWay(now)
            }
            return
        }
        guard now - mark.at >= max(0.035, 1.5 * trip) else { return }
        let measured = max(1, (Double(line.bytes) - mark.value) / (now - mark.at))
        let all = measured + rate - line.rate
        if all >= Self.freeShare * (capacity.value ?? 0) {
            takeLine(all, isProven: true, now)
            return
        }
        if let before = probe.before {
            decide(before: before, measured, probe, index, now)
            return
        }
        if isBusy(line, measured) {
            guard probe.isThorough else {
                giveWay(now)
                return
            }
            askWhoseQueue(&probe, measured, index, now)
            return
        }
        probe.doublings += 1
        // Sixteen packets in a round trip and no queue: other traffic leaves room.
        if probe.doublings > 3 {
            takeLine(all, isProven: false, now)
            return
        }
        lines[index].window *= 2
        probe.mark = nil
        probe.stepBegun = now
    }

    /// The kernel's round trip lags behind. A sender that uses its window up tells it too: window
    /// over rate.
    private func isBusy(_ line: YieldLine, _ measured: Double) -> Bool {
        let byWindow = max(0, line.window / measured - base)
        return min(line.queueing ?? byWindow, byWindow) > noticeable
    }

    private mutating func askWhoseQueue(
        _ probe: inout Probe, _ measured: Double, _ index: Int, _ now: Instant
    ) {
        let least = 8 * lines[index].segment
        if lines[index].window < least {
            lines[index].window = least
        } else {
            // Half the window: alone, the rate stays and the queue goes; else the others take it.
            probe.before = Mark(at: now, value: measured)
            probe.windowBefore = lines[index].window
            lines[index].window /= 2
        }
        probe.mark = nil
        probe.stepBegun = now
    }

    private mutating func decide(
        before: Mark, _ measured: Double, _ probe: Probe, _ index: Int, _ now: Instant
    ) {
        let best = capacity.value ?? 0
        guard measured > 0.85 * before.value, measured > 0.1 * best else {
            giveWay(now)
            return
        }
        lines[index].window = probe.windowBefore
        capacity.restart(measured, at: openTime)
        takeLine(measured, isProven: true, now)
    }

    private mutating func takeLine(_ rate: Double, isProven: Bool, _ now: Instant) {
        isUnproven = !isProven
        if isProven { failedProbes = 0 }
        steadyRate = rate
        let each = rate * max(base, 0.005) / Double(lines.count)
        for index in lines.indices {
            lines[index].window = max(
                lines[index].window, each, Self.floor * lines[index].segment)
        }
        settledAt = now + max(0.3, 6 * base)
        enter(.open, now)
    }
}
