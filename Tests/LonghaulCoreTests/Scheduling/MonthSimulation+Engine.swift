import LonghaulCore

extension MonthSimulation {
    /// As an engine's turn: what has ended, what is waived, what stops and starts.
    mutating func turn() {
        for index in items.indices where items[index].end == nil {
            if items[index].isRunning, items[index].done >= Double(items[index].bytes) {
                items[index].end = .completed
                items[index].isRunning = false
                measured.insert(items[index].origin)
            }
        }
        sortOut()
        guard awayUntil == nil else { return }
        for index in items.indices where items[index].end == nil {
            if now >= items[index].deadline { expire(index) }
        }
        sortOut()
        waive()
        let plan = plan()
        let byID = Dictionary(uniqueKeysWithValues: items.indices.map { (items[$0].id, $0) })
        for stop in plan.stops {
            guard let index = byID[stop.id] else { continue }
            items[index].isRunning = false
            items[index].overdueSince = nil
            stops += 1
        }
        for id in plan.starts {
            guard let index = byID[id] else { continue }
            items[index].isRunning = true
            items[index].openSince = nil
            items[index].overdueSince = id == plan.overdue ? now : nil
        }
        check(plan)
    }

    private mutating func sortOut() {
        ended += items.filter { $0.end != nil }
        items.removeAll { $0.end != nil }
    }

    private func rate(_ origin: OriginID) -> Double? {
        measured.contains(origin) ? Self.rates[origin] : nil
    }

    private mutating func waive() {
        var isAnyWaived = false
        for horizon in [0, PreferenceExpiry.batchSeconds] {
            if horizon > 0, !isAnyWaived { return }
            let moment = now + horizon
            for index in items.indices {
                let item = items[index]
                guard item.end == nil, !item.isRunning, let waiver = item.waiver,
                    waiver.checkAt <= moment
                else { continue }
                let left = item.request.expectedBytes.map { $0 - Int64(item.done) }
                let needs = PreferenceExpiry.seconds(
                    bytes: left, rate: rate(item.origin), span: item.deadline - item.begin)
                switch PreferenceExpiry.decide(
                    waiveBy: waiver.by, deadline: item.deadline, needs: needs, now: moment)
                {
                case .waive:
                    items[index].eligibility = item.eligibility.waived
                    items[index].waiver = nil
                    isAnyWaived = true
                    waived += 1
                case .look(let at):
                    if horizon == 0 { items[index].waiver?.checkAt = at }
                }
            }
        }
    }

    private func plan() -> SchedulerPolicy.Plan {
        let ready = items.filter { $0.end == nil && !$0.isRunning && $0.begin <= now }
        let head = ready.map { item in
            var seconds: Double?
            if let bytes = item.request.expectedBytes, let rate = rate(item.origin) {
                seconds = (Double(bytes) - item.done) / rate
            }
            return Candidate(
                id: item.id, session: item.request.session, origin: item.origin,
                priority: item.request.priority, eligibility: item.eligibility,
                waitingSince: item.begin,
                deadline: item.deadline, expectedSeconds: seconds)
        }
        let running = items.filter(\.isRunning).map {
            Running(
                id: $0.id, session: $0.request.session, origin: $0.origin,
                eligibility: $0.eligibility,
                overdueSince: $0.overdueSince)
        }
        return policy.plan(
            head: head, running: running, origins: [:], in: snapshot, now: now)
    }

    private var snapshot: ConditionSnapshot {
        var settles: Timestamp?
        if let settlesAt, settlesAt > monotonic { settles = now + (settlesAt - monotonic) }
        return ConditionSnapshot(conditions: conditions, time: time, networkSettlesAt: settles)
    }

    /// How far the world may go before somebody has to look.
    mutating func step() -> Double {
        var next = Double.random(in: 60...1800, using: &random)
        if awayUntil == nil, let wake = plan().nextWake { next = min(next, wake - now) }
        for item in items where item.end == nil {
            if item.isRunning {
                let rate = Self.rates[item.origin] ?? 1
                next = min(next, max(0.01, (Double(item.bytes) - item.done) / rate))
                if let windows = item.eligibility.windows {
                    next = min(next, windows.phase(at: now, time).until - now)
                }
            }
            // What was stopped may have wishes to look at, as an engine finds at once.
            if awayUntil == nil, !item.isRunning, let check = item.waiver?.checkAt, check <= now {
                next = 0
            }
            for moment in [item.begin, item.deadline, item.waiver?.checkAt].compactMap({ $0 })
            where moment > now {
                next = min(next, moment - now)
            }
        }
        return max(next, 0.001)
    }
}
