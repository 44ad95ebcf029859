internal import LonghaulCore
internal import LonghaulStore

/// Loads the input of a plan: an indexed head of the queue (never the queue), and running
/// transfers.
struct QueueLoader {
    let schedule: Schedule
    let fetches: ActiveFetches
    let origins: Origins
    let prefetch: Prefetch
    let machine: MachineConditions
    let now: Moment

    private var limits: SchedulerLimits { schedule.limits }

    /// Part files that may still be opened.
    var partFiles: Int { prefetch.partFilesLeft(active: fetches.count, limits) }

    /// Writes nothing: the starts are written one by one, see ``FetchStarter``.
    func load(_ tx: borrowing EngineTransaction) throws -> QueueSnapshot {
        var queue = QueueSnapshot()
        queue.running = fetches.running(now: now)
        queue.placeTime = fetches.placeTime
        // If every place is taken, a transfer whose turn is over may free one.
        guard partFiles > 0,
            queue.running.count < limits.running || prefetch.isAny(of: origins, now: now)
                || queue.running.contains(where: { $0.isTurnOver(at: now.wall) })
        else { return queue }
        let facts = try loadEligibilities(tx)
        queue.eligibilities = facts
        queue.ready = facts.known(machine.watching)
        let snapshot = machine.snapshot(now: now)
        let open = queue.ready.filter { $0.gate(in: snapshot, now: now.wall).isOpen }
        if !open.isEmpty { try loadHead(of: open, tx, &queue) }
        return queue
    }

    private func loadEligibilities(
        _ tx: borrowing EngineTransaction
    ) throws -> EligibilityFacts {
        var facts = EligibilityFacts()
        facts.interest = fetches.interest
        // Another network ends their back-offs.
        if !facts.interest.network {
            facts.interest.network = try tx.timers.eligibilitiesBackingOff(now.wall)
                .contains(where: \.usesNetwork)
        }
        facts.ready = try tx.ready.readyEligibilities().filter(schedule.published(now: now).starts)
        facts.interest = facts.ready.reduce(facts.interest) { $0.union($1.interest) }
        return facts
    }

    /// Each kind has its part of the rows: many groups of one must not hide the oldest of the
    /// other.
    private func loadHead(
        of eligibilities: [EligibilityKey], _ tx: borrowing EngineTransaction,
        _ queue: inout QueueSnapshot
    ) throws {
        let kinds = [
            eligibilities.filter { !$0.isDiscretionary }, eligibilities.filter(\.isDiscretionary),
        ]
        .filter { !$0.isEmpty }
        let count = prefetch.rowsToRead(origins, active: fetches.count, limits, now: now)
        let full = fullOrigins(queue.running)
        var cooling = origins.cooling
        for kind in kinds {
            let isDiscretionary = kind[0].isDiscretionary
            let found = try tx.ready.readyHead(
                ReadyLimits(
                    total: count / kinds.count, perGroup: limits.running,
                    after: schedule.cursors[isDiscretionary] ?? ReadyPlace(),
                    eligibilities: kind),
                excludingOrigins: full, cooling: cooling, now: now.wall)
            queue.rows += found.rows
            cooling = found.cooling
            queue.coolDownEnds = [queue.coolDownEnds, found.coolDownEnds].compactMap { $0 }.min()
            // The next read continues after this one, if more wait than one read finds.
            queue.cursors[isDiscretionary] = found.resumeAfter
        }
        queue.cooling = cooling
        loadOrigins(of: &queue)
        try loadMirrors(of: &queue, tx)
    }

    private func loadOrigins(of queue: inout QueueSnapshot) {
        var room = prefetch.room(active: fetches.count)
        for row in queue.rows where queue.origins[OriginID(rawValue: row.origin)] == nil {
            let site = origins.site(row.origin)
            site.id = row.originID
            site.memory = site.memory ?? row.memory
            let share = prefetch.share(of: site, from: &room, limits, now: now)
            queue.origins[OriginID(rawValue: site.name)] = site.state(
                prefetched: share.granted, now: now)
            queue.rates[row.origin] = site.memory?.bytesPerSecond
        }
        // Origins where something runs and nothing waits count, too.
        for site in origins.all where site.held.places > 0 {
            let name = OriginID(rawValue: site.name)
            if queue.origins[name] == nil { queue.origins[name] = site.state(now: now) }
        }
    }

    /// A transfer with mirrors is held back by its own origin only if no mirror is better. Mirrors
    /// are read only if the own origin is avoided: they stand in the options.
    private func loadMirrors(
        of queue: inout QueueSnapshot, _ tx: borrowing EngineTransaction
    ) throws {
        for row in queue.rows where row.eligibility.hasMirrors {
            if origins.site(row.origin).known.health(at: now.wall) == .well { continue }
            let mirrors = try tx.transfers.mirrors(of: row.id)
            try origins.load(mirrors) { try tx.origins.memory(of: $0) }
            for name in mirrors.compactMap(Origins.name) {
                let origin = OriginID(rawValue: name)
                queue.mirrors[row.id, default: []].append(origin)
                if queue.origins[origin] == nil {
                    queue.origins[origin] = origins.site(name).state(now: now)
                }
            }
        }
    }

    /// Origins that can start nothing more now.
    private func fullOrigins(_ running: [Running]) -> Set<String> {
        var connections: [String: Int] = [:]
        for transfer in running {
            connections[transfer.origin.rawValue, default: 0] += transfer.connections
        }
        let turnsAreOver = Set(
            running.filter { $0.isTurnOver(at: now.wall) }.map(\.origin.rawValue))
        return Set(
            connections.keys.filter { name in
                if turnsAreOver.contains(name) { return false }
                let site = origins.site(name)
                let state = site.state(
                    prefetched: site.pace.prefetched(at: now.monotonic), now: now)
                return limits.isFull(state, connections: connections[name] ?? 0)
            })
    }
}
