internal import CLonghaul
internal import LonghaulCore

extension TransportLoop {
    // MARK: - Rate

    /// A change of rate takes effect with the next piece of the body.
    func setRate(_ key: SegmentKey, _ rate: Int64?) {
        guard let exchange = byKey[key] else { return queue.limit(key, to: rate) }
        exchange.ownRate = rate
        if exchange.isToBeAskedAgain { finish(exchange, .stopped) }
    }

    func setTotalRate(_ rate: Int64?) {
        lh_bucket_set(&turn.pointee.total, rate ?? 0, turn.pointee.now)
        queue.slowsAll = (rate ?? 0) > 0
        for exchange in active.filter(\.isToBeAskedAgain) { finish(exchange, .stopped) }
    }

    /// Fills the buckets and resumes the requests whose tokens suffice for a portion.
    func liftRatePauses() {
        let now = turn.pointee.now
        lh_bucket_fill(&turn.pointee.total, now)
        guard active.contains(where: \.isLimited) else { return }
        rateRound += 1
        // By identity: resuming may end a request and move others in `active`.
        let paused = active.filter(\.isLimited)
        for offset in paused.indices {
            let exchange = paused[(offset + rateRound) % paused.count]
            lh_bucket_fill(&exchange.flow.pointee.bucket, now)
            guard exchange.isRatePaused, rateWait(exchange) == 0 else { continue }
            exchange.flow.pointee.rate_paused = 0
            resume(exchange)
        }
    }

    private func rateWait(_ exchange: EasyHandle) -> Int64 {
        max(lh_bucket_wait(&turn.pointee.total), lh_bucket_wait(&exchange.flow.pointee.bucket))
    }

    // MARK: - Slow disks

    /// Resumes requests after a slow write, when other requests have had as much time, or when no
    /// socket is ready.
    func liftRests() {
        guard turn.pointee.rests != 0 else { return }
        turn.pointee.rests = 0
        for exchange in active.filter(\.isResting) {
            if active.count > 1, readySockets > 0,
                exchange.flow.pointee.rests_until > turn.pointee.now
            {
                turn.pointee.rests = 1
            } else {
                exchange.flow.pointee.rests_until = 0
                resume(exchange)
            }
        }
    }

    // MARK: - Stalls

    /// Ends requests without progress for their stall timeout: no head, no body byte. Requests that
    /// are paused or limited here are not stalled, nor those that have not been sent. If the local
    /// address is lost or the network has changed, some seconds are enough.
    func endStalled() {
        let now = turn.pointee.now
        guard now >= nextStallCheck else { return }
        nextStallCheck = .max
        var stalled: [EasyHandle] = []
        var lost: [EasyHandle] = []
        for exchange in active {
            guard let request = exchange.request else { continue }
            let timeout = nanoseconds(request.connection.stallTimeout)
            guard exchange.hasBegun else {
                nextStallCheck = min(nextStallCheck, now.addingClamped(timeout))
                continue
            }
            if exchange.isKeptSilent {
                exchange.flow.pointee.touched = now
            }
            var deadline = exchange.flow.pointee.touched.addingClamped(timeout)
            if deadline <= now, mates(of: exchange).isEmpty {
                exchange.noteHeardBelow(now: now)
                deadline = exchange.flow.pointee.touched.addingClamped(timeout)
            }
            if deadline <= now {
                exchange.isStalled = true
                stalled.append(exchange)
            } else if isSilent(exchange), exchange.isSuspect || exchange.hasLostAddress {
                lost.append(exchange)
            } else {
                nextStallCheck = min(nextStallCheck, deadline, nextLook(at: exchange))
            }
        }
        endWithConnections(stalled)
        // Some may have ended together with the stalled ones.
        for exchange in lost where exchange.request != nil {
            exchange.closesConnection()
            if let line = exchange.line { staleConnections.note(line.name, now: now) }
            finish(exchange, .lostWay)
        }
    }

    private func isSilent(_ exchange: EasyHandle) -> Bool {
        turn.pointee.now - exchange.flow.pointee.touched >= Self.silenceOfTheDead
    }

    /// When it becomes silent, or when to check again because it still is.
    private func nextLook(at exchange: EasyHandle) -> Int64 {
        let since = isSilent(exchange) ? turn.pointee.now : exchange.flow.pointee.touched
        return since + Self.silenceOfTheDead
    }

    /// An HTTP/2 connection outlives its requests. If its route is gone, it fails without an error,
    /// and libcurl would give it to further requests until the kernel gives it up after a quarter
    /// of an hour. So it ends with a request that receives nothing, unless another request has
    /// received something on it in the second half of that time.
    private func endWithConnections(_ stalled: [EasyHandle]) {
        let now = turn.pointee.now
        for exchange in stalled where exchange.isStalled {
            let mates = mates(of: exchange)
            let lately = now - (now - exchange.flow.pointee.touched) / 2
            if !mates.contains(where: { $0.flow.pointee.heard > lately }) {
                // The last request to leave the connection closes it.
                for user in mates + [exchange] { user.closesConnection() }
                for mate in mates where !mate.isStalled { finish(mate, .deadConnection) }
                if let line = exchange.line { staleConnections.note(line.name, now: now) }
            }
            complete(exchange, CURLE_OPERATION_TIMEDOUT)
        }
    }

    /// A request may be stopped because it is silent. Unless that is caused here, its connection is
    /// not reused. If other requests use the connection, their stall timeouts decide.
    func leaveConnection(of exchange: EasyHandle) {
        guard isSilent(exchange), exchange.hasBegun, !exchange.isKeptSilent,
            mates(of: exchange).isEmpty
        else { return }
        exchange.closesConnection()
    }

    /// The other requests on its connection.
    private func mates(of exchange: EasyHandle) -> [EasyHandle] {
        guard let connection = exchange.connection else { return [] }
        return active.filter { $0 !== exchange && $0.connection == connection }
    }

    /// Clamped: a timeout may be a thousand years.
    func nanoseconds(_ seconds: Double) -> Int64 {
        Int64(bounding: max(0, seconds) * 1e9)
    }

    // MARK: - Sleep

    /// Milliseconds until the next work that no socket announces; libcurl's own timers shorten the
    /// wait by themselves.
    func pollTimeout() -> Int32 {
        if turn.pointee.rests != 0 { return active.count > 1 ? Self.momentForOthers : 0 }
        var wait = Int64.max
        if nextStallCheck != .max, !active.isEmpty { wait = nextStallCheck - turn.pointee.now }
        if nextPendingCheck != .max, !active.isEmpty {
            wait = min(wait, nextPendingCheck - turn.pointee.now)
        }
        if queue.restsEndAt != .max { wait = min(wait, queue.restsEndAt - turn.pointee.now) }
        for exchange in active {
            if exchange.isRatePaused { wait = min(wait, rateWait(exchange)) }
            if exchange.isConnecting { wait = min(wait, Self.connectingTime) }
        }
        if let look = yieldDriver.wakeUp(turn.pointee.now) {
            wait = min(wait, look - turn.pointee.now)
        }
        guard wait != .max else { return .max }
        return Int32(clamping: (max(0, wait) + 999_999) / 1_000_000)
    }
}

extension EasyHandle {
    /// Whether it has a rate of its own, or is paused by the total one.
    var isLimited: Bool { flow.pointee.bucket.rate > 0 || isRatePaused }

    /// Whether a rate applies to it: its own or the total one.
    var isUnderRate: Bool { isLimited || turn.pointee.total.rate > 0 }

    /// Whether it is paused after a slow write, for other requests.
    var isResting: Bool { flow.pointee.rests_until != 0 }

    var isRatePaused: Bool { flow.pointee.rate_paused != 0 }

    /// Whether it is paused here, so that no bytes can come.
    var isKeptSilent: Bool { isHeld || isRatePaused || isResting }

    /// Makes libcurl close its connection when the last request leaves it.
    func closesConnection() { lh_easy_setopt_long(easy, CURLOPT_FORBID_REUSE, 1) }

    /// The connection that it uses, by its ports; `nil` = none yet.
    var connection: [Int]? {
        let ports = [CURLINFO_LOCAL_PORT, CURLINFO_PRIMARY_PORT].map {
            lh_easy_getinfo_long(easy, $0)
        }
        return ports.contains(0) ? nil : ports
    }

    /// True if the connection's local address is gone: packets are lost without an error.
    var hasLostAddress: Bool {
        flow.pointee.connected != 0 && lh_easy_has_lost_address(easy) != 0
    }

    /// libcurl hands over a TLS record when it is complete: at 16 KiB that may take longer on a
    /// slow link than the stall timeout. So bytes on the socket count as well, if they are more
    /// than the messages by which a server merely keeps its connection alive.
    func noteHeardBelow(now: Int64) {
        guard url.hasPrefix("https:"), let port = connection?.first else { return }
        var received: UInt64 = 0
        var silent: UInt32 = 0
        // The socket is only known for a connection that this request has made.
        guard lh_tcp_heard(flow.pointee.socket, UInt16(port), &received, &silent) == 0,
            receivedBelow.map({ received > $0 + Self.keepAliveBytes }) ?? true
        else { return }
        receivedBelow = received
        flow.pointee.touched = max(flow.pointee.touched, now - Int64(silent) * 1_000_000)
    }

    private static let keepAliveBytes: UInt64 = 512

    /// Whether libcurl works on it; before, it waits for a connection.
    var hasBegun: Bool { flow.pointee.begun != 0 }

    var isConnecting: Bool { hasBegun && flow.pointee.connected == 0 }
}
