import LonghaulCore
import LonghaulEngine

/// What is checked at the moment at which it happens: each request as it goes out, each byte as it
/// comes.
extension SimWorld {
    func watchWire() {
        wire.willQueue = { [unowned self] in checkQueue($0) }
        wire.willStart = { [unowned self] in checkStart($0) }
        wire.didReceive = { [unowned self] in checkBytes($0, $1, $2, $3) }
        wire.didWaste = { [unowned self] key, bytes in
            if let id = transfer(of: key.fetch) { expected[id]?.allowance += bytes }
        }
        disk.willDistrust = { [unowned self] in noteDistrust($0) }
        wire.didAskToWait = { [unowned self] key, seconds in
            guard let id = transfer(of: key.fetch),
                wire.order.count(where: { $0.fetch == key.fetch }) == 1
            else { return }
            // As a date it is told in whole seconds.
            expected[id]?.notBefore = now.monotonic + (seconds - 1)
        }
    }

    /// Thrown at the end of the turn: the ports cannot throw.
    func complain(_ text: String) {
        if complaint == nil { complaint = SimComplaint(text, self) }
    }

    func transfer(of fetch: FetchID) -> TransferID? { ledger.held[fetch]?.transfer }

    private func checkQueue(_ request: SegmentRequest) {
        tally.requests += 1
        let fetch = request.key.fetch
        if ledger.held[fetch] == nil { look() }
        let origin = SimWire.origin(of: request.url)
        let all = wire.exchanges.values.count { SimWire.origin(of: $0.request.url) == origin }
        if all >= policy.limits.perOrigin + StartPace.aheadMax {
            complain("\(request.key): \(all + 1) requests for \(origin)")
        }
        guard let id = transfer(of: fetch) else { return }
        if let moment = expected[id]?.notBefore {
            if now.monotonic < moment {
                complain("\(id) asks \(moment - now.monotonic) s before Retry-After is over")
            }
            expected[id]?.notBefore = nil
        }
    }

    private func checkStart(_ request: SegmentRequest) {
        let origin = SimWire.origin(of: request.url)
        let moving = wire.exchanges.values.filter { !$0.isQueued }
        let connections = moving.count { SimWire.origin(of: $0.request.url) == origin }
        if connections > policy.limits.perOrigin {
            complain("\(request.key): \(connections) connections to \(origin)")
        }
        let running = Set(moving.map(\.request.key.fetch)).count
        if running > policy.limits.running { complain("\(running) transfers run at a time") }
    }

    /// Nothing that was fetched and recorded as durable is fetched again, where the server gives no
    /// reason for it.
    private func checkBytes(
        _ key: SegmentKey, _ range: Range<Int64>, _ content: SimContent, _ plan: BodyPlan
    ) {
        tally.bytes += Int64(range.count)
        guard let held = ledger.held[key.fetch] else { return }
        expected[held.transfer]?.received += Int64(range.count)
        if held.isDistrusted { expected[held.transfer]?.allowance += Int64(range.count) }
        let isOwn = wire.exchanges[key].map { $0.url == $0.request.url } ?? false
        // Another file of the same server has taught that it ignores ranges.
        guard content.isSteady, isOwn, plan.skip == 0 else {
            expected[held.transfer]?.isExempt = true
            return
        }
        guard expected[held.transfer]?.isExempt == false, plan.compare == 0 else { return }
        if range.isEmpty { return }
        let again = held.durable.ranges.first { $0.overlaps(range) }
        if let again {
            complain("\(held.transfer): \(range) is fetched again, \(again) was durable")
        }
    }

    /// A sync that failed takes with it what was written since the last good one, and what comes
    /// until the engine has heard of it.
    private func noteDistrust(_ fetch: FetchID) {
        guard let held = ledger.held[fetch] else { return }
        ledger.held[fetch]?.isDistrusted = true
        let lost = written(fetch) - held.durable.count
        expected[held.transfer]?.allowance += lost
    }

    func noteOutcomes() {
        for case (let fetch, .prepared) in disk.outcomes {
            ledger.held[fetch]?.isDistrusted = false
        }
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
