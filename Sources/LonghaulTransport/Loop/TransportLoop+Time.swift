internal import CLonghaul
internal import LonghaulModel

/// Between two runs while a connection is made. libcurl 7.88 gives up an address in one run and
/// tries the next one only in the run after it, which it requests no sooner than the next
/// address, too, should have answered (lib/connect.c).
private let connectingNanoseconds: Int64 = 250_000_000
/// In this time a fast sender refills a socket that was emptied.
private let socketRefillMilliseconds: Int32 = 5

extension TransportLoop {
    // MARK: - Rate

    /// A change of rate takes effect with the next piece of the body.
    func setRate(_ key: SegmentKey, _ rate: Int64?) {
        guard let handle = handles[key] else { return queue.limit(key, to: rate) }
        handle.limit(to: rate)
        if handle.isToBeAskedAgain { finish(handle, .stopped) }
    }

    func setTotalRate(_ rate: Int64?) {
        budget.setRate(rate ?? 0, now: turn.pointee.now)
        queue.slowsAll = (rate ?? 0) > 0
        for handle in handles.active.filter(\.isToBeAskedAgain) { finish(handle, .stopped) }
    }

    /// Fills the buckets and resumes the requests whose tokens suffice for a portion.
    func liftRatePauses() {
        let now = turn.pointee.now
        budget.fill(now: now)
        guard handles.active.contains(where: \.flow.isLimited) else { return }
        rateRound += 1
        // The loop goes over handles, not indices: resuming may end a request and move others in
        // `active`.
        let paused = handles.active.filter(\.flow.isLimited)
        for offset in paused.indices {
            let handle = paused[(offset + rateRound) % paused.count]
            lh_bucket_fill(&handle.flow.pointer.pointee.bucket, now)
            guard handle.flow.isRatePaused, rateWait(handle) == 0 else { continue }
            handle.flow.pointer.pointee.rate_paused = 0
            resume(handle)
        }
    }

    private func rateWait(_ handle: EasyHandle) -> Int64 {
        max(budget.wait, lh_bucket_wait(&handle.flow.pointer.pointee.bucket))
    }

    // MARK: - Slow disks

    /// Resumes requests after a slow write, when other requests have had as much time, or when no
    /// socket is ready.
    func liftRests() {
        guard turn.pointee.rests != 0 else { return }
        turn.pointee.rests = 0
        for handle in handles.active.filter(\.flow.isResting) {
            if handles.active.count > 1, readySockets > 0,
                handle.flow.pointer.pointee.rests_until > turn.pointee.now
            {
                turn.pointee.rests = 1
            } else {
                handle.flow.pointer.pointee.rests_until = 0
                resume(handle)
            }
        }
    }

    // MARK: - Stalls

    /// Ends requests without progress for their stall timeout: no head, no body byte. Requests that
    /// are paused or limited here, or have not been sent, are not stalled. If the local address is
    /// lost or the network has changed, some seconds are enough.
    func endStalled() {
        let now = turn.pointee.now
        guard now >= nextChecks.stall else { return }
        nextChecks.stall = .max
        var stalled: [EasyHandle] = []
        var lost: [EasyHandle] = []
        for handle in handles.active {
            guard let stall = handle.running?.request.connection.stallTimeout else { continue }
            let timeout = nanoseconds(stall)
            guard handle.flow.hasBegun else {
                nextChecks.stall = min(nextChecks.stall, now.addingClamped(timeout))
                continue
            }
            if handle.flow.isKeptSilent {
                handle.flow.touched = now
            }
            var deadline = handle.flow.touched.addingClamped(timeout)
            if deadline <= now, mates(of: handle).isEmpty {
                handle.countBytesBelow(now: now)
                deadline = handle.flow.touched.addingClamped(timeout)
            }
            if deadline <= now {
                handle.running?.hop.isStalled = true
                stalled.append(handle)
            } else if isSilent(handle),
                handle.running?.hop.isSuspect == true || handle.hasLostAddress
            {
                lost.append(handle)
            } else {
                nextChecks.stall = min(nextChecks.stall, deadline, nextLook(at: handle))
            }
        }
        endWithConnections(stalled)
        // Some may have ended together with the stalled ones.
        for handle in lost where handle.running != nil {
            handle.curl.closesConnection()
            if let host = handle.running?.host { staleConnections.mark(host.name, now: now) }
            finish(handle, .lostWay)
        }
    }

    private func isSilent(_ handle: EasyHandle) -> Bool {
        turn.pointee.now - handle.flow.touched >= Limits.silenceNanoseconds
    }

    /// When it becomes silent, or when to check again because it still is.
    private func nextLook(at handle: EasyHandle) -> Int64 {
        if let running = handle.running, running.request.connection.expectsSilence,
            !running.hop.isSuspect
        {
            return .max
        }
        let since = isSilent(handle) ? turn.pointee.now : handle.flow.touched
        return since + Limits.silenceNanoseconds
    }

    /// An HTTP/2 connection outlives its requests. If its route is gone, it fails without an error,
    /// and libcurl would give it to further requests until the kernel gives it up after a quarter
    /// of an hour. So it ends with a request that receives nothing, unless another request has
    /// received something on it in the second half of that time.
    private func endWithConnections(_ stalled: [EasyHandle]) {
        let now = turn.pointee.now
        for handle in stalled where handle.running?.hop.isStalled == true {
            let mates = mates(of: handle)
            let lately = now - (now - handle.flow.touched) / 2
            if !mates.contains(where: { $0.flow.pointer.pointee.heard > lately }) {
                // The last request to leave the connection closes it.
                for user in mates + [handle] { user.curl.closesConnection() }
                for mate in mates where mate.running?.hop.isStalled == false {
                    finish(mate, .deadConnection)
                }
                if let host = handle.running?.host { staleConnections.mark(host.name, now: now) }
            }
            complete(handle, CURLE_OPERATION_TIMEDOUT)
        }
    }

    /// A request may be stopped because it is silent. Unless that is caused here, its connection is
    /// not reused. If other requests use the connection, their stall timeouts decide.
    func leaveConnection(of handle: EasyHandle) {
        guard isSilent(handle), handle.flow.hasBegun, !handle.flow.isKeptSilent,
            mates(of: handle).isEmpty
        else { return }
        handle.curl.closesConnection()
    }

    /// The other requests on its connection.
    private func mates(of handle: EasyHandle) -> [EasyHandle] {
        guard let connection = handle.curl.connection else { return [] }
        return handles.active.filter { $0 !== handle && $0.curl.connection == connection }
    }

    /// Clamped: a timeout may be a thousand years.
    func nanoseconds(_ seconds: Double) -> Int64 {
        Int64(bounding: max(0, seconds) * 1e9)
    }

    // MARK: - Sleep

    /// Milliseconds until the next work that no socket announces; libcurl's own timers shorten the
    /// wait by themselves.
    func pollTimeout() -> Int32 {
        if turn.pointee.rests != 0 {
            return handles.active.count > 1 ? socketRefillMilliseconds : 0
        }
        var wait = Int64.max
        if nextChecks.stall != .max, !handles.active.isEmpty {
            wait = nextChecks.stall - turn.pointee.now
        }
        if nextChecks.pending != .max, !handles.active.isEmpty {
            wait = min(wait, nextChecks.pending - turn.pointee.now)
        }
        if queue.restsEndAt != .max { wait = min(wait, queue.restsEndAt - turn.pointee.now) }
        for handle in handles.active {
            if handle.flow.isRatePaused { wait = min(wait, rateWait(handle)) }
            if handle.flow.isConnecting { wait = min(wait, connectingNanoseconds) }
        }
        if let look = yieldDriver.wakeUp(turn.pointee.now) {
            wait = min(wait, look - turn.pointee.now)
        }
        guard wait != .max else { return .max }
        return Int32(clamping: (max(0, wait) + 999_999) / 1_000_000)
    }
}
