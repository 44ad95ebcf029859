import LonghaulCore
import LonghaulEngine

/// The network and its servers. Each request is answered by what its URL holds when the answer
/// begins.
final class SimWire: WirePort, @unchecked Sendable {
    enum Phase {
        /// Waits for one of its origin's connections.
        case queued
        /// On its way to the server, until this moment.
        case asked(Instant)
        case held
        case moving
    }

    struct SimExchange {
        var request: SegmentRequest
        var phase: Phase
        /// Where redirects have led.
        var url: String
        var hops = 0
        var version = SimBytes()
        /// The body's range of the file, as the server sends it.
        var body: Range<Int64> = 0..<0
        var sent: Int64 = 0
        var plan = BodyPlan(position: 0)
        var isOpen = false
        /// Reaching this offset is a good end.
        var stopAt: Int64?
        var position: Int64 = 0
        var hasWritten = false
        var received: Int64 = 0
        var noticed: Int64 = 0
        /// Breaks off after so many bytes, or says nothing more.
        var cutAfter: Int64?
        var silentAfter: Int64?
        /// More body than was promised follows.
        var isTooLong = false
        /// When the server last said something.
        var touched: Instant
        var rate: Double = 0
        /// The network has changed under it.
        var isSuspect = false
        /// The engine has said stop; the network thread has not got to it yet.
        var isStopping = false
        var answer: ResponseHead?
        /// Of an upload.
        var sending: SimSending?

        var isQueued: Bool {
            if case .queued = phase { return true }
            return false
        }
    }

    let disk: SimDisk
    var contents: [String: SimContent] = [:]
    /// Those that take uploads.
    let servers = SimUploadServer()
    var exchanges: [SegmentKey: SimExchange] = [:]
    var order: [SegmentKey] = []
    var facts: [WireFact] = []
    var trouble = SimTrouble.none
    var random = SeededGenerator(seed: 1)
    var now = Moment(wall: Timestamp(milliseconds: 0), monotonic: Instant(nanoseconds: 0))
    var isDown = false
    /// The transport lets no more than these onto the wire.
    var connectionsPerOrigin = Limits.connectionsPerOrigin
    /// Requests that were answered: work without progress shows here.
    var answered = 0
    var stalls = 0
    var redirects = 0
    /// Answers to one request more than the server takes at a time.
    var forbidden = 0
    /// What the checkers want to see: each request as it is handed over and as it goes out, each
    /// body byte as it arrives.
    var willQueue: (SegmentRequest) -> Void = { _ in }
    var willStart: (SegmentRequest) -> Void = { _ in }
    var didReceive: (SegmentKey, Range<Int64>, SimContent, BodyPlan) -> Void = { _, _, _, _ in }
    /// Bytes beyond the new end of a shortened request, which had come before: another request
    /// brings them again.
    var didOverrun: (SegmentKey, Range<Int64>) -> Void = { _, _ in }
    /// Bytes that came and could not be used.
    var didWaste: (SegmentKey, Int64) -> Void = { _, _ in }
    var say: (@autoclosure () -> String) -> Void = { _ in }
    /// What servers asked for by Retry-After, by transfer's fetch.
    var didAskToWait: (SegmentKey, Double) -> Void = { _, _ in }

    init(disk: SimDisk) {
        self.disk = disk
    }

    static func origin(of url: String) -> String {
        let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        return "http://\(parts[2].split(separator: "/")[0]):80"
    }

    // MARK: - Commands

    func start(_ requests: [SegmentRequest]) {
        for request in requests where disk.mayAct() {
            say(
                "ask \(request.key) \(request.upload?.method ?? "") \(request.url)"
                    + " \(request.headers["Range"] ?? "whole")"
                    + " \(request.headers["If-Range"] ?? request.headers["Upload-Offset"] ?? "")")
            willQueue(request)
            exchanges[request.key] = SimExchange(
                request: request, phase: .queued, url: request.url, touched: now.monotonic,
                sending: request.upload.map { SimSending(request, $0) })
            order.append(request.key)
        }
        admit()
    }

    /// In the order in which they came, as far as there are connections.
    private func admit() {
        var used: [String: Int] = [:]
        for exchange in exchanges.values where !exchange.isQueued {
            used[Self.origin(of: exchange.request.url), default: 0] += 1
        }
        for key in order {
            guard let exchange = exchanges[key], exchange.isQueued else { continue }
            let origin = Self.origin(of: exchange.request.url)
            guard used[origin, default: 0] < connectionsPerOrigin else { continue }
            used[origin, default: 0] += 1
            let latency = Double.random(in: 0...0.3, using: &random)
            exchanges[key]?.phase = .asked(now.monotonic + latency)
            exchanges[key]?.touched = now.monotonic
            willStart(exchange.request)
        }
    }

    func proceed(_ key: SegmentKey, _ plan: BodyPlan) {
        guard disk.mayAct(), case .held? = exchanges[key]?.phase else { return }
        say("proceed \(key) at \(plan.position)")
        open(key, plan)
    }

    func expectRequests() {}

    func setRate(_ key: SegmentKey, _ rate: Int64?) {
        if disk.mayAct() { exchanges[key]?.request.limitRate = rate }
    }

    func shrink(_ key: SegmentKey, end: Int64) {
        guard disk.mayAct(), let exchange = exchanges[key] else { return }
        say("shrink \(key) to \(end)")
        if exchange.isOpen, exchange.position > end { didOverrun(key, end..<exchange.position) }
        exchanges[key]?.stopAt = min(end, exchange.stopAt ?? end)
        // There already.
        if exchange.isOpen, exchange.plan.compare == 0, exchange.position >= end {
            self.end(key, nil)
        }
    }

    func stop(_ keys: [SegmentKey]) {
        for key in keys where disk.mayAct() && exchanges[key] != nil {
            say("stop \(key)")
            if random.happens(0.7) {
                end(key, .stopped)
            } else {
                exchanges[key]?.isStopping = true
            }
        }
    }

    func leaveConnections(suspecting keys: [SegmentKey]) {
        for key in keys where disk.mayAct() { exchanges[key]?.isSuspect = true }
    }

    func withdraw(_ keys: [SegmentKey]) {
        for key in keys where disk.mayAct() && exchanges[key]?.isQueued == true {
            say("withdraw \(key)")
            end(key, .withdrawn)
        }
    }

    func forget() {
        for key in order {
            guard let exchange = exchanges[key], let sending = exchange.sending else { continue }
            deliverRest(of: sending, exchange.request)
        }
        exchanges = [:]
        order = []
        facts = []
    }

    // MARK: - Time

    /// What the network does in so many seconds.
    func advance(_ seconds: Double) {
        for key in order {
            guard let exchange = exchanges[key] else { continue }
            if exchange.isStopping, random.happens(0.6) {
                end(key, .stopped)
                continue
            }
            switch exchange.phase {
            case .queued: continue
            case .asked(let until):
                if isDown, exchange.sending?.isUnanswered == true {
                    end(key, .curl(code: 56, text: "reset", osError: 104))
                } else if isDown {
                    end(key, .curl(code: 7, text: "unreachable", osError: 101))
                } else if now.monotonic >= until {
                    answer(key)
                }
            case .held: exchanges[key]?.touched = now.monotonic
            case .moving: move(key, seconds)
            }
            endIfStalled(key)
        }
        admit()
    }

    private func endIfStalled(_ key: SegmentKey) {
        guard let exchange = exchanges[key] else { return }
        if case .held = exchange.phase { return }
        if exchange.isQueued { return }
        if now.monotonic - exchange.touched >= exchange.request.connection.stallTimeout {
            stalls += 1
            end(key, .stalled)
        } else if exchange.isSuspect, now.monotonic - exchange.touched >= 3 {
            // 56 = CURLE_RECV_ERROR
            end(key, .curl(code: 56, text: "nothing came any more", osError: 0))
        }
    }

    /// When something happens here by itself.
    var nextMoment: Instant? {
        var next: Instant?
        for key in order {
            guard let exchange = exchanges[key] else { continue }
            let patience = exchange.request.connection.stallTimeout
            var moment = exchange.touched + (exchange.isSuspect ? min(3, patience) : patience)
            switch exchange.phase {
            case .asked(let until): moment = min(moment, until)
            case .held, .queued: continue
            case .moving:
                if exchange.silentAfter.map({ exchange.sent < $0 }) ?? true {
                    let left = Double(exchange.body.count) - Double(exchange.sent)
                    moment = min(moment, now.monotonic + left / max(1, exchange.rate))
                }
            }
            next = min(next ?? moment, moment)
        }
        return next
    }

    func end(_ key: SegmentKey, _ failure: WireFailure?) {
        guard let exchange = exchanges.removeValue(forKey: key) else { return }
        order.removeAll { $0 == key }
        say(
            "ended \(key) \(failure.map { "\($0)" } ?? "well"), received \(exchange.received),"
                + " sent \(exchange.sending?.taken ?? 0)")
        var end = SegmentEnd(
            failure: failure,
            writtenThrough: exchange.hasWritten
                ? exchange.position : exchange.isOpen ? exchange.plan.position : 0,
            bytesReceived: exchange.received, httpVersion: 11)
        if let sending = exchange.sending {
            end.bytesSent = sending.taken
            end.answer = sending.answer
            if failure != nil { deliverRest(of: sending, exchange.request) }
        }
        facts.append(.ended(key, end))
    }
}
