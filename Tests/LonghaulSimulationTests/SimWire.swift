import LonghaulCore
import LonghaulEngine

/// The network and its servers. Each request is answered by what its URL holds when the answer
/// begins.
final class SimWire: WirePort, @unchecked Sendable {
    enum Phase {
        case asked, held, moving
    }

    struct Exchange {
        var request: SegmentRequest
        var phase = Phase.asked
        var version = 0
        /// The body's range of the file, as the server sends it.
        var body = 0..<0
        var sent = 0
        var plan = BodyPlan(position: 0)
        var written: Int64 = 0
        var received: Int64 = 0
        var dies: Int?
    }

    let disk: SimDisk
    var contents: [String: SimContent] = [:]
    var exchanges: [SegmentKey: Exchange] = [:]
    var order: [SegmentKey] = []
    var facts: [WireFact] = []
    var faults = true
    /// Requests that were answered: work without progress shows here.
    var answered = 0
    var now = Timestamp(milliseconds: 0)

    init(disk: SimDisk) {
        self.disk = disk
    }

    func start(_ requests: [SegmentRequest]) {
        for request in requests where disk.mayAct() {
            exchanges[request.key] = Exchange(request: request)
            order.append(request.key)
        }
    }

    func proceed(_ key: SegmentKey, _ plan: BodyPlan) {
        guard disk.mayAct(), exchanges[key]?.phase == .held else { return }
        begin(key, plan)
    }

    func shrink(_ key: SegmentKey, end: Int64) {
        guard disk.mayAct() else { return }
        exchanges[key]?.plan.end = end
    }

    func stop(_ keys: [SegmentKey]) {
        for key in keys where disk.mayAct() && exchanges[key] != nil { end(key, .stopped) }
    }

    func forget() {
        exchanges = [:]
        order = []
        facts = []
    }

    // MARK: - One step of one exchange

    func step(_ random: inout SeededGenerator) {
        guard let key = order.randomElement(using: &random), let exchange = exchanges[key]
        else { return }
        switch exchange.phase {
        case .asked: answer(key, &random)
        case .held: break
        case .moving: move(key, &random)
        }
    }

    private func answer(_ key: SegmentKey, _ random: inout SeededGenerator) {
        guard var exchange = exchanges[key], let content = contents[exchange.request.url]
        else { return }
        answered += 1
        let dice = faults ? Int.random(in: 0..<100, using: &random) : 99
        if dice < 6 { return end(key, .curl(code: 7, text: "refused", osError: 111)) }
        var head = ResponseHead(
            status: dice < 10 ? 503 : 200, headers: content.headers(),
            effectiveURL: exchange.request.url, receivedAt: now)
        exchange.version = content.version
        let size = content.sizes[content.version]
        exchange.body = 0..<size
        if head.status == 200 { ranged(&head, &exchange, content, size, dice) }
        head.headers["Content-Length"] = String(exchange.body.count)
        if dice >= 15, dice < 30 {
            exchange.dies = Int.random(in: 0...max(1, size), using: &random)
        }
        exchanges[key] = exchange
        let verdict = exchange.request.judge(head)
        facts.append(.head(key, head, verdict))
        switch verdict {
        case .accept(let plan): begin(key, plan)
        case .hold: exchanges[key]?.phase = .held
        case .redirect, .refuse: end(key, .refused)
        }
    }

    private func ranged(
        _ head: inout ResponseHead, _ exchange: inout Exchange, _ content: SimContent,
        _ size: Int, _ dice: Int
    ) {
        let fields = exchange.request.headers
        guard let range = fields["Range"], !content.ignoresRanges,
            content.meets(fields["If-Range"])
        else { return }
        let ends = range.dropFirst("bytes=".count).split(
            separator: "-", omittingEmptySubsequences: false)
        let start = Int(ends[0]) ?? 0
        let end = min(size, ends.count > 1 ? (Int(ends[1]).map { $0 + 1 } ?? size) : size)
        guard start < size else {
            head.status = 416
            head.headers["Content-Range"] = "bytes */\(size)"
            exchange.body = 0..<0
            return
        }
        exchange.body = start..<end
        head.status = 206
        // Now and then it lies about where it starts.
        let told = dice == 10 ? start + 1 : start
        head.headers["Content-Range"] = "bytes \(told)-\(end - 1)/\(size)"
    }

    private func begin(_ key: SegmentKey, _ plan: BodyPlan) {
        exchanges[key]?.phase = .moving
        exchanges[key]?.plan = plan
        exchanges[key]?.written = plan.position
    }

    private func move(_ key: SegmentKey, _ random: inout SeededGenerator) {
        guard var exchange = exchanges[key] else { return }
        let left = exchange.body.count - exchange.sent
        if left == 0 { return end(key, nil) }
        if let dies = exchange.dies, exchange.sent >= dies {
            return end(key, .curl(code: 18, text: "cut", osError: 104))
        }
        let count = min(left, Int.random(in: 1...300_000, using: &random))
        let start = exchange.body.lowerBound + exchange.sent
        let bytes = SimContent.bytes(exchange.version, start..<start + count)
        exchange.sent += count
        exchange.received += Int64(count)
        countReceived(key, exchange, Int64(count))
        let failure = take(bytes[...], &exchange)
        exchanges[key] = exchange
        if let cell = disk.cells[exchange.request.target.cell] {
            disk.cells[exchange.request.target.cell]?.written = max(
                cell.written, exchange.written)
        }
        if failure == .stopped { return end(key, nil) }
        if let failure { return end(key, failure) }
        facts.append(.progress(key))
    }

    private func countReceived(_ key: SegmentKey, _ exchange: Exchange, _ bytes: Int64) {
        disk.cells[exchange.request.target.cell]?.received += bytes
        if let entry = disk.open[key.fetch] { disk.cells[entry.cell]?.received += bytes }
    }

    /// Skip, compare, write: as the real sink does. `.stopped` = the end was reached in order.
    private func take(_ bytes: ArraySlice<UInt8>, _ exchange: inout Exchange) -> WireFailure? {
        var bytes = bytes
        let skipped = min(Int(exchange.plan.skip), bytes.count)
        exchange.plan.skip -= Int64(skipped)
        bytes = bytes.dropFirst(skipped)
        let inode = UInt64(exchange.request.target.descriptor)
        let compared = min(Int(exchange.plan.compare), bytes.count)
        if compared > 0 {
            let at = Int(exchange.written)
            let held = disk.files[inode]?.data ?? []
            guard held.count >= at + compared,
                Array(held[at..<at + compared]) == Array(bytes.prefix(compared))
            else { return .overlapDiffers }
            exchange.plan.compare -= Int64(compared)
            exchange.written += Int64(compared)
            bytes = bytes.dropFirst(compared)
        }
        if bytes.isEmpty { return nil }
        let room = exchange.plan.end.map { max(0, Int($0 - exchange.written)) } ?? bytes.count
        let taken = min(room, bytes.count)
        disk.write(inode, at: Int(exchange.written), Array(bytes.prefix(taken)))
        exchange.written += Int64(taken)
        return taken < bytes.count ? .stopped : nil
    }

    private func end(_ key: SegmentKey, _ failure: WireFailure?) {
        guard let exchange = exchanges.removeValue(forKey: key) else { return }
        order.removeAll { $0 == key }
        facts.append(
            .ended(
                key,
                SegmentEnd(
                    failure: failure, writtenThrough: exchange.written,
                    bytesReceived: exchange.received, httpVersion: 11)))
    }
}
