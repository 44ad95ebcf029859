package import LonghaulCore
internal import LonghaulStore

/// What the engine knows of the machine, and what follows from it for transfers that run or wait.
extension Engine {
    func snapshot(now: Moment) -> ConditionSnapshot {
        var settles: Timestamp?
        if let at = networkSettlesAt, at > now.monotonic {
            settles = now.wall + (at - now.monotonic)
        }
        return ConditionSnapshot(conditions: conditions, time: time, networkSettlesAt: settles)
    }

    /// What others see of all this.
    func view(now: Moment) -> EngineView {
        var outlook = PublishedLimits()
        outlook.limits = policy.limits
        outlook.networkSettlesAt = snapshot(now: now).networkSettlesAt
        outlook.onlyDiscretionary = scope.onlyDiscretionary
        outlook.isLyingDown = isLeaving
        outlook.box = box.map {
            PublishedLimits.Box(
                seconds: $0.seconds, endsAt: now.wall + ($0.ends - now.monotonic),
                unresumable: $0.unresumable)
        }
        return EngineView(conditions: conditions, outlook: outlook)
    }

    /// Somebody looks at these conditions from now on, and has seen this.
    package func watch(_ interest: ConditionNeeds, _ found: Conditions, now: Moment) {
        watching = interest
        take(found, now: now)
    }

    /// A network that is there anew needs time: addresses, routes and name servers come one after
    /// the other. Who says that it is there when all of that is done is taken at their word. The
    /// first look at it is no change.
    func take(_ new: Conditions, now: Moment) {
        let isAnother = new.network.isAnother(than: conditions.network)
        let isOfOneKind = new.network.value == conditions.network.value
        journal?.conditions(conditions, new)
        conditions = new
        if isAnother {
            wire.leaveConnections(suspecting: suspects())
            if new.network.value != .offline {
                // A link that comes and goes beside one that stays is not to keep everything back.
                let isSettling = networkSettlesAt.map { $0 > now.monotonic } ?? false
                if !new.network.hasSettled, !(isSettling && isOfOneKind) {
                    networkSettlesAt = now.monotonic + Limits.networkSettleSeconds
                }
                // What failed over the old one may well succeed.
                gates.isNetworkNew = true
                needsLook = true
            }
        }
        mustPublishView = true
        gates.isStale = true
        needsPlan = true
    }

    /// What was asked for over another network may never come, and nobody says so: where nothing
    /// does, whatever loses nothing by it is asked for again over this one.
    private func suspects() -> [SegmentKey] {
        active.values.flatMap { entry -> [SegmentKey] in
            guard entry.machine.stage == .moving, entry.subscribers.leader.eligibility.usesNetwork,
                entry.machine.goesOnWhenAskedAgain
            else { return [] }
            return entry.machine.segments.map(\.key)
        }
    }

    /// Whether the clock or the conditions may have changed what may run.
    func watchGates(now: Moment) {
        if let at = gates.lanesChangeAt, at <= now.wall {
            gates.lanesChangeAt = nil
            needsPlan = true
        }
        let isDue = gates.runningChangesAt.map { $0 <= now.wall } ?? false
        // A clock that was set back may be before a window again.
        let wentBack = gates.turnedAt.map { now.isSetBack(since: $0) } ?? false
        gates.turnedAt = now
        if wentBack {
            needsLook = true
            gates.clockWentBack = true
            for site in sites.values { site.memory?.resumePause(at: now.wall) }
        }
        guard gates.isStale || isDue || wentBack else { return }
        lookAtRunning(now: now)
    }

    /// Takes off the wire what lost its conditions; what has all its bytes already is let finish.
    func lookAtRunning(now: Moment) {
        gates.isStale = false
        gates.runningChangesAt = nil
        let around = snapshot(now: now)
        for fetch in active.keys.sorted() {
            guard let entry = active[fetch], !entry.isLetFinish else { continue }
            let gate = entry.subscribers.gate(in: around, now: now.wall, isRunning: true)
            if !gate.isOpen {
                handle(.leave(.requeue), of: fetch, now: now)
            } else {
                gates.noteRunning(gate)
            }
        }
    }

    /// What is meant as a duration stays one when the clock is set: of those that run before
    /// anything is decided by it, of the others with the next look.
    func followClock(now: Moment) {
        guard bootID != nil, let before = gates.turnedAt,
            let jump = ClockMark(boot: "", at: now).jump(since: ClockMark(boot: "", at: before))
        else { return }
        needsLook = true
        gates.clockWasSet = true
        for entry in active.values {
            for subscriber in entry.subscribers.all {
                entry.subscribers.admit(subscriber.moved(by: jump, now: now.wall))
            }
            entry.machine.serve(entry.subscribers)
        }
    }

    /// Before any deadline is looked at.
    func lookAtClock(_ tx: borrowing EngineTransaction, now: Moment) throws {
        guard let bootID, gates.clockWasSet else { return }
        try tx.follow(ClockMark(boot: bootID, at: now), now: now.wall)
    }

    /// Pauses whose reason has gone, or whose clock.
    func lookAtPauses(_ tx: borrowing EngineTransaction, now: Moment) throws {
        let isFirst = looks == 0 && !scope.startsNothing
        // It may have been set back between two engines as well.
        if gates.clockWentBack || isFirst {
            try tx.resumePauses(
                now: now.wall, limit: gates.clockWentBack ? nil : Engine.pausesMax)
            cooling.forgetAll()
        }
        if isFirst {
            // Room may have been made, or the disk be back, since the last engine looked.
            try tx.endWaits(for: .storage, at: now.wall, limit: Engine.pausesMax)
        }
        if gates.isNetworkNew {
            try endPauses(tx, at: snapshot(now: now).networkSettlesAt ?? now.wall)
        }
    }

    /// Back-offs and cool-downs end with the network over which they came to be.
    private func endPauses(_ tx: borrowing EngineTransaction, at moment: Timestamp) throws {
        try tx.endWaits(for: .backoff, at: moment, limit: Engine.pausesMax)
        try tx.endCoolDowns(at: moment)
        for site in sites.values { site.memory?.endCoolDown(at: moment) }
        cooling.forgetAll()
    }

    /// Somebody wants this one to go on now: its server is asked, whatever failed there before.
    func hasten(_ work: TransferWork, _ tx: borrowing EngineTransaction, now: Moment) throws {
        let site = site(work.origin)
        site.memory = try site.memory ?? tx.origin(work.origin)
        guard case .cooling = site.known.health(at: now.wall) else { return }
        try tx.save(remember(work.origin, now: now) { $0.endCoolDown(at: now.wall) })
        noteRoom(at: site)
    }

    /// Whether the preferences of those that come up still count.
    ///
    /// Where some are waived, those that come up soon after are too: what has to run at a bad
    /// moment runs together, instead of keeping the machine awake all day.
    func waive(_ tx: borrowing EngineTransaction, now: Moment) throws -> Bool {
        let due = try tx.dueWaivers(now.wall, limit: Engine.attentionMax)
        var isAnyWaived = false
        for id in due {
            guard let work = try tx.work(id) else { continue }
            switch try verdict(on: work, tx, at: now.wall) {
            case .waive:
                try tx.waivePreferences(of: id, in: work.eligibility)
                isAnyWaived = true
            case .look(let next): try tx.setWaiverCheck(of: id, at: next)
            }
        }
        if isAnyWaived {
            let soon = now.wall + PreferenceExpiry.batchSeconds
            for id in try tx.dueWaivers(soon, limit: Engine.attentionMax) {
                guard let work = try tx.work(id),
                    try verdict(on: work, tx, at: soon) == .waive
                else { continue }
                try tx.waivePreferences(of: id, in: work.eligibility)
            }
        }
        return due.count == Engine.attentionMax
    }

    private func verdict(
        on work: TransferWork, _ tx: borrowing EngineTransaction, at moment: Timestamp
    ) throws -> PreferenceExpiry.Verdict {
        guard let waiver = work.waiver else { return .waive }
        var bytes = work.request.expectedBytes
        if let id = work.fetchID, let state = try tx.fetch(id) {
            bytes = (state.bytesTotal ?? bytes).map { $0 - state.durable.count }
        }
        let rate = try sites[work.origin]?.memory ?? tx.origin(work.origin)
        let needs = PreferenceExpiry.seconds(
            bytes: bytes, rate: rate.bytesPerSecond, span: work.deadline - work.waitingSince)
        return PreferenceExpiry.decide(
            waiveBy: waiver.by, deadline: work.deadline, needs: needs, now: moment)
    }
}

/// When the clock changes what may run.
struct ScheduleTriggers {
    /// There is another network, and the store does not know yet.
    var isNetworkNew = false
    /// Conditions have changed since what runs was last looked at.
    var isStale = false
    var turnedAt: Moment?
    /// Since the last look at the store.
    var clockWentBack = false
    /// The same, to an earlier or a later time.
    var clockWasSet = false
    /// The end of a window that something runs in.
    var runningChangesAt: Timestamp?
    /// An edge of a window, or the end of the network's settling, that something waits for.
    var lanesChangeAt: Timestamp?
    /// Something is ready by time and not by its conditions.
    var holdsBack = false
    /// What decides about those that run or wait.
    var interest = ConditionNeeds()

    /// The store has been told.
    mutating func noteLook() {
        clockWentBack = false
        clockWasSet = false
        isNetworkNew = false
    }

    mutating func noteRunning(_ gate: Gate) {
        guard let at = gate.changesAt else { return }
        runningChangesAt = min(runningChangesAt ?? at, at)
    }
}
