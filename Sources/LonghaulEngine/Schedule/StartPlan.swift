internal import LonghaulCore
internal import LonghaulStore

/// What starts, and until when nothing else can. A value: what it means for memory follows once the
/// transaction is committed.
struct StartPlan {
    struct Start {
        var id: TransferID
        var session: String
        /// It starts because it has waited longest, out of the order.
        var isOverdue: Bool
        /// It is made ready, and its request waits for a connection.
        var isPrefetched: Bool
    }

    /// In their order.
    var starts: [Start] = []
    var hasBacklog = false
    /// The earliest end of a cool-down that a transfer waits for.
    var coolDownEnds: Timestamp?
    /// Some are held back by conditions or windows.
    var holdsBack = false
    /// The conditions that matter to the eligibilities that were read; `nil` = none were read,
    /// because every place is taken.
    var interest: ConditionNeeds?
    /// When the clock alone changes a gate that was read.
    var gatesChangeAt: Timestamp?
    /// Where the next reads of the queue go on.
    var cursors: [Bool: ReadyPlace] = [:]
    /// Origins that cool down, as the reads have found them; `nil` = nothing was read.
    var cooling: CoolingOrigins?
}

/// Eligibilities with ready transfers, read from the store.
struct EligibilityFacts {
    var ready: [EligibilityKey]
    /// The conditions that matter to those that run.
    var runningInterest: ConditionNeeds
    /// Transfers back off that another network lets start.
    var doesNetworkEndBackOff = false

    /// Those whose conditions hold: the head of the others is not read.
    func open(
        _ scope: EngineScope, in snapshot: ConditionSnapshot, watching: ConditionNeeds,
        now: Timestamp, _ plan: inout StartPlan
    ) -> [EligibilityKey] {
        var interest = runningInterest
        if doesNetworkEndBackOff { interest.network = true }
        defer { plan.interest = interest }
        return ready.filter { eligibility in
            let isDiscretionary = eligibility.isDiscretionary
            guard
                eligibility.isAwaited
                    || (scope.onlyDiscretionary ?? isDiscretionary) == isDiscretionary
            else { return false }
            interest = interest.union(eligibility.interest)
            // An unknown condition satisfies a preference; one that was not watched does not.
            guard eligibility.interest.isWithin(watching) else { return false }
            let gate = eligibility.gate(in: snapshot, now: now)
            if let at = gate.changesAt { plan.gatesChangeAt = min(plan.gatesChangeAt ?? at, at) }
            if !gate.isOpen { plan.holdsBack = true }
            return gate.isOpen
        }
    }
}

/// The head of the queue with all that decides about it.
struct ReadySnapshot {
    var rows: [ReadyRow] = []
    var origins: [OriginID: OriginState] = [:]
    /// Where transfers of the head may begin whose own origin is avoided.
    var mirrors: [TransferID: [OriginID]] = [:]
    /// Bytes per second of one transfer, by origin.
    var rates: [String: Double] = [:]

    fileprivate func candidate(_ row: ReadyRow) -> Candidate {
        var seconds: Double?
        if let bytes = row.bytesLeft, let rate = rates[row.origin], rate > 0 {
            seconds = Double(bytes) / rate
        }
        var candidate = Candidate(
            id: row.id, session: String(row.sessionID), origin: OriginID(rawValue: row.origin),
            priority: row.priority, eligibility: row.eligibility,
            waitingSince: row.waitingSince, deadline: row.deadline, expectedSeconds: seconds)
        candidate.isUnresumable = row.isUnresumable
        candidate.mirrors = mirrors[row.id] ?? []
        return candidate
    }
}

extension StartPlan {
    /// Pure: the scheduler's rules for what was loaded.
    mutating func decide(
        _ head: ReadySnapshot, _ running: [Running], _ policy: SchedulerPolicy,
        in snapshot: ConditionSnapshot, box: TimeBox?, partFiles: Int, now: Timestamp
    ) {
        precondition(partFiles > 0, "nothing is planned that could not be opened")
        let plan = policy.plan(
            head: head.rows.map(head.candidate), running: running, origins: head.origins,
            in: snapshot, box: box, now: now)
        let sessions = Dictionary(head.rows.map { ($0.id, $0.sessionID) }) { first, _ in first }
        starts = plan.starts.prefix(partFiles).compactMap { id in
            sessions[id].map {
                Start(
                    id: id, session: String($0), isOverdue: id == plan.overdue,
                    isPrefetched: plan.prefetched.contains(id))
            }
        }
        // A transfer that a place would not help is no backlog: its server has asked for a pause,
        // or the time box is too short.
        let waits = plan.waiting.contains {
            $0.reason.reason != .engine && $0.reason.nextCheck == nil
        }
        hasBacklog = waits || plan.starts.count > partFiles
        let pauses = plan.waiting.compactMap(\.reason.nextCheck) + [coolDownEnds]
        coolDownEnds = pauses.compactMap { $0 }.min()
    }
}
