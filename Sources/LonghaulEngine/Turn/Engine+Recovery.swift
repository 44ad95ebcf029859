package import LonghaulCore
internal import LonghaulStore

/// What a new engine does first: everything that its predecessor left half-done is brought to where
/// a crash between any two steps is harmless. Runs before the first turn and may wait for the disk.
extension Engine {
    package func recover(now: Moment) throws(LonghaulError) {
        var leftovers: [FetchID: [BoardLeftover]] = [:]
        for left in files.leftovers() { leftovers[left.fetch, default: []].append(left) }
        var plans: [Recovered] = []
        try transaction(.relaxed) { tx in
            // Before any deadline is read.
            if let bootID { try tx.follow(ClockMark(boot: bootID, at: now), now: now.wall) }
            for id in try tx.liveUnqueued() {
                guard let work = try tx.work(id) else { continue }
                var state: FetchState?
                if let fetch = work.fetchID { state = try tx.fetch(fetch) }
                var plan = Recovered(work: work, state: state)
                if let state, state.isDurable, state.leader == id {
                    plan.subscribers = try tx.members(of: state.id).compactMap { try tx.work($0) }
                }
                plans.append(plan)
            }
        }
        for index in plans.indices { examine(&plans[index], leftovers) }
        var left: [OrphanedPart] = []
        try transaction(.durable) { tx in
            for plan in plans { try settle(plan, tx, now: now) }
            left = try tx.orphanedParts(now: now.wall)
        }
        // Only now: until the commit above, a crash leaves the board to the next engine.
        files.resetBoard()
        files.submit(left.map { .delete($0) })
        try adoptLaunches(now: now)
        needsLook = true
        needsPlan = true
        gates.turnedAt = now
    }

    private struct Recovered {
        var work: TransferWork
        var state: FetchState?
        var action: RecoveryAction = .requeueFresh
        /// Of a whole fetch, of which there may be copies that nobody has recorded.
        var subscribers: [TransferWork] = []
        /// The file is, whatever its bytes are worth.
        var isPartThere = false
    }

    private func examine(_ plan: inout Recovered, _ leftovers: [FetchID: [BoardLeftover]]) {
        look(&plan, leftovers)
        // Now, when it is known: nobody knows of it any more after the commit.
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

    /// Looks at the files, and makes durable what this boot wrote after the last checkpoint.
    private func look(_ plan: inout Recovered, _ leftovers: [FetchID: [BoardLeftover]]) {
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

    private func settle(
        _ plan: Recovered, _ tx: borrowing EngineTransaction, now: Moment
    ) throws {
        let id = plan.work.id
        switch plan.action {
        case .requeue(let have):
            guard var state = plan.state else { break }
            state.durable = have
            try tx.save(state)
        case .requeueFresh:
            leftUnrecorded[id] = plan.work.startedAt
            if var state = plan.state {
                forget(&state, plan)
                try tx.save(state)
            }
        case .restart(let reason):
            guard var state = plan.state else { break }
            let lost = state.durable.count
            forget(&state, plan)
            state.validator = nil
            state.bytesTotal = nil
            state.restarts += lost > 0 ? 1 : 0
            try tx.save(state)
            if lost > 0 {
                try restarted(id, reason.description, bytesLost: lost, tx, now: now)
            }
        case .rejoin: break
        case .republish:
            // Whole and durable: the next attempt goes straight to publishing.
            if let state = plan.state { try tx.save(state) }
        case .markCompleted:
            guard let state = plan.state else { break }
            let path = state.publication ?? plan.work.destination
            try tx.complete(
                id, finalPath: path, numbers: TransferNumbers(state), now: now.wall)
            counters.completed += 1
            return
        }
        try tx.setQueued(id, now: now.wall)
        // What is wanted of it may have changed while nobody looked.
        try tx.addAttention(id)
    }

    /// Nothing of what is on disk is worth anything any more. The file itself stays the fetch's and
    /// is written anew: nobody else would ever remove it.
    private func forget(_ state: inout FetchState, _ plan: Recovered) {
        state.generation += 1
        state.durable = ByteRanges()
        state.publication = nil
        if !plan.isPartThere { state.partIdentity = nil }
    }
}
