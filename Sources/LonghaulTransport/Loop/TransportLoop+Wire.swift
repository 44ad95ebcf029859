internal import CLonghaul
internal import LonghaulModel

/// Wait of a request within libcurl for a connection, and then in its queue.
private let pendingNanoseconds: Int64 = 1_000_000_000

extension TransportLoop {
    /// Starts waiting requests, as far as the limits allow.
    func admit() {
        while let (waiting, host) = queue.next() {
            guard
                let handle = waiting.handle ?? handles.spareHandle()
                    ?? EasyHandle(
                        configuration: configuration, facts: batch, pools: yieldDriver.pools,
                        turn: turn)
            else {
                queue.release(host, isAlone: waiting.isAlone)
                report(waiting.request, .noMemory)
                continue
            }
            handles.insert(handle, for: waiting.request.key)
            if waiting.request.yields { yieldDriver.activeRequests += 1 }
            let trustedFor = staleConnections.trustedFor(host.name, now: turn.pointee.now)
            if waiting.handle != nil {
                handle.goOn(waiting, trustedFor: trustedFor)
                put(handle)
            } else if let failure = handle.begin(waiting, host: host, trustedFor: trustedFor) {
                retire(handle, failure)
            } else {
                put(handle)
            }
        }
    }

    private func put(_ handle: EasyHandle) {
        guard curl_multi_add_handle(multi, handle.curl.pointer) == CURLM_OK else {
            retire(handle, .noMemory)
            return
        }
        nextChecks.pending = min(nextChecks.pending, turn.pointee.now + pendingNanoseconds)
        if let stall = handle.running?.request.connection.stallTimeout {
            nextChecks.stall = min(
                nextChecks.stall,
                turn.pointee.now.addingClamped(min(nanoseconds(stall), Limits.silenceNanoseconds)))
        }
    }

    func perform() {
        var running: Int32 = 0
        // Errors of single requests come as messages; this one is about the multi handle itself.
        if curl_multi_perform(multi, &running) != CURLM_OK {
            for handle in handles.active.reversed() { finish(handle, .noMemory) }
        }
        let failed = lh_turn_write(turn)
        var code = CURLE_OK
        while let easy = lh_multi_next_done(multi, &code) {
            guard let owner = lh_easy_getinfo_private(easy) else { continue }
            let handle = Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue()
            handle.running?.hop.isOver = true
            complete(handle, code)
        }
        // No further piece may come, which would end it.
        guard let owner = failed?.pointee.owner else { return }
        let handle = Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue()
        if handle.running != nil { complete(handle, CURLE_WRITE_ERROR) }
    }

    /// Handles the end of a transfer that libcurl has reported.
    func complete(_ handle: EasyHandle, _ code: CURLcode) {
        lh_turn_write(turn)
        switch handle.completion(code) {
        case .ended(let failure):
            finish(handle, failure)
        case .follow(let target):
            curl_multi_remove_handle(multi, handle.curl.pointer)
            putAgain(handle, unless: handle.follow(target))
        case .again(let framing):
            curl_multi_remove_handle(multi, handle.curl.pointer)
            putAgain(handle, unless: handle.ask(again: framing))
        case .crowded:
            park(handle)
        }
    }

    private func putAgain(_ handle: EasyHandle, unless failure: WireFailure?) {
        if let failure {
            retire(handle, failure)
        } else {
            put(handle)
        }
    }

    /// Removes the handle from the multi handle, in any state.
    ///
    /// libcurl 7.88 keeps the bytes that a paused sink has refused, through a reset and past the
    /// handle's end if other requests use the connection: they are drained first.
    ///
    /// Over FTP and SFTP libcurl ends the session within the call and waits for the answer, on a
    /// dead connection for a quarter of an hour: so the sockets are shut down first.
    func finish(_ handle: EasyHandle, _ failure: WireFailure?) {
        lh_turn_write(turn)
        lh_flow_drain(handle.flow.pointer, handle.curl.pointer)
        if handle.running?.hop.isOver != true, !handle.url.beginsIgnoringCase(with: "http") {
            lh_flow_cut(handle.flow.pointer, handle.curl.pointer)
        }
        curl_multi_remove_handle(multi, handle.curl.pointer)
        retire(handle, failure)
    }

    /// Reports the end and makes the handle ready for another request.
    private func retire(_ handle: EasyHandle, _ failure: WireFailure?) {
        guard let running = handle.running else { return }
        reportProgress(of: handle)
        batch.facts.append(.ended(running.request.key, handle.end(running, failure)))
        leaveActive(handle, running.request)
        // Bytes still held back would precede the next request's body.
        let isUsable = handle.flow.pointer.pointee.paused == 0
        handle.clear()
        queue.release(running.host, isAlone: running.isAlone)
        if isUsable { handles.keepSpare(handle, atMost: configuration.maxActiveRequests) }
    }

    private func leaveActive(_ handle: EasyHandle, _ request: SegmentRequest) {
        handles.remove(handle, for: request.key)
        if request.yields { yieldDriver.activeRequests -= 1 }
    }

    private func report(_ request: SegmentRequest, _ failure: WireFailure) {
        batch.facts.append(
            .ended(
                request.key,
                SegmentEnd(failure: failure, writtenThrough: request.offset, bytesReceived: 0)))
    }

    // MARK: - Pending

    /// Puts requests back into their queues if libcurl had no connection for them: they were not
    /// sent, so they are neither stalled nor failed, and other requests can use their slots. The
    /// bound leaves time to requests that wait to share a connection that is being made.
    func putBackPending() {
        let now = turn.pointee.now
        guard now >= nextChecks.pending else { return }
        nextChecks.pending = .max
        var late: [EasyHandle] = []
        for handle in handles.active where !handle.flow.hasBegun {
            let due = handle.flow.touched + pendingNanoseconds
            if due <= now {
                late.append(handle)
            } else {
                nextChecks.pending = min(nextChecks.pending, due)
            }
        }
        // Latest first, because each is put before the others of its queue.
        late.sort { ($0.request?.key.serial ?? 0) > ($1.request?.key.serial ?? 0) }
        for handle in late { park(handle) }
    }

    /// Puts a request that was not sent back into its queue.
    private func park(_ handle: EasyHandle) {
        curl_multi_remove_handle(multi, handle.curl.pointer)
        guard let waiting = handle.parked(), let host = handle.running?.host else { return }
        leaveActive(handle, waiting.request)
        queue.putBack(waiting, host, until: turn.pointee.now + pendingNanoseconds)
    }

    // MARK: - Pauses

    /// Resumes the body. libcurl delivers the kept bytes within the call and loses the sink's error
    /// there: the flow keeps it in `outcome`.
    func resume(_ handle: EasyHandle) {
        handle.flow.touched = turn.pointee.now
        let code = curl_easy_pause(handle.curl.pointer, Int32(CURLPAUSE_CONT))
        if code != CURLE_OK || handle.flow.pointer.pointee.outcome != 0 {
            complete(handle, code == CURLE_OK ? CURLE_WRITE_ERROR : code)
        }
    }

    // MARK: - Notices

    func reportProgress() {
        guard turn.pointee.notices > 0 else { return }
        turn.pointee.notices = 0
        for handle in handles.active {
            judgeBeforeBody(handle)
            reportProgress(of: handle)
        }
    }

    /// Judges a head whose body may begin minutes later.
    private func judgeBeforeBody(_ handle: EasyHandle) {
        guard handle.request?.connection.expectsSilence == true, handle.flow.hasFinalHead else {
            return
        }
        handle.judge()
        // The hop is requested once more, and no byte may come that would end it.
        if handle.flow.pointer.pointee.outcome != 0 { complete(handle, CURLE_WRITE_ERROR) }
    }

    private func reportProgress(of handle: EasyHandle) {
        guard handle.flow.pointer.pointee.noticed != 0, let request = handle.request else { return }
        handle.flow.pointer.pointee.noticed = 0
        batch.facts.append(.progress(request.key))
    }
}

extension WireFailure {
    /// A request that shared the connection received nothing for its stall timeout.
    static var deadConnection: WireFailure {
        .curl(
            code: Int32(CURLE_RECV_ERROR.rawValue),
            text: "nothing came on the connection any more", osError: 0)
    }

    /// The local address or the route is gone: another network, lease or prefix, or a closed
    /// tunnel.
    static var lostWay: WireFailure {
        .curl(
            code: Int32(CURLE_RECV_ERROR.rawValue),
            text: "nothing came any more after the network had changed", osError: 0)
    }

    /// libcurl or the multi handle had no memory.
    static var noMemory: WireFailure {
        .curl(
            code: Int32(CURLE_OUT_OF_MEMORY.rawValue),
            text: String(cString: curl_easy_strerror(CURLE_OUT_OF_MEMORY)), osError: 0)
    }
}
