internal import LonghaulCore
internal import LonghaulStore

/// The plan of a turn, with the data that the engine needs to act on it. A value: memory is changed
/// once the transaction is committed.
struct TurnPlan {
    struct Start {
        var id: TransferID
        var session: String
        /// The transfer starts out of the order because it has waited longest.
        var isOverdue: Bool
        /// The transfer is made ready, and its request waits for a connection.
        var isPrefetched: Bool
    }

    /// Transfers to start, in their order.
    var starts: [Start] = []
    /// Running transfers whose conditions no longer hold, or whose turn is over.
    var stops: Set<TransferID> = []
    /// A free place would let more start.
    var hasBacklog = false
    /// Some are held back by conditions or windows.
    var holdsBack = false
    /// See ``SchedulerPolicy/Plan/nextStart``; also of transfers that were not read.
    var nextStart: Timestamp?
    /// See ``SchedulerPolicy/Plan/nextStop``; also the end of the first turn that another transfer
    /// may wait for.
    var nextStop: Timestamp?
    /// The conditions that matter to running and waiting transfers; `nil` = eligibilities were not
    /// read, because every place is taken.
    var interest: ConditionNeeds?
    /// The places where the next reads of the queue resume.
    var cursors: [Bool: ReadyPlace] = [:]
    /// Origins that cool down, as the reads have found them; `nil` = nothing was read.
    var cooling: CoolingOrigins?
}

/// Eligibilities with ready transfers, read from the store.
struct EligibilityFacts {
    /// Eligibilities that this engine starts.
    var ready: [EligibilityKey] = []
    /// The conditions that matter to running and waiting transfers.
    var interest = ConditionNeeds()

    /// Eligibilities whose conditions are watched: an unknown condition satisfies a preference, and
    /// an unwatched one does not.
    func known(_ watching: ConditionNeeds) -> [EligibilityKey] {
        ready.filter { $0.interest.isWithin(watching) }
    }
}

/// The input of a plan, besides limits.
struct QueueSnapshot {
    /// `nil` = every place is taken, and nothing of the queue was read.
    var eligibilities: EligibilityFacts?
    /// Eligibilities whose conditions are watched.
    var ready: [EligibilityKey] = []
    /// The head of the queue, of those whose conditions hold.
    var rows: [ReadyRow] = []
    var origins: [OriginID: OriginState] = [:]
    /// Mirrors for transfers of the head whose own origin is avoided.
    var mirrors: [TransferID: [OriginID]] = [:]
    /// Bytes per second of one transfer, by origin.
    var rates: [String: Double] = [:]
    var running: [Running] = []
    var placeTime = PlaceTime()
    /// End of the first cool-down among the origins that were skipped.
    var coolDownEnds: Timestamp?
    var cursors: [Bool: ReadyPlace] = [:]
    var cooling: CoolingOrigins?

    fileprivate func candidate(_ row: ReadyRow) -> Candidate {
        var candidate = Candidate(
            id: row.id, session: String(row.sessionID), origin: OriginID(rawValue: row.origin),
            priority: row.priority, eligibility: row.eligibility,
            waitingSince: row.waitingSince, deadline: row.deadline,
            expectedSeconds: Candidate.seconds(bytes: row.bytesLeft, rate: rates[row.origin]))
        candidate.isUnresumable = row.isUnresumable
        candidate.placeTime = placeTime[candidate.session]
        candidate.mirrors = mirrors[row.id] ?? []
        candidate.place = row.place
        return candidate
    }
}

extension TurnPlan {
    /// Applies the scheduler's rules to a snapshot. Pure.
    ///
    /// - Parameter partFiles: Part files that may be opened.
    static func decide(
        _ queue: QueueSnapshot, _ policy: SchedulerPolicy, in snapshot: ConditionSnapshot,
        box: TimeBox?, partFiles: Int, now: Timestamp
    ) -> TurnPlan {
        precondition(
            partFiles > 0 || queue.rows.isEmpty, "nothing is read that could not be opened")
        let decided = policy.plan(
            head: queue.rows.map(queue.candidate), ready: queue.ready, running: queue.running,
            origins: queue.origins, in: snapshot, box: box, now: now)
        let sessions = Dictionary(queue.rows.map { ($0.id, $0.sessionID) }) { first, _ in first }
        var plan = TurnPlan()
        plan.starts = decided.starts.prefix(partFiles).compactMap { id in
            sessions[id].map {
                Start(
                    id: id, session: String($0), isOverdue: id == decided.overdue,
                    isPrefetched: decided.prefetched.contains(id))
            }
        }
        plan.stops = Set(decided.stops.map(\.id))
        plan.hasBacklog =
            queue.eligibilities == nil || decided.isPlaceAwaited
            || decided.starts.count > partFiles
        plan.holdsBack = decided.holdsBack
        plan.nextStart = [decided.nextStart, queue.coolDownEnds].compactMap { $0 }.min()
        plan.nextStop = decided.nextStop
        if plan.hasBacklog {
            let ends = queue.running.compactMap(\.turnEndsAt).filter { $0 > now }.min()
            plan.nextStop = [plan.nextStop, ends].compactMap { $0 }.min()
        }
        plan.interest = queue.eligibilities?.interest
        plan.cursors = queue.cursors
        plan.cooling = queue.cooling
        return plan
    }
}
