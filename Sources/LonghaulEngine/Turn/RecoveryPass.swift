internal import LonghaulCore
internal import LonghaulStore

/// The first step of a new engine: its predecessor's unfinished steps are brought to a state that a
/// crash between any two steps leaves intact. It runs before the first turn and may wait for the
/// disk.
struct RecoveryPass {
    let writer: StoreWriter
    let files: any FilePort
    let bootID: String?
    let now: Moment
    /// Transfers that may have an unrecorded part file after a crash, and since when.
    private(set) var unrecordedSince: [TransferID: Timestamp] = [:]
    /// Transfers whose file had its name already.
    private(set) var completed = 0

    init(writer: StoreWriter, files: any FilePort, bootID: String?, now: Moment) {
        self.writer = writer
        self.files = files
        self.bootID = bootID
        self.now = now
    }

    mutating func run() throws(LonghaulError) {
        var leftovers: [FetchID: [BoardLeftover]] = [:]
        for left in files.leftovers() { leftovers[left.fetch, default: []].append(left) }
        var plans = try load()
        for index in plans.indices { examine(&plans[index], leftovers) }
        var orphans: [OrphanedPart] = []
        var ended = 0
        var unrecorded: [TransferID: Timestamp] = [:]
        try writer.transaction(.durable) { tx in
            for plan in plans {
                if plan.action == .requeueFresh {
                    unrecorded[plan.work.id] = plan.work.startedAt
                }
                let settlement = Settlement.decide(
                    plan.action, plan.state, destination: plan.work.path,
                    isPartThere: plan.isPartThere)
                if try write(settlement, of: plan.work.id, tx) { ended += 1 }
            }
            orphans = try tx.fetches.orphanedParts(now: now.wall)
        }
        (completed, unrecordedSince) = (ended, unrecorded)
        // The board is reset only now: until the commit above, a crash leaves it to the next
        // engine.
        files.resetBoard()
        files.submit(orphans.map { .delete($0) })
    }

    private func load() throws(LonghaulError) -> [Recovered] {
        var plans: [Recovered] = []
        try writer.transaction(.relaxed) { tx in
            // Before any deadline is read.
            if let bootID { try tx.follow(ClockMark(boot: bootID, at: now), now: now.wall) }
            for id in try tx.transfers.liveUnqueued() {
                guard let work = try tx.transfers.work(id) else { continue }
                var state: FetchState?
                if let fetch = work.fetchID { state = try tx.fetches.state(of: fetch) }
                var plan = Recovered(work: work, state: state)
                if let state, state.isDurable, state.leader == id {
                    plan.subscribers = try tx.sharing.members(of: state.id).compactMap {
                        try tx.transfers.work($0)
                    }
                }
                plans.append(plan)
            }
        }
        return plans
    }

    private struct Recovered {
        var work: TransferWork
        var state: FetchState?
        var action: RecoveryAction = .requeueFresh
        /// Transfers of a whole fetch that may have unrecorded copies.
        var subscribers: [TransferWork] = []
        /// The file exists; its bytes may be useless.
        var isPartThere = false
    }

    private func examine(_ plan: inout Recovered, _ leftovers: [FetchID: [BoardLeftover]]) {
        reconcileFiles(of: &plan, leftovers)
        if plan.work.isUpload { return }
        // Before the commit, after which its start is not recorded any more.
        if plan.action == .requeueFresh, !plan.isPartThere, let since = plan.work.startedAt {
            files.clearPart(
                of: plan.work.id, plan.work.partSuffix, beside: plan.work.path,
                madeSince: since, sparing: nil)
        }
        let recorded = plan.state?.recordedPart
        for subscriber in plan.subscribers {
            files.clearPart(
                of: subscriber.id, subscriber.partSuffix, beside: subscriber.path,
                madeSince: subscriber.startedAt ?? subscriber.createdAt, sparing: recorded)
        }
    }

    /// Compares the row with the files, and syncs this boot's writes after the last checkpoint.
    private func reconcileFiles(
        of plan: inout Recovered, _ leftovers: [FetchID: [BoardLeftover]]
    ) {
        guard var state = plan.state else { return }
        if let leader = state.leader, leader != plan.work.id {
            plan.action = reconcile(
                fetch: state, follows: true,
                facts: FileFacts(part: .missing, destination: .missing), written: ByteRanges())
            return
        }
        var written = ByteRanges()
        var mount: UInt64 = 0
        for left in leftovers[state.id] ?? [] {
            if let generation = left.generation {
                if generation == state.generation { written.insert(left.written) }
            } else {
                mount = left.mount
                state.bytesFetched = max(state.bytesFetched, left.received)
            }
        }
        plan.state = state
        // The server is asked how far it is; here nothing can have been lost.
        if plan.work.isUpload {
            plan.action = .requeue(have: state.durable)
            return
        }
        if let part = state.recordedPart {
            files.takeBack(
                part,
                from: state.finalDestination(
                    of: plan.work.request, at: plan.work.path))
        }
        let facts = files.facts(
            part: state.partPath, destination: state.publication ?? plan.work.path,
            madeOn: state.partDisk, expecting: state.partIdentity)
        if case .present(let identity, _) = facts.part {
            plan.isPartThere = identity == state.partIdentity
        }
        plan.action = reconcile(
            fetch: state, facts: facts, written: written, through: mount)
        if plan.action == .markCompleted {
            // The crash may have come between the rename and the sync of its directory.
            let path = state.publication ?? plan.work.path
            if files.syncDirectory(of: path, without: state.recordedPart) != nil {
                plan.action = .requeue(have: state.durable)
            }
            return
        }
        guard case .requeue(let have) = plan.action, have != state.durable,
            let identity = state.partIdentity
        else { return }
        if files.sync(part: state.partPath, of: state.id, expecting: identity) != nil {
            // Unknown from the last good checkpoint on.
            plan.state?.generation += 1
            plan.action = .requeue(have: state.durable)
        }
    }

    /// `true` = the transfer is completed.
    private func write(
        _ settlement: Settlement, of id: TransferID, _ tx: borrowing EngineTransaction
    ) throws -> Bool {
        if let state = settlement.state { try tx.fetches.save(state) }
        if let restart = settlement.restart {
            try WriteApplier(now: now).recordRestart(
                of: id, restart.reason, bytesLost: restart.bytesLost, tx)
        }
        if let completed = settlement.completed {
            try tx.transfers.complete(
                id, finalPath: completed.path, numbers: completed.numbers, now: now.wall)
            return true
        }
        try tx.transfers.setQueued(id, now: now.wall)
        // The intent may have changed while no engine ran. A transfer that is still wanted is not
        // hastened.
        _ = try tx.inbox.add(unlessWanted: id)
        return false
    }
}

/// Outcome for the rows of a transfer that the last engine left half-done. Pure: the answer to what
/// ``reconcile(fetch:follows:facts:written:through:)`` found.
struct Settlement: Hashable {
    struct Restart: Hashable {
        var reason: String
        var bytesLost: Int64
    }

    struct Completed: Hashable {
        var path: String
        var numbers: TransferTotals
    }

    /// Saved; `nil` = as it was.
    var state: FetchState?
    var restart: Restart?
    /// `nil` = it goes back to the queue.
    var completed: Completed?

    /// - Parameter isPartThere: The part file exists; its bytes may be useless.
    static func decide(
        _ action: RecoveryAction, _ state: FetchState?, destination: String, isPartThere: Bool
    ) -> Settlement {
        var settlement = Settlement()
        guard var state else { return settlement }
        switch action {
        case .requeue(let have): state.durable = have
        case .requeueFresh: state.forgetBytes(isPartThere: isPartThere)
        case .restart(let reason):
            let lost = state.durable.count
            state.forgetBytes(isPartThere: isPartThere)
            state.validator = nil
            state.bytesTotal = nil
            if lost > 0 {
                state.restarts += 1
                settlement.restart = Restart(reason: reason.description, bytesLost: lost)
            }
        case .rejoin: return settlement
        // Whole and durable: the next attempt goes straight to publishing.
        case .republish: break
        case .markCompleted:
            settlement.completed = Completed(
                path: state.publication ?? destination, numbers: TransferTotals(state))
            return settlement
        }
        settlement.state = state
        return settlement
    }
}

extension FetchState {
    /// The bytes on disk are worth nothing any more. The file stays the fetch's and is written
    /// again from its start: without an owner it would never be removed.
    fileprivate mutating func forgetBytes(isPartThere: Bool) {
        generation += 1
        durable = ByteRanges()
        publication = nil
        if !isPartThere { partIdentity = nil }
    }
}
