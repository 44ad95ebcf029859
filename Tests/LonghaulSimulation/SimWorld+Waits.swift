import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire
import LonghaulStore

/// Who may run and who has to wait, by rules that are not the engine's.
extension SimWorld {
    /// Which of the things that it insists on, or wishes, do not hold.
    func missing(_ transfer: Transfer, isRunning: Bool) -> Set<WaitReason.Reason> {
        var missing: Set<WaitReason.Reason> = []
        let must = transfer.runsNow ? ConditionNeeds() : transfer.schedule.requires
        let wish =
            transfer.arePreferencesWaived || transfer.runsNow
            ? ConditionNeeds()
            : transfer.schedule.preferences(isDiscretionary: transfer.isDiscretionary)
        let seen = visible
        if must.power && seen.power.value != .external
            || wish.power && seen.power.value == .battery
        {
            missing.insert(.power)
        }
        let network = seen.network.value
        if must.unmetered && network != .unmetered || wish.unmetered && network == .metered {
            // Of a network that is away or unknown it cannot be said whether it is metered.
            missing.insert(network == .metered ? .unmetered : .network)
        }
        if must.idle && seen.isIdle.value != true || wish.idle && seen.isIdle.value == false {
            missing.insert(.idle)
        }
        let saves = seen.savesPower.value
        if must.fullPower && saves != false || wish.fullPower && saves == true {
            missing.insert(.saver)
        }
        if let charge = must.battery, seen.power.value != .external,
            (seen.battery.value ?? 0) < charge
        {
            missing.insert(.battery)
        }
        if transfer.eligibility.usesNetwork {
            let isSettling = settlesAt.map { now.monotonic < $0 } ?? false
            if network == .offline || isSettling && !isRunning { missing.insert(.network) }
        }
        if !transfer.runsNow, let windows = transfer.schedule.windows,
            !windows.phase(at: now.wall, time).isOpen
        {
            missing.insert(.window)
        }
        if !isRunning, isBeforeItsTime(transfer.id) { missing.insert(.transfers) }
        return missing
    }

    /// Nothing is on the wire without what it requires, once the engine has been told.
    func checkRequirements() throws {
        for key in wire.order {
            // A server is told that an upload is not wanted any more, whatever holds.
            guard let exchange = wire.requests[key], !exchange.isStopping,
                exchange.request.upload?.mayBeOfAbort != true,
                let id = transfer(of: key.fetch), let transfer = shown[id]
            else { continue }
            // What has all its bytes is let finish.
            if exchange.isOpen, exchange.served.sent == Int64(exchange.served.range.count) {
                continue
            }
            let whole = 0..<(wire.versions[key]?.count ?? 0)
            if exchange.isOpen, ledger.held[key.fetch]?.durable.contains(whole) == true { continue }
            let lacks = Set(
                heeded(by: key.fetch, or: transfer).map { self.missing($0, isRunning: true) })
            if !lacks.contains([]) {
                throw SimComplaint("\(id) runs without \(lacks)", self)
            }
        }
    }

    /// A fetch runs for the least strict of those that it serves; who is not to begin yet comes
    /// along.
    private func heeded(by fetch: FetchID, or owner: Transfer) -> [Transfer] {
        let served = shown.values.filter { $0.held?.fetch == fetch && $0.state == .running }
        let timely = served.filter { ($0.earliestBegin ?? now.wall) <= now.wall }
        let heeded = timely.isEmpty ? served : timely
        return heeded.isEmpty ? [owner] : heeded.sorted { $0.id < $1.id }
    }

    /// Each that waits has a reason that holds, and the engine will look when time ends it.
    func checkWaits(_ outcome: TurnOutcome) throws {
        // It comes back at once (the wall clock counts in milliseconds), or has not heard yet what
        // has just left the wire.
        let comesBack = outcome.wakeAt.map { $0 <= now.monotonic + 0.01 } ?? false
        if comesBack || !wire.facts.isEmpty || isJustSettled(outcome) { return }
        for id in shown.keys.sorted() {
            guard let transfer = shown[id], transfer.state == .waiting else { continue }
            tally.waitsExplained += 1
            if let deadline = transfer.deadline, deadline <= now.wall {
                throw SimComplaint("\(id) waits beyond its deadline", self)
            }
            if hosts?.hasAsked(about: transfer) == true { continue }
            var until: Timestamp?
            let told = transfer.waitingFor.compactMap(\.nextCheck).max()
            if transfer.waitingFor.contains(where: {
                $0.reason == .backoff && $0.since.map { $0 > now.wall + 1 } ?? false
            }) {
                throw SimComplaint("\(id) waits since a moment that is yet to come", self)
            }
            if let told, told > now.wall { until = told }
            let missing = missing(transfer, isRunning: false)
            if !missing.isEmpty {
                openSince[id] = nil
                continue
            }
            if let until {
                let wait = outcome.wakeAt.map { $0 - now.monotonic } ?? .infinity
                if wait > max(0, until - now.wall) + 0.01 {
                    throw SimComplaint("nobody will wake \(id) at \(until), but in \(wait)", self)
                }
                continue
            }
            if try isItsTurnLater(transfer) {
                let since = openSince[id] ?? now.monotonic
                openSince[id] = since
                longestTurn = max(longestTurn, now.monotonic - since)
                continue
            }
            let counts = try store.transfers.runningCounts()
            let origin = try store.transfers.origin(SimWire.origin(of: transfer.url))
            throw SimComplaint(
                "\(id) waits for nothing, \(counts), \(origin), \(outcome), \(disk.orders)", self)
        }
    }

    /// The network has settled, and the plan's moment for that comes within a second: the clock was
    /// set back by less than what is followed.
    private func isJustSettled(_ outcome: TurnOutcome) -> Bool {
        guard let settled = settlesAt, let wake = outcome.wakeAt else { return false }
        return now.monotonic >= settled && wake < settled + 1
    }

    private func isItsTurnLater(_ transfer: Transfer) throws -> Bool {
        let limits = policy.limits
        let running = try store.transfers.runningCounts()
        let leavers = onTheirWayOut()
        if running.total + leavers.count >= limits.running { return true }
        let most = max(limits.running - limits.reserved, (limits.running + 1) / 2)
        let leaving = expected.values.count { $0.beganDiscretionary }
        if transfer.isDiscretionary, running.discretionary + leaving >= most { return true }
        let origin = SimWire.origin(of: transfer.url)
        let ofOrigin =
            (running.ofOrigin[origin] ?? 0)
            + leavers.count { SimWire.origin(of: $0.url) == origin }
        let requests = wire.order.filter {
            SimWire.origin(of: wire.requests[$0]!.request.url) == origin
        }
        // Who has not asked yet counts for one.
        let silent = max(0, ofOrigin - Set(requests.map(\.fetch)).count)
        if requests.count + silent >= limits.perOrigin { return true }
        switch try store.transfers.origin(origin).health(at: now.wall) {
        case .cooling: return true
        case .probing: return ofOrigin > 0
        case .well: return false
        }
    }

    /// Owners of fetches that run for no transfer any more, and whose file is still being opened or
    /// whose requests are being stopped: each keeps its place until that is over.
    private func onTheirWayOut() -> [Transfer] {
        let opening = disk.orders.compactMap { order in
            switch order {
            case .prepare(let fetch, _, _), .openSource(let fetch, _, _): fetch
            case .lookAtSource, .reserve, .truncate, .sync, .verify, .digest, .secure, .publish,
                .fill, .copy,
                .close,
                .delete:
                nil
            }
        }
        let stopping = wire.order.filter { wire.requests[$0]?.isStopping == true }.map(\.fetch)
        let leaving = Set(opening + stopping).filter { fetch in
            !shown.values.contains { $0.held?.fetch == fetch && $0.state == .running }
        }
        return leaving.compactMap { transfer(of: $0).flatMap { shown[$0] } }
    }
}
