import LonghaulCore

/// What bodies bring.
extension SimWire {
    /// A portion of one body.
    func move(_ key: SegmentKey, _ seconds: Double) {
        guard var exchange = exchanges[key] else { return }
        if exchange.sending != nil { return send(key, seconds) }
        if isDown { return end(key, .curl(code: 56, text: "reset", osError: 104)) }
        if let silent = exchange.silentAfter, exchange.sent >= silent { return }
        if let cut = exchange.cutAfter, exchange.sent >= cut, !exchange.body.isEmpty {
            return end(key, .curl(code: 18, text: "cut", osError: 104))
        }
        let left = Int64(exchange.body.count) - exchange.sent
        if left == 0 { return end(key, exchange.isTooLong ? overrun(&exchange) : nil) }
        let speed = exchange.rate * Double.random(in: 0.5...1.5, using: &random)
        var count = min(left, Int64(speed * seconds) + 1)
        for bound in [exchange.silentAfter, exchange.cutAfter].compactMap({ $0 }) {
            count = min(count, max(1, bound - exchange.sent))
        }
        if let stop = exchange.stopAt, exchange.plan.compare == 0 {
            // What is in the buffer still comes.
            let most = max(1, stop - exchange.position + Int64.random(in: 0...4096, using: &random))
            count = min(count, most)
        }
        let start = exchange.body.lowerBound + exchange.sent
        let range = start..<start + count
        exchange.sent += count
        exchange.received += count
        exchange.touched = now.monotonic
        if let content = contents[exchange.url] {
            didReceive(
                key, range.clamped(to: 0..<(exchange.stopAt ?? .max)), content, exchange.plan)
        }
        disk.cells[exchange.request.target.cell]?.received += count
        if let entry = disk.open[key.fetch] { disk.cells[entry.cell]?.received += count }
        let outcome = take(key, range, &exchange)
        exchanges[key] = exchange
        if exchange.hasWritten, let cell = disk.cells[exchange.request.target.cell] {
            disk.cells[exchange.request.target.cell]?.written = max(
                cell.written, exchange.position)
        }
        notice(key)
        switch outcome {
        case .goesOn: break
        case .reachedStop: end(key, nil)
        case .failed(let failure): end(key, failure)
        }
    }

    private func notice(_ key: SegmentKey) {
        guard let exchange = exchanges[key],
            exchange.position - exchange.noticed >= exchange.request.noticeEvery
        else { return }
        exchanges[key]?.noticed = exchange.position
        facts.append(.progress(key))
    }

    private func overrun(_ exchange: inout SimExchange) -> WireFailure? {
        exchange.plan.end == nil ? nil : .bodyTooLong
    }

    private enum Outcome {
        case goesOn, reachedStop
        case failed(WireFailure)
    }

    /// Skip, compare, write: as the real sink does.
    private func take(
        _ key: SegmentKey, _ range: Range<Int64>, _ exchange: inout SimExchange
    ) -> Outcome {
        var range = range
        let skipped = min(exchange.plan.skip, Int64(range.count))
        exchange.plan.skip -= skipped
        range = range.lowerBound + skipped..<range.upperBound
        let inode = UInt64(exchange.request.target.descriptor)
        let compared = min(exchange.plan.compare, Int64(range.count))
        if compared > 0 {
            let part = range.lowerBound..<range.lowerBound + compared
            let place = exchange.position..<exchange.position + compared
            let held = disk.files[inode]?.data.pieces(in: place) ?? []
            guard held == placed(part, at: exchange.position, exchange.version) else {
                return .failed(.overlapDiffers)
            }
            exchange.plan.compare -= compared
            exchange.position += compared
            range = part.upperBound..<range.upperBound
        }
        if range.isEmpty { return .goesOn }
        let stop = exchange.stopAt ?? .max
        let end = min(stop, exchange.plan.end ?? .max)
        let count = min(max(0, end - exchange.position), Int64(range.count))
        let part = range.lowerBound..<range.lowerBound + count
        let place = exchange.position..<exchange.position + count
        let (errno, written) = disk.write(
            inode, place, placed(part, at: exchange.position, exchange.version))
        exchange.position += written
        if written > 0 { exchange.hasWritten = true }
        if written < Int64(range.count) { didWaste(key, Int64(range.count) - written) }
        if errno != 0 { return .failed(.disk(errno: errno)) }
        if exchange.position >= stop { return .reachedStop }
        return count < Int64(range.count) ? .failed(.bodyTooLong) : .goesOn
    }

    private func placed(
        _ part: Range<Int64>, at position: Int64, _ version: SimBytes
    ) -> [SimBytes.Run] {
        version.pieces(in: part).map { $0.moved(by: position - part.lowerBound) }
    }
}
