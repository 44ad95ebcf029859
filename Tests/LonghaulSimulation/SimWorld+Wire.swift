import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire

/// What is checked at the moment at which it happens: each request as it goes out, each byte as it
/// comes.
extension SimWorld {
    func watchWire() {
        wire.onQueue = { [unowned self] in checkQueue($0) }
        wire.onStart = { [unowned self] in checkStart($0) }
        wire.onReceive = { [unowned self] in checkBytes($0, $1, $2, $3) }
        wire.onOverrun = { [unowned self] key, range in
            ledger.held[key.fetch]?.overrun.insert(range)
            excuse(Int64(range.count), of: key.fetch)
        }
        wire.onWaste = { [unowned self] key, bytes in
            excuse(bytes, of: key.fetch)
        }
        disk.willReplace = { [unowned self] path in
            let owner = expected.values.first { $0.destination == path }
            if owner?.policy != .overwrite { complain("somebody's \(path) is replaced") }
        }
        disk.willDistrust = { [unowned self] in noteDistrust($0) }
        disk.didSetAside = { [unowned self] in ledger.setAside.insert($0) }
        wire.didAskToWait = { [unowned self] key, seconds in
            // The answer to a stopped request may come too late, and what was abandoned at a server
            // is taken away whatever becomes of its transfer.
            guard let id = transfer(of: key.fetch), let exchange = wire.requests[key],
                !exchange.isStopping, exchange.request.upload?.mayBeOfAbort != true,
                wire.order.count(where: { $0.fetch == key.fetch }) == 1, !isFollowing(key)
            else { return }
            // As a date it is told in whole seconds.
            expected[id]?.notBefore = now.monotonic + (seconds - 1)
        }
    }

    /// The engine hears with it of another request's end, after which it asks the next thing: that
    /// request crosses with the wish to wait.
    private func isFollowing(_ key: SegmentKey) -> Bool {
        wire.facts.contains { fact in
            if case .ended(let other, _) = fact { return other.fetch == key.fetch }
            return false
        }
    }

    /// Thrown at the end of the turn: the ports cannot throw.
    func complain(_ text: String) {
        if complaint == nil { complaint = SimComplaint(text, self) }
    }

    func transfer(of fetch: FetchID) -> TransferID? { ledger.held[fetch]?.transfer }

    /// So many bytes may come once more.
    func excuse(_ bytes: Int64, of fetch: FetchID) {
        ledger.flow[fetch, default: SimFlow()].allowance += bytes
        if let id = transfer(of: fetch) { expected[id]?.flow.allowance += bytes }
    }

    func excuse(_ bytes: Int64, of id: TransferID) {
        expected[id]?.flow.allowance += bytes
        if let fetch = expected[id]?.lastFetch {
            ledger.flow[fetch, default: SimFlow()].allowance += bytes
        }
    }

    func checkQueue(_ request: SegmentRequest) {
        tally.requests += 1
        let fetch = request.key.fetch
        if ledger.held[fetch] == nil { look() }
        let origin = SimWire.origin(of: request.url)
        let all = wire.requests.values.count { SimWire.origin(of: $0.request.url) == origin }
        if all >= policy.limits.perOrigin + PrefetchRate.aheadMax {
            complain("\(request.key): \(all + 1) requests for \(origin)")
        }
        guard let id = transfer(of: fetch) else { return }
        // The last word about a cancelled upload is said at once.
        if let moment = expected[id]?.notBefore, request.upload?.mayBeOfAbort != true {
            // A mirror may be asked at once.
            if now.monotonic < moment, expected[id]?.hasMirrors == false {
                complain("\(id) asks \(moment - now.monotonic) s before Retry-After is over")
            }
            expected[id]?.notBefore = nil
        }
    }

    private func checkStart(_ request: SegmentRequest) {
        let origin = SimWire.origin(of: request.url)
        let moving = wire.requests.values.filter { !$0.isQueued }
        let connections = moving.count { SimWire.origin(of: $0.request.url) == origin }
        if connections > policy.limits.perOrigin {
            complain("\(request.key): \(connections) connections to \(origin)")
        }
        // What abandoned uploads have left is taken away whatever else runs.
        let own = moving.filter { $0.request.upload?.mayBeOfAbort != true }
        let running = Set(own.map(\.request.key.fetch)).count
        if running > policy.limits.running { complain("\(running) transfers run at a time") }
    }

    /// Nothing that was fetched and recorded as durable is fetched again, where the server gives no
    /// reason for it.
    private func checkBytes(
        _ key: SegmentKey, _ range: Range<Int64>, _ content: SimContent, _ plan: BodyPlan
    ) {
        tally.bytes += Int64(range.count)
        guard let held = ledger.held[key.fetch] else { return }
        ledger.flow[key.fetch, default: SimFlow()].received += Int64(range.count)
        expected[held.transfer]?.flow.received += Int64(range.count)
        // On its way out nobody may have heard what the answer was.
        let isLeaving = wire.requests[key]?.isStopping ?? false
        let isExcused = held.isDistrusted || isLeaving
        let excused = isExcused ? Int64(range.count) : min(plan.compare, Int64(range.count))
        excuse(excused, of: key.fetch)
        let isOwn = wire.requests[key].map { $0.url == $0.request.url } ?? false
        // Another file of the same server has taught that it ignores ranges.
        guard content.isSteady, isOwn, plan.skip == 0 else {
            ledger.flow[key.fetch]?.isExempt = true
            expected[held.transfer]?.isExempt = true
            return
        }
        guard expected[held.transfer]?.isExempt == false, plan.compare == 0 else { return }
        if range.isEmpty { return }
        let again = held.durable.ranges.first {
            $0.overlaps(range) && !held.overrun.contains($0.clamped(to: range))
        }
        if let again {
            complain("\(held.transfer): \(range) is fetched again, \(again) was durable")
        }
    }

    /// A sync that failed takes with it what was written since the last good one, and what comes
    /// until the engine has heard of it.
    private func noteDistrust(_ fetch: FetchID) {
        guard let held = ledger.held[fetch] else { return }
        ledger.held[fetch]?.isDistrusted = true
        excuse(written(fetch) - held.durable.count, of: fetch)
    }

    func noteOutcomes() {
        for (fetch, event) in disk.outcomes {
            switch event {
            case .prepared(_, _, let created, _, _, _):
                // A power cut, or recovery, has put it back; another cut may undo the latter.
                let hasOldName = disk.durableNames.contains {
                    $0.key.hasSuffix(BadFile.suffix) && $0.value == disk.open[fetch]?.inode
                }
                if !created, !hasOldName { ledger.setAside.remove(fetch) }
                ledger.held[fetch]?.isDistrusted = false
                ledger.lastSync[fetch] = now.monotonic
                ledger.dueSince[fetch] = nil
            case .synced, .syncFailed, .truncated:
                ledger.lastSync[fetch] = now.monotonic
                ledger.dueSince[fetch] = nil
            case .prepareFailed, .reserved, .reserveFailed, .truncateFailed, .head, .progress,
                .ended, .verified, .mismatched, .verifyFailed, .digested, .secured, .secureFailed,
                .published, .occupied, .publishFailed, .foundPublished, .displaced, .filled,
                .fillFailed, .copied, .copyFailed, .handedOut, .handOutFailed, .leave,
                .tick, .opened, .looked, .interim:
                break
            }
        }
    }

    /// A checkpoint is made when it is due: by bytes, or by time.
    func checkCheckpoints() throws {
        for fetch in Set(wire.order.map(\.fetch)) {
            guard let held = ledger.held[fetch], disk.open[fetch] != nil, !held.isDistrusted,
                !isSyncing(fetch),
                !wire.requests.contains(where: { $0.key.fetch == fetch && $0.value.isStopping })
            else { continue }
            let unsynced = written(fetch) - held.durable.count
            let age = ledger.lastSync[fetch].map { now.monotonic - $0 } ?? 0
            let isDue = unsynced >= Limits.checkpointBytes || age > Limits.checkpointSeconds
            guard unsynced > 0, isDue else {
                ledger.dueSince[fetch] = nil
                continue
            }
            // Looked at with every tick.
            let since = ledger.dueSince[fetch] ?? now.monotonic
            ledger.dueSince[fetch] = since
            if now.monotonic - since > Limits.tickSeconds + 0.01 {
                throw SimComplaint(
                    "\(held.transfer): \(unsynced) bytes wait for a checkpoint since \(age) s", self
                )
            }
        }
    }

    private func isSyncing(_ fetch: FetchID) -> Bool {
        disk.orders.contains { order in
            switch order {
            case .sync(fetch, _, _, _), .truncate(fetch, _): true
            case .prepare, .openSource, .lookAtSource, .reserve, .truncate, .sync, .verify, .digest,
                .secure,
                .publish,
                .fill, .copy, .close, .delete:
                false
            }
        } || disk.outcomes.contains { $0.0 == fetch }
    }

    /// Bytes of a fetch that are durable by the store's word, or written by the board's.
    func written(_ fetch: FetchID) -> Int64 {
        guard let held = ledger.held[fetch] else { return 0 }
        var have = held.durable
        for cell in disk.cells.values
        where cell.fetch == fetch && cell.generation == held.generation && cell.written > cell.start
        {
            have.insert(cell.start..<cell.written)
        }
        return have.count
    }
}
