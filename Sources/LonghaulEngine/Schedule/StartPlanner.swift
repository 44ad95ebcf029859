internal import LonghaulCore
internal import LonghaulStore

/// Which ready transfers start: load an indexed head of the queue (never the queue), then decide.
struct StartPlanner {
    let schedule: Schedule
    let fetches: ActiveFetches
    let origins: Origins
    let prefetch: Prefetch
    let machine: MachineConditions
    let now: Moment

    private var limits: SchedulerLimits { schedule.limits }

    /// Loads what the plan needs, and plans. Writes nothing: the starts are written one by one, see
    /// ``FetchStarter``.
    func plan(_ tx: borrowing EngineTransaction) throws -> StartPlan {
        var plan = StartPlan()
        let running = fetches.running
        let partFiles = prefetch.partFilesLeft(active: fetches.count, limits)
        guard partFiles > 0,
            running.count < limits.running || prefetch.isAny(of: origins, now: now)
        else {
            plan.hasBacklog = true
            return plan
        }
        let snapshot = machine.snapshot(now: now)
        let facts = try loadEligibilities(tx)
        let open = facts.open(
            schedule.scope, in: snapshot, watching: machine.watching, now: now.wall, &plan)
        if open.isEmpty { return plan }
        let head = try loadHead(of: open, excluding: fullOrigins(running), tx, &plan)
        plan.decide(
            head, running, schedule.policy, in: snapshot, box: schedule.timeBox(now: now),
            partFiles: partFiles, now: now.wall)
        return plan
    }

    // MARK: - Load

    private func loadEligibilities(
        _ tx: borrowing EngineTransaction
    ) throws -> EligibilityFacts {
        var facts = EligibilityFacts(ready: [], runningInterest: fetches.interest)
        // Another network ends their back-offs.
        if !facts.runningInterest.network {
            facts.doesNetworkEndBackOff = try tx.timers.eligibilitiesBackingOff(now.wall)
                .contains(where: \.usesNetwork)
        }
        facts.ready = try tx.ready.readyEligibilities()
        return facts
    }

    /// Each kind has its part of the rows: many groups of one must not hide the oldest of the
    /// other.
    private func loadHead(
        of eligibilities: [EligibilityKey], excluding full: Set<String>,
        _ tx: borrowing EngineTransaction, _ plan: inout StartPlan
    ) throws -> ReadySnapshot {
        let kinds = [
            eligibilities.filter { !$0.isDiscretionary }, eligibilities.filter(\.isDiscretionary),
        ]
        .filter { !$0.isEmpty }
        let count = prefetch.rowsToRead(origins, active: fetches.count, limits, now: now)
        var cooling = origins.cooling
        var head = ReadySnapshot()
        for kind in kinds {
            let isDiscretionary = kind[0].isDiscretionary
            let found = try tx.ready.readyHead(
                ReadyLimits(
                    total: count / kinds.count, perGroup: limits.running,
                    after: schedule.cursors[isDiscretionary] ?? ReadyPlace(),
                    eligibilities: kind),
                excludingOrigins: full, cooling: cooling, now: now.wall)
            head.rows += found.rows
            cooling = found.cooling
            plan.coolDownEnds = [plan.coolDownEnds, found.coolDownEnds].compactMap { $0 }.min()
            // Where more wait than one read finds, the next one goes on where this one ended.
            plan.cursors[isDiscretionary] = found.resumeAfter
        }
        plan.cooling = cooling
        loadOrigins(of: &head)
        try loadMirrors(of: &head, tx)
        return head
    }

    private func loadOrigins(of head: inout ReadySnapshot) {
        var room = prefetch.room(active: fetches.count)
        for row in head.rows where head.origins[OriginID(rawValue: row.origin)] == nil {
            let site = origins.site(row.origin)
            site.id = row.originID
            site.memory = site.memory ?? row.memory
            let share = prefetch.share(of: site, from: &room, limits, now: now)
            head.origins[OriginID(rawValue: site.name)] = site.state(
                prefetched: share.granted, now: now)
            head.rates[row.origin] = site.memory?.bytesPerSecond
        }
        // Origins where something runs and nothing waits count, too.
        for site in origins.all where site.held.places > 0 {
            let name = OriginID(rawValue: site.name)
            if head.origins[name] == nil { head.origins[name] = site.state(now: now) }
        }
    }

    /// A transfer with mirrors is held back by its own origin only where none of them is better
    /// off. Mirrors are read only where the own origin is avoided: they stand in the options.
    private func loadMirrors(
        of head: inout ReadySnapshot, _ tx: borrowing EngineTransaction
    ) throws {
        for row in head.rows where row.eligibility.hasMirrors {
            if origins.site(row.origin).known.health(at: now.wall) == .well { continue }
            let mirrors = try tx.transfers.mirrors(of: row.id)
            try origins.load(mirrors, tx)
            for name in mirrors.compactMap(Origins.name) {
                let origin = OriginID(rawValue: name)
                head.mirrors[row.id, default: []].append(origin)
                if head.origins[origin] == nil {
                    head.origins[origin] = origins.site(name).state(now: now)
                }
            }
        }
    }

    /// Origins at which nothing more can start now.
    private func fullOrigins(_ running: [Running]) -> Set<String> {
        var connections: [String: Int] = [:]
        for transfer in running {
            connections[transfer.origin.rawValue, default: 0] += transfer.connections
        }
        return Set(
            connections.keys.filter { name in
                let site = origins.site(name)
                let state = site.state(
                    prefetched: site.pace.prefetched(at: now.monotonic), now: now)
                return limits.isFull(state, connections: connections[name] ?? 0)
            })
    }
}
