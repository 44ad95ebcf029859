import LonghaulCore

/// What must never be, judged by rules of its own and not by the policy's.
extension MonthSimulation {
    mutating func complain(_ item: Item, _ text: String) {
        complaints.append("seed \(seed), \(now.milliseconds), transfer \(item.id): \(text)")
    }

    /// Which of the things it insists on, or wishes, do not hold now.
    func missing(_ item: Item, ignoringPreferences: Bool) -> Set<WaitReason.Reason> {
        var missing: Set<WaitReason.Reason> = []
        let must = item.request.schedule.requires
        let wish =
            ignoringPreferences || item.eligibility == item.eligibility.waived
            ? ConditionNeeds()
            : item.request.schedule.preferences(isDiscretionary: item.request.isDiscretionary)
        let isPowered = conditions.power.value == .external
        if must.power && !isPowered || wish.power && conditions.power.value == .battery {
            missing.insert(.power)
        }
        let network = conditions.network.value
        if must.unmetered && network != .unmetered || wish.unmetered && network == .metered {
            // Of a network that is away or unknown it cannot be said whether it is metered.
            missing.insert(network == .metered ? .unmetered : .network)
        }
        if must.idle && conditions.isIdle.value != true
            || wish.idle && conditions.isIdle.value == false
        {
            missing.insert(.idle)
        }
        if let charge = must.battery, !isPowered, (conditions.battery.value ?? 0) < charge {
            missing.insert(.battery)
        }
        if item.usesNetwork {
            if network == .offline { missing.insert(.network) }
            if !item.isRunning, let settlesAt, settlesAt > monotonic {
                missing.insert(.network)
            }
        }
        if let windows = item.request.schedule.windows, !isOpen(windows) { missing.insert(.window) }
        return missing
    }

    func mayRun(_ item: Item, ignoringPreferences: Bool) -> Bool {
        missing(item, ignoringPreferences: ignoringPreferences).isEmpty
    }

    /// By what the clock on the wall shows; none of these windows has an edge in the lost hour.
    private func isOpen(_ windows: TimeWindows) -> Bool {
        guard let window = TimeWindow(parsing: windows.description) else { return false }
        let civil = CivilTime(time.wall(now))
        let minute = civil.hour * 60 + civil.minute
        return window.start < window.end
            ? minute >= window.start && minute < window.end
            : minute >= window.start || minute < window.end
    }

    mutating func check(_ plan: SchedulerPolicy.Plan) {
        // The wall clock counts milliseconds: at its edge both sides are right.
        if let settlesAt, abs(settlesAt - monotonic) < 0.01 { return }
        let running = items.filter(\.isRunning)
        for item in running {
            let missing = missing(item, ignoringPreferences: false)
            if !missing.isEmpty { complain(item, "runs without \(missing)") }
            // A clock that is set back under it takes nothing off the wire.
            if now < item.begin, !item.sawJump { complain(item, "runs before its time") }
        }
        let counts = Dictionary(grouping: running, by: \.origin).mapValues(\.count)
        if running.count > policy.limits.running { complain(running[0], "too many run") }
        for (_, count) in counts where count > policy.limits.perOrigin {
            complain(running[0], "too many of an origin")
        }
        let told = Dictionary(uniqueKeysWithValues: plan.waiting.map { ($0.id, $0.reasons) })
        for index in items.indices {
            let item = items[index]
            guard item.end == nil, !item.isRunning, item.begin <= now, !isStopped(item, plan)
            else { continue }
            let reasons = Set((told[item.id] ?? []).map(\.reason))
            let missing = missing(item, ignoringPreferences: false)
            guard missing.isEmpty else {
                items[index].openSince = nil
                if reasons != missing { complain(item, "\(reasons) told, \(missing) missing") }
                continue
            }
            checkTurn(index, reasons, running, counts[item.origin] ?? 0)
        }
    }

    /// What was stopped in this turn is a candidate of the next.
    private func isStopped(_ item: Item, _ plan: SchedulerPolicy.Plan) -> Bool {
        plan.stops.contains { $0.id == item.id }
    }

    private mutating func checkTurn(
        _ index: Int, _ reasons: Set<WaitReason.Reason>, _ running: [Item], _ ofOrigin: Int
    ) {
        let item = items[index]
        let discretionary = running.count { $0.request.isDiscretionary }
        let isFull =
            running.count >= policy.limits.running
            || item.request.isDiscretionary
                && discretionary >= policy.limits.running - policy.limits.reserved
        let isOriginFull = ofOrigin >= policy.limits.perOrigin
        if reasons.isEmpty || !reasons.isSubset(of: [.concurrency, .originLimit])
            || reasons.contains(.concurrency) && !isFull
            || reasons.contains(.originLimit) && !isOriginFull
        {
            complain(item, "\(reasons) told, but it is its turn")
        }
        let since = item.openSince ?? monotonic
        items[index].openSince = since
        longestTurn = max(longestTurn, monotonic - since)
    }

    /// It had its time in its last moments and more, and is not done.
    mutating func expire(_ index: Int) {
        items[index].end = .expired
        items[index].isRunning = false
        let item = items[index]
        if item.sawJump { return }
        checkedDeadlines += 1
        let seconds = (Double(item.bytes) - item.done) / (Self.rates[item.origin] ?? 1)
        let whole = Double(item.bytes) / (Self.rates[item.origin] ?? 1)
        // Its turn may come late when a burst fills an origin; then it was not to be met.
        let waited = item.openSince != nil
        if seconds > 0, !waited, item.chances > whole + 150, item.request.expectedBytes != nil {
            complain(
                item,
                "missed a deadline: \(whole) s needed, \(item.chances) s there,"
                    + " \(item.request.schedule) \(item.begin) \(item.done) of \(item.bytes)")
        }
    }
}
