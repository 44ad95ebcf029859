internal import CLonghaul
internal import LonghaulCore

extension TransportLoop {
    /// Starts waiting requests, as far as the limits allow.
    func admit() {
        while let (waiting, line) = queue.next() {
            guard
                let exchange = waiting.exchange ?? spare.popLast()
                    ?? EasyHandle(
                        configuration: configuration, facts: batch, pools: yieldDriver.pools,
                        turn: turn)
            else {
                queue.release(line, isAlone: waiting.isAlone)
                report(waiting.request, .noMemory)
                continue
            }
            exchange.slot = active.count
            active.append(exchange)
            if waiting.request.yields { yieldDriver.activeRequests += 1 }
            exchange.connectionsTrustedFor = staleConnections.trustedFor(
                line.name, now: turn.pointee.now)
            let previous = byKey.updateValue(exchange, forKey: waiting.request.key)
            precondition(previous == nil, "two requests with one key")
            if waiting.exchange != nil {
                exchange.goOn(waiting)
                put(exchange)
            } else if let failure = exchange.begin(waiting, line: line) {
                retire(exchange, failure)
            } else {
                put(exchange)
            }
        }
    }

    private func put(_ exchange: EasyHandle) {
        guard curl_multi_add_handle(multi, exchange.easy) == CURLM_OK else {
            retire(exchange, .noMemory)
            return
        }
        nextPendingCheck = min(nextPendingCheck, turn.pointee.now + Self.pendingTime)
        if let stall = exchange.request?.connection.stallTimeout {
            nextStallCheck = min(
                nextStallCheck,
                turn.pointee.now.addingClamped(min(nanoseconds(stall), Self.silenceOfTheDead)))
        }
    }

    func perform() {
        var running: Int32 = 0
        // Errors of single requests come as messages; this one is about the multi handle itself.
        if curl_multi_perform(multi, &running) != CURLM_OK {
            for exchange in active.reversed() { finish(exchange, .noMemory) }
        }
        var code = CURLE_OK
        while let easy = lh_multi_next_done(multi, &code) {
            guard let owner = lh_easy_getinfo_private(easy) else { continue }
            let exchange = Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue()
            exchange.isOver = true
            complete(exchange, code)
        }
    }

    /// Handles the end of a transfer that libcurl has reported.
    func complete(_ exchange: EasyHandle, _ code: CURLcode) {
        switch exchange.completion(code) {
        case .ended(let failure):
            finish(exchange, failure)
        case .follow(let target):
            curl_multi_remove_handle(multi, exchange.easy)
            putAgain(exchange, unless: exchange.follow(target))
        case .again(let framing):
            curl_multi_remove_handle(multi, exchange.easy)
            putAgain(exchange, unless: exchange.ask(again: framing))
        }
    }

    private func putAgain(_ exchange: EasyHandle, unless failure: WireFailure?) {
        if let failure {
            retire(exchange, failure)
        } else {
            put(exchange)
        }
    }

    /// Removes the handle from the multi handle, in any state.
    ///
    /// libcurl 7.88 keeps the bytes that a paused sink has refused, through a reset and past the
    /// handle's end if other requests use the connection: they are drained first.
    ///
    /// Over FTP and SFTP libcurl ends the session within the call and waits for the answer, on a
    /// dead connection for a quarter of an hour: so the sockets are shut down first.
    func finish(_ exchange: EasyHandle, _ failure: WireFailure?) {
        lh_flow_drain(exchange.flow, exchange.easy)
        if !exchange.isOver, !exchange.url.beginsIgnoringCase(with: "http") {
            lh_flow_cut(exchange.flow, exchange.easy)
        }
        curl_multi_remove_handle(multi, exchange.easy)
        retire(exchange, failure)
    }

    /// Reports the end and makes the exchange ready for another request.
    private func retire(_ exchange: EasyHandle, _ failure: WireFailure?) {
        guard let request = exchange.request, let line = exchange.line else { return }
        takeNotice(of: exchange)
        batch.facts.append(.ended(request.key, exchange.end(failure, now: turn.pointee.now)))
        forget(exchange, request)
        // Bytes still held back would precede the next request's body.
        let isUsable = exchange.flow.pointee.paused == 0
        let isAlone = exchange.isAlone
        exchange.clear()
        queue.release(line, isAlone: isAlone)
        if isUsable, spare.count < configuration.maxActiveRequests { spare.append(exchange) }
    }

    private func forget(_ exchange: EasyHandle, _ request: SegmentRequest) {
        byKey[request.key] = nil
        if request.yields { yieldDriver.activeRequests -= 1 }
        let last = active.removeLast()
        if last !== exchange {
            active[exchange.slot] = last
            last.slot = exchange.slot
        }
    }

    private func report(_ request: SegmentRequest, _ failure: WireFailure) {
        batch.facts.append(
            .ended(
                request.key,
                SegmentEnd(failure: failure, writtenThrough: request.offset, bytesReceived: 0)))
    }

    // MARK: - Pending

    /// Puts requests back into their queues for which libcurl has had no connection: they were not
    /// sent, so they are neither stalled nor failed, and other requests can use their slots. The
    /// bound leaves time to requests that wait to share a connection that is being made.
    func takeBackPending() {
        let now = turn.pointee.now
        guard now >= nextPendingCheck else { return }
        nextPendingCheck = .max
        var late: [EasyHandle] = []
        for exchange in active where !exchange.hasBegun {
            let due = exchange.flow.pointee.touched + Self.pendingTime
            if due <= now {
                late.append(exchange)
            } else {
                nextPendingCheck = min(nextPendingCheck, due)
            }
        }
        // Latest first, because each is put before the others of its queue.
        late.sort { ($0.request?.key.serial ?? 0) > ($1.request?.key.serial ?? 0) }
        for exchange in late {
            guard let waiting = exchange.parked(), let line = exchange.line else { continue }
            curl_multi_remove_handle(multi, exchange.easy)
            forget(exchange, waiting.request)
            queue.putBack(waiting, line, until: now + Self.pendingTime)
        }
    }

    // MARK: - Pauses

    /// Resumes the body. libcurl delivers the kept bytes within the call and loses the sink's error
    /// there: the flow keeps it in `outcome`.
    func resume(_ exchange: EasyHandle) {
        exchange.flow.pointee.touched = turn.pointee.now
        let code = curl_easy_pause(exchange.easy, Int32(CURLPAUSE_CONT))
        if code != CURLE_OK || exchange.flow.pointee.outcome != 0 {
            complete(exchange, code == CURLE_OK ? CURLE_WRITE_ERROR : code)
        }
    }

    // MARK: - Notices

    func takeNotices() {
        guard turn.pointee.notices > 0 else { return }
        turn.pointee.notices = 0
        for exchange in active { takeNotice(of: exchange) }
    }

    private func takeNotice(of exchange: EasyHandle) {
        guard exchange.flow.pointee.noticed != 0, let request = exchange.request else { return }
        exchange.flow.pointee.noticed = 0
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
