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

    /// Fills the buckets and lets those go on whose tokens suffice for a portion worth waking up
    /// for.
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

    /// Those whose disk has kept the thread go on when others have had as much time, or nothing to
    /// do for a moment.
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

    /// Ends requests from which nothing came for their stall timeout: no head, no body byte. Those
    /// that we hold or slow down are not stalled, nor those that have not been sent. Where it is
    /// plain that nothing can come, some seconds are enough.
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
        // Some may have ended with those that stalled.
        for exchange in lost where exchange.request != nil {
            exchange.closesConnection()
            if let line = exchange.line { staleConnections.note(line.name, now: now) }
            finish(exchange, .lostWay)
        }
    }

    private func isSilent(_ exchange: EasyHandle) -> Bool {
        turn.pointee.now - exchange.flow.pointee.touched >= Self.silenceOfTheDead
    }

    /// When it may be silent, or is to be looked at again because it still is.
    private func nextLook(at exchange: EasyHandle) -> Int64 {
        let since = isSilent(exchange) ? turn.pointee.now : exchange.flow.pointee.touched
        return since + Self.silenceOfTheDead
    }

    /// Over HTTP/2 a connection outlives its requests. One whose way has gone, and nobody says so,
    /// would be given to the next ones, too, until the kernel gives it up after a quarter of an
    /// hour. So it ends with a request that hears nothing, unless another one has heard something
    /// on it in the second half of that time.
    private func endWithConnections(_ stalled: [EasyHandle]) {
        let now = turn.pointee.now
        for exchange in stalled where exchange.isStalled {
            let mates = mates(of: exchange)
            let lately = now - (now - exchange.flow.pointee.touched) / 2
            if !mates.contains(where: { $0.flow.pointee.heard > lately }) {
                // The last one to leave closes it.
                for user in mates + [exchange] { user.closesConnection() }
                for mate in mates where !mate.isStalled { finish(mate, .deadConnection) }
                if let line = exchange.line { staleConnections.note(line.name, now: now) }
            }
            complete(exchange, CURLE_OPERATION_TIMEDOUT)
        }
    }

    /// Who is stopped may have been stopped for its silence, if that is not ours. While others use
    /// its connection, they will tell.
    func leaveConnection(of exchange: EasyHandle) {
        guard isSilent(exchange), exchange.hasBegun, !exchange.isKeptSilent,
            mates(of: exchange).isEmpty
        else { return }
        exchange.closesConnection()
    }

    /// Those on its connection.
    private func mates(of exchange: EasyHandle) -> [EasyHandle] {
        guard let connection = exchange.connection else { return [] }
        return active.filter { $0 !== exchange && $0.connection == connection }
    }

    /// Clamped: a timeout of a thousand years is none.
    func nanoseconds(_ seconds: Double) -> Int64 {
        Int64(bounding: max(0, seconds) * 1e9)
    }

    // MARK: - Sleep

    /// Milliseconds until something is due that no socket tells; libcurl's own timers shorten it by
    /// themselves.
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
    /// By its own rate, or by the total one.
    var isLimited: Bool { flow.pointee.bucket.rate > 0 || isRatePaused }

    /// Whether a rate holds for it: its own, or one for all together.
    var isUnderRate: Bool { isLimited || turn.pointee.total.rate > 0 }

    /// Its disk is slow, and others come first.
    var isResting: Bool { flow.pointee.rests_until != 0 }

    var isRatePaused: Bool { flow.pointee.rate_paused != 0 }

    /// By us: nothing can come from it.
    var isKeptSilent: Bool { isHeld || isRatePaused || isResting }

    /// When it leaves it, and nobody else uses it.
    func closesConnection() { lh_easy_setopt_long(easy, CURLOPT_FORBID_REUSE, 1) }

    /// The connection that it uses, by its ports; `nil` = it has none yet.
    var connection: [Int]? {
        let ports = [CURLINFO_LOCAL_PORT, CURLINFO_PRIMARY_PORT].map {
            lh_easy_getinfo_long(easy, $0)
        }
        return ports.contains(0) ? nil : ports
    }

    /// Of its connection: what is sent to it never comes, and nobody says so.
    var hasLostAddress: Bool {
        flow.pointee.connected != 0 && lh_easy_has_lost_address(easy) != 0
    }

    /// Of what came over TLS libcurl hands a record over when it is whole: with 16 KiB in it, that
    /// may take longer on a slow line than the server may be silent. What lies below counts then,
    /// if it grows by more than a server sends that merely keeps its connection alive.
    func noteHeardBelow(now: Int64) {
        guard url.hasPrefix("https:"), let port = connection?.first else { return }
        var received: UInt64 = 0
        var silent: UInt32 = 0
        // Of a connection that another request has made nothing is known: the next one is ours.
        guard lh_tcp_heard(flow.pointee.socket, UInt16(port), &received, &silent) == 0,
            receivedBelow.map({ received > $0 + Self.keepAliveBytes }) ?? true
        else { return }
        receivedBelow = received
        flow.pointee.touched = max(flow.pointee.touched, now - Int64(silent) * 1_000_000)
    }

    private static let keepAliveBytes: UInt64 = 512

    /// libcurl does something for it. Until then it waits for a connection.
    var hasBegun: Bool { flow.pointee.begun != 0 }

    var isConnecting: Bool { hasBegun && flow.pointee.connected == 0 }
}
