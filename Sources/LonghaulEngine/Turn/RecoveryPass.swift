internal import LonghaulCore
internal import LonghaulStore

/// What a new engine does first: what its predecessor left half-done is brought to where a crash
/// between any two steps is harmless. It runs before the first turn and may wait for the disk.
struct RecoveryPass {
    let writer: StoreWriter
    let files: any FilePort
    let bootID: String?
    let now: Moment
    /// Transfers of which a crash may have left a part file that is not recorded, and since when.
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
                if try settle(plan, tx) { ended += 1 }
            }
            orphans = try tx.fetches.orphanedParts(now: now.wall)
        }
        (completed, unrecordedSince) = (ended, unrecorded)
        // Only now: until the commit above, a crash leaves the board to the next engine.
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
        /// Of a whole fetch, of which there may be copies that are not recorded.
        var subscribers: [TransferWork] = []
        /// The file exists, whatever its bytes are worth.
        var isPartThere = false
    }

    private func examine(_ plan: inout Recovered, _ leftovers: [FetchID: [BoardLeftover]]) {
        reconcileFiles(of: &plan, leftovers)
        // Before the commit, after which its start is not recorded any more.
        if plan.action == .requeueFresh, !plan.isPartThere, let since = plan.work.startedAt {
            files.clearPart(
                of: plan.work.id, plan.work.partSuffix, beside: plan.work.destination,
                madeSince: since, sparing: nil)
        }
        let recorded = plan.state?.recordedPart
        for subscriber in plan.subscribers {
            files.clearPart(
                of: subscriber.id, subscriber.partSuffix, beside: subscriber.destination,
                madeSince: subscriber.startedAt ?? subscriber.createdAt, sparing: recorded)
        }
    }

    /// Compares the row with the files, and makes durable what this boot wrote after the last
    /// checkpoint.
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
        if let part = state.recordedPart {
            files.takeBack(
                part,
                from: state.finalDestination(
                    of: plan.work.request, at: plan.work.destination))
        }
        let facts = files.facts(
            part: state.partPath, destination: state.publication ?? plan.work.destination,
            madeOn: state.partDisk, expecting: state.partIdentity)
        if case .present(let identity, _) = facts.part {
            plan.isPartThere = identity == state.partIdentity
        }
        plan.action = reconcile(
            fetch: state, facts: facts, written: written, through: mount)
        if plan.action == .markCompleted {
            // The crash may have come between the rename and the sync of its directory.
            let path = state.publication ?? plan.work.destination
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
    private func settle(_ plan: Recovered, _ tx: borrowing EngineTransaction) throws -> Bool {
        let id = plan.work.id
        switch plan.action {
        case .requeue(let have):
            guard var state = plan.state else { break }
            state.durable = have
            try tx.fetches.save(state)
        case .requeueFresh:
            if var state = plan.state {
                forgetBytes(of: &state, plan)
                try tx.fetches.save(state)
            }
        case .restart(let reason):
            guard var state = plan.state else { break }
            let lost = state.durable.count
            forgetBytes(of: &state, plan)
            state.validator = nil
            state.bytesTotal = nil
            state.restarts += lost > 0 ? 1 : 0
            try tx.fetches.save(state)
            if lost > 0 {
                try WriteApplier(now: now).recordRestart(
                    of: id, reason.description, bytesLost: lost, tx)
            }
        case .rejoin: break
        case .republish:
            // Whole and durable: the next attempt goes straight to publishing.
            if let state = plan.state { try tx.fetches.save(state) }
        case .markCompleted:
            guard let state = plan.state else { break }
            let path = state.publication ?? plan.work.destination
            try tx.transfers.complete(
                id, finalPath: path, numbers: TransferTotals(state), now: now.wall)
            return true
        }
        try tx.transfers.setQueued(id, now: now.wall)
        // Its intent may have changed while no engine ran.
        try tx.inbox.add(id)
        return false
    }

    /// The bytes on disk are worth nothing any more. The file stays the fetch's and is written
    /// again from its start: without an owner it would never be removed.
    private func forgetBytes(of state: inout FetchState, _ plan: Recovered) {
        state.generation += 1
        state.durable = ByteRanges()
        state.publication = nil
        if !plan.isPartThere { state.partIdentity = nil }
    }
}
