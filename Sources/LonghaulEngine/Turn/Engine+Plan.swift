internal import LonghaulCore
internal import LonghaulStore

struct PlanOutcome {
    var claims: [Claim] = []
    var hasBacklog = false
    /// The earliest end of a cool-down that somebody waits for.
    var coolDownEnds: Timestamp?
}

struct Claim {
    var work: TransferWork
    var state: FetchState
    var session: String
}

extension ReadyRow {
    var sessionKey: String { String(sessionID) }
}

/// Choosing what starts: an indexed head of the queue, never the queue.
extension Engine {
    func plan(_ tx: borrowing EngineTransaction, now: Moment) throws -> PlanOutcome {
        var outcome = PlanOutcome()
        let running = active.keys.sorted().compactMap { active[$0]?.asRunning }
        guard running.count < policy.limits.running else {
            outcome.hasBacklog = true
            return outcome
        }
        let found = try tx.readyHead(
            ReadyLimits(
                total: Limits.lookAhead, perGroup: policy.limits.running,
                originsAfter: originsAfter, onlyDiscretionary: scope.onlyDiscretionary))
        // More origins wait than one look takes: the next one starts where this one ended.
        originsAfter = found.resumeAfter ?? 0
        let rows = found.rows
        var states: [OriginID: OriginState] = [:]
        for name in Set(rows.map(\.origin)) {
            if origins[name] == nil { origins[name] = try tx.origin(name) }
            states[OriginID(rawValue: name)] = origins[name].map { OriginState($0, now: now.wall) }
        }
        let head = rows.map { candidate($0) }
        let plan = policy.plan(head: head, running: running, origins: states, now: now.wall)
        for id in plan.starts {
            guard let (work, state) = try tx.claim(id, now: now.wall),
                let row = rows.first(where: { $0.id == id })
            else { continue }
            outcome.claims.append(Claim(work: work, state: state, session: row.sessionKey))
        }
        outcome.hasBacklog = !plan.waiting.isEmpty
        outcome.coolDownEnds = plan.waiting.compactMap(\.reason.nextCheck).min()
        return outcome
    }

    private func candidate(_ row: ReadyRow) -> Candidate {
        var seconds: Double?
        if let bytes = row.expectedBytes, let rate = origins[row.origin]?.bytesPerSecond, rate > 0 {
            seconds = Double(bytes) / rate
        }
        return Candidate(
            id: row.id, session: row.sessionKey, origin: OriginID(rawValue: row.origin),
            priority: row.priority, isDiscretionary: row.isDiscretionary,
            waitingSince: row.createdAt, deadline: row.deadline, expectedSeconds: seconds)
    }

    func install(_ claim: Claim, now: Moment) {
        let work = claim.work
        var machine = FetchMachine(
            transfer: work.id, request: work.request, destination: work.destination,
            deadline: work.deadline, publication: work.finalPath, state: claim.state,
            firstSerial: nextSerial)
        // Serials of one fetch never repeat in this process, whatever becomes of this stay.
        nextSerial += Engine.serialsPerStay
        let step = machine.begin()
        active[claim.state.id] = ActiveFetch(
            machine: machine, origin: work.origin, session: claim.session,
            isDiscretionary: work.request.isDiscretionary,
            receivedBefore: claim.state.bytesFetched)
        unwritten.append(step, of: claim.state.id)
    }

    static let serialsPerStay: Int64 = 1 << 20
}

extension ActiveFetch {
    /// How the scheduler counts it; what only waits for the disk holds no place.
    var asRunning: Running? {
        switch machine.stage {
        case .verifying, .securing, .publishing, .left: nil
        case .preparing, .moving, .settling:
            Running(
                id: machine.transfer, session: session, origin: OriginID(rawValue: origin),
                connections: max(1, machine.segments.count))
        }
    }
}
