internal import CLonghaul
internal import Glibc
internal import LonghaulCore

/// The bodies of answers.
extension SimulatedWire {
    func open(_ key: SegmentKey, _ plan: BodyPlan, _ state: inout State) {
        guard var exchange = state.exchanges[key] else { return }
        var plan = plan
        if let end = exchange.request.end { plan.end = min(end, plan.end ?? end) }
        if plan.isCutAtEnd, let end = plan.end {
            exchange.stopAt = min(end, exchange.stopAt ?? end)
        }
        exchange.plan = plan
        exchange.phase = .moving
        exchange.position = plan.position
        exchange.noticed = plan.position
        exchange.touched = clock.now.monotonic
        state.exchanges[key] = exchange
    }

    /// Bytes per second.
    func speed(_ exchange: RunningRequest) -> Double {
        min(network.bytesPerSecond, exchange.request.limitRate.map(Double.init) ?? .infinity)
    }

    /// Bytes until the engine hears of it; `nil`: nothing more comes.
    func bytesToNextNotice(_ exchange: RunningRequest) -> Int? {
        if exchange.silentAfter == 0 { return nil }
        var count = exchange.body.count
        for bound in [exchange.cutAfter, exchange.silentAfter].compactMap({ $0 }) {
            count = min(count, bound)
        }
        if let stop = exchange.stopAt, exchange.plan?.compare == 0 {
            count = min(count, Int(clamping: max(0, stop - exchange.position)))
        }
        return min(count, Int(clamping: exchange.request.noticeEvery))
    }

    func move(_ key: SegmentKey, _ now: Instant, _ state: inout State) {
        guard var exchange = state.exchanges[key], var plan = exchange.plan else { return }
        guard let most = bytesToNextNotice(exchange) else { return }
        let due = (now - exchange.touched) * speed(exchange)
        // Rounding up makes sure that the moment which was aimed at brings its byte.
        let count = min(most, Int(due.rounded(.up)))
        if count < most { return }
        exchange.touched = now
        let bytes = exchange.body.prefix(count)
        exchange.body = exchange.body.dropFirst(count)
        exchange.cutAfter = exchange.cutAfter.map { $0 - count }
        exchange.silentAfter = exchange.silentAfter.map { $0 - count }
        exchange.received += Int64(count)
        var failure = place(bytes, &exchange, &plan)
        exchange.plan = plan
        publish(exchange, received: count)
        state.exchanges[key] = exchange
        if exchange.position - exchange.noticed >= exchange.request.noticeEvery {
            state.exchanges[key]?.noticed = exchange.position
            state.facts.append(.progress(key))
        }
        if failure == nil, exchange.cutAfter == 0 {
            // 18: CURLE_PARTIAL_FILE
            failure = .curl(code: 18, text: "the connection broke off", osError: ECONNRESET)
        }
        let hasReachedStop = exchange.stopAt.map { exchange.position >= $0 } ?? false
        if failure != nil || exchange.body.isEmpty || hasReachedStop {
            end(key, failure, &state)
        }
    }

    /// Skips, compares, writes, as the transport does.
    private func place(
        _ bytes: ArraySlice<UInt8>, _ exchange: inout RunningRequest, _ plan: inout BodyPlan
    ) -> WireFailure? {
        var bytes = bytes
        let skipped = min(plan.skip, Int64(bytes.count))
        plan.skip -= skipped
        bytes = bytes.dropFirst(Int(skipped))
        let descriptor = exchange.request.target.descriptor
        let compared = Int(min(plan.compare, Int64(bytes.count)))
        if compared > 0 {
            var held = [UInt8](repeating: 0, count: compared)
            let count = pread(descriptor, &held, compared, off_t(exchange.position))
            guard count == compared, held[...] == bytes.prefix(compared) else {
                return .overlapDiffers
            }
            plan.compare -= Int64(compared)
            exchange.position += Int64(compared)
            bytes = bytes.dropFirst(compared)
        }
        let end = min(exchange.stopAt ?? .max, plan.end ?? .max)
        let room = Int(clamping: max(0, end - exchange.position))
        let isTooLong = bytes.count > room && exchange.stopAt == nil
        bytes = bytes.prefix(room)
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress, $0.count, off_t(exchange.position))
            }
            if written < 0, errno == EINTR { continue }
            if written <= 0 { return .disk(errno: errno) }
            exchange.position += Int64(written)
            exchange.hasWritten = true
            bytes = bytes.dropFirst(written)
        }
        return isTooLong ? .bodyTooLong : nil
    }

    /// Shows the progress on the board.
    private func publish(_ exchange: RunningRequest, received: Int) {
        let cell = exchange.request.target.cell
        guard cell != 0 else { return }
        func add(_ cell: UInt) {
            let place = cell + UInt(8 * ProgressCell.received)
            lh_word_store(place, lh_word_load(place) &+ UInt64(received))
        }
        if exchange.hasWritten {
            lh_word_store(
                cell + UInt(8 * ProgressCell.written), UInt64(bitPattern: exchange.position))
        }
        add(cell)
        let owner = lh_word_load(cell + UInt(8 * ProgressCell.fetchCell))
        if owner != 0 { add(UInt(owner)) }
    }
}
