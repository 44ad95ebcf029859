internal import LonghaulCore
internal import LonghaulStore

struct PlanOutcome {
    var claims: [StartedFetch] = []
    var hasBacklog = false
    /// The earliest end of a cool-down that somebody waits for.
    var coolDownEnds: Timestamp?
    /// Some are held by conditions or windows.
    var holdsBack = false
    /// Of the eligibilities that were looked at; `nil` = none were, every place is taken.
    var interest: ConditionNeeds?
    var lanesChangeAt: Timestamp?
    /// Fetches that serve more than they did.
    var subscriberLists: [FetchID: Subscribers] = [:]
    var deletions: [OrphanedPart] = []
    /// Some came along with others, or have failed: there may be places left.
    var arePlacesLeft = false
    /// Those that could not be read.
    var refused: [(TransferID, LonghaulError)] = []
}

/// A reference, as it is large and handed on from hand to hand.
final class StartedFetch {
    let work: TransferWork
    let state: FetchState
    let session: String
    var isOverdue = false
    let subscribers: Subscribers
    /// What a copy need not be checked for again.
    let proven: [Checksum]
    /// What may make the transfer unnecessary.
    var kept: KeptFile?

    init(
        work: TransferWork, state: FetchState, session: String, subscribers: Subscribers,
        proven: [Checksum] = []
    ) {
        self.work = work
        self.state = state
        self.session = session
        self.subscribers = subscribers
        self.proven = proven
    }
}

extension ReadyRow {
    var sessionKey: String { String(sessionID) }
}

/// Choosing what starts: an indexed head of the queue, never the queue.
extension Engine {
    func plan(
        _ tx: borrowing EngineTransaction, after look: IntentResult, now: Moment
    ) throws -> PlanOutcome {
        var outcome = PlanOutcome()
        outcome.subscriberLists = look.subscriberLists
        let running = active.keys.sorted().compactMap { active[$0]?.asRunning }
        let files = partFilesLeft
        guard files > 0, running.count < policy.limits.running || isAnyAhead(now: now) else {
            outcome.hasBacklog = true
            return outcome
        }
        let snapshot = snapshot(now: now)
        let eligibilities = try openEligibilities(tx, snapshot, &outcome, now: now)
        if eligibilities.isEmpty { return outcome }
        let rows = try heads(
            of: eligibilities, excluding: fullOrigins(running, now: now), tx, &outcome, now: now)
        var states = originStates(of: rows, now: now)
        let mirrors = try mirrorOrigins(of: rows, tx, &states, now: now)
        let head = rows.map { row in
            var candidate = candidate(row)
            candidate.mirrors = mirrors[row.id] ?? []
            return candidate
        }
        let box = box.map {
            TimeBox(
                length: $0.seconds, left: $0.ends - now.monotonic, unresumable: $0.unresumable)
        }
        let plan = policy.plan(
            head: head, running: running, origins: states, in: snapshot, box: box,
            now: now.wall)
        let places = Dictionary(rows.indices.map { (rows[$0].id, $0) }) { first, _ in first }
        outcome.claims.reserveCapacity(plan.starts.count)
        for id in plan.starts.prefix(files) {
            guard let row = places[id],
                let claim = try takeUp(id, session: rows[row].sessionKey, tx, now: now, &outcome)
            else { continue }
            claim.isOverdue = id == plan.overdue
            try meet(claim.work.request.options.mirrors, tx)
            outcome.claims.append(claim)
        }
        // What a place would not help is no backlog: a pause of its server, or too little time.
        let waits = plan.waiting.contains {
            $0.reason.reason != .engine && $0.reason.nextCheck == nil
        }
        outcome.hasBacklog = waits || plan.starts.count > files
        let pauses = plan.waiting.compactMap(\.reason.nextCheck) + [outcome.coolDownEnds]
        outcome.coolDownEnds = pauses.compactMap { $0 }.min()
        return outcome
    }

    private func originStates(
        of rows: [ReadyRow], now: Moment
    ) -> [OriginID: OriginState] {
        forgetOrigins()
        var states: [OriginID: OriginState] = [:]
        var room = aheadRoom
        var seen: Set<Int64> = []
        for row in rows where seen.insert(row.originID).inserted {
            let site = site(row.origin)
            site.id = row.originID
            site.memory = site.memory ?? row.memory
            let prefetched = prefetched(at: site, taking: &room, now: now).granted
            states[OriginID(rawValue: site.name)] = site.state(prefetched: prefetched, now: now)
        }
        // Those that have places and nothing that waits count too.
        for site in sites.values where site.held.places > 0 {
            let name = OriginID(rawValue: site.name)
            if states[name] != nil { continue }
            states[name] = site.state(now: now)
        }
        return states
    }

    /// Both kinds have their part of the look-ahead: many groups of one must not hide the other's
    /// oldest.
    private func heads(
        of eligibilities: [EligibilityKey], excluding full: Set<String>,
        _ tx: borrowing EngineTransaction, _ outcome: inout PlanOutcome, now: Moment
    ) throws -> [ReadyRow] {
        let kinds = [
            eligibilities.filter { !$0.isDiscretionary }, eligibilities.filter(\.isDiscretionary),
        ]
        .filter { !$0.isEmpty }
        let count = lookAhead(now: now)
        var rows: [ReadyRow] = []
        for kind in kinds {
            let found = try tx.readyHead(
                ReadyLimits(
                    total: count / kinds.count, perGroup: policy.limits.running,
                    after: looksAfter[kind[0].isDiscretionary] ?? ReadyPlace(),
                    eligibilities: kind),
                excludingOrigins: full, cooling: cooling, now: now.wall)
            rows += found.rows
            cooling = found.cooling
            outcome.coolDownEnds = [outcome.coolDownEnds, found.coolDownEnds].compactMap { $0 }
                .min()
            // Where more wait than one look takes, the next one begins where this one ended.
            looksAfter[kind[0].isDiscretionary] = found.resumeAfter
        }
        return rows
    }

    /// Those at which nothing more can start now.
    private func fullOrigins(_ running: [Running], now: Moment) -> Set<String> {
        var connections: [String: Int] = [:]
        for transfer in running {
            connections[transfer.origin.rawValue, default: 0] += transfer.connections
        }
        return Set(
            connections.keys.filter { name in
                let site = site(name)
                let state = site.state(
                    prefetched: site.pace.prefetched(at: now.monotonic), now: now)
                return policy.limits.isFull(state, connections: connections[name] ?? 0)
            })
    }

    /// The eligibilities whose conditions hold: the head of the others is not looked at.
    private func openEligibilities(
        _ tx: borrowing EngineTransaction, _ snapshot: ConditionSnapshot,
        _ outcome: inout PlanOutcome, now: Moment
    ) throws -> [EligibilityKey] {
        var interest = active.values.reduce(ConditionNeeds()) { $0.union($1.subscribers.interest) }
        // Another network ends their back-offs.
        if try !interest.network
            && tx.eligibilitiesBackingOff(now.wall).contains(where: \.usesNetwork)
        {
            interest.network = true
        }
        defer { outcome.interest = interest }
        return try tx.readyEligibilities().filter { eligibility in
            guard
                eligibility.isAwaited
                    || (scope.onlyDiscretionary ?? eligibility.isDiscretionary)
                        == eligibility.isDiscretionary
            else { return false }
            interest = interest.union(eligibility.interest)
            // Preferences are content with unknown, not with what nobody has looked at yet.
            guard eligibility.interest.isWithin(watching) else { return false }
            let gate = eligibility.gate(in: snapshot, now: now.wall)
            if let at = gate.changesAt {
                outcome.lanesChangeAt = min(outcome.lanesChangeAt ?? at, at)
            }
            if !gate.isOpen { outcome.holdsBack = true }
            return gate.isOpen
        }
    }

    private func candidate(_ row: ReadyRow) -> Candidate {
        var seconds: Double?
        if let bytes = row.bytesLeft, let rate = sites[row.origin]?.memory?.bytesPerSecond, rate > 0
        {
            seconds = Double(bytes) / rate
        }
        var candidate = Candidate(
            id: row.id, session: row.sessionKey, origin: OriginID(rawValue: row.origin),
            priority: row.priority, eligibility: row.eligibility,
            waitingSince: row.waitingSince, deadline: row.deadline, expectedSeconds: seconds)
        candidate.isUnresumable = row.isUnresumable
        return candidate
    }

    func install(_ claim: StartedFetch, now: Moment) {
        let work = claim.work
        var machine = FetchMachine(
            transfer: work.id, request: work.request, destination: work.destination,
            deadline: work.deadline, state: claim.state,
            firstSerial: nextSerial)
        machine.serve(claim.subscribers)
        machine.proven = claim.proven
        machine.kept = claim.kept
        let sources = sources(of: work)
        machine.begin(elsewhereThan: sources.resting(at: now.wall))
        machine.partSuffix = work.partSuffix
        machine.leftSince = leftUnrecorded.removeValue(forKey: work.id)
        // Serials of one fetch never repeat in this process, whatever becomes of this stay.
        nextSerial += Engine.serialsPerStay
        journal?.starts(
            work.id, url: work.request.url, holding: claim.state.durable.count,
            of: claim.state.bytesTotal)
        let isShort = spaceIsShortUntil.map { now.monotonic < $0 } ?? false
        let step = machine.begin(spaceIsShort: isShort)
        let entry = ActiveFetch(
            machine: machine, sources: sources, session: claim.session,
            subscribers: claim.subscribers,
            identityKey: work.identityKey,
            overdueSince: claim.isOverdue ? now.wall : nil,
            receivedBefore: claim.state.bytesFetched)
        active[claim.state.id] = entry
        recount(entry, after: step)
        sharing.add(claim.state.id, work.identityKey)
        gates.noteRunning(claim.subscribers.gate(in: snapshot(now: now), now: now.wall))
        unwritten.append(step, of: claim.state.id)
    }

    static let serialsPerStay: Int64 = 1 << 20
    /// Longer than it takes until whoever found a disk full looks again.
    static let shortOfSpaceSeconds = 2 * Limits.storageCheckSeconds
}
