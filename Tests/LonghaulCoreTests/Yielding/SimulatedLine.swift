import LonghaulCore

/// A line with a FIFO before it, as a fluid in steps of a millisecond: good enough to see who gets
/// how much and how long packets queue.
struct SimulatedLine {
    /// How a sender decides what to send, besides the window that it is given.
    enum Sender {
        /// Fills the queue until it overflows.
        case cubic
        /// Knows the line's rate and the path's delay, keeps twice their product under way.
        case bbr
        /// Has so many bytes per second to send and no more.
        case slow(Double)
        /// Takes no notice of windows.
        case deaf
    }

    struct Flow {
        var sender: Sender
        var window = Double.infinity
        var rateLimit: Double?
        var isActive = true
        var queued = 0.0
        var received = 0.0
        var losses: UInt32 = 0
        fileprivate var congestion = 14_480.0
        fileprivate var isStarting = true
        fileprivate var holdUntil = 0
        fileprivate var best = 0.0
        fileprivate var leastTrip = Double.infinity
        fileprivate var underWay: [Double] = []
        fileprivate var meter = 0.0
    }

    var rate: Double
    var limit: Double
    /// Seconds of the path without its queue.
    var base: Double
    var flows: [Flow] = []
    private(set) var milliseconds = 0
    private static let step = 0.001
    private static let packet = 1448.0

    init(rate: Double = 5e6, limit: Double = 300_000, base: Double = 0.02) {
        self.rate = rate
        self.limit = limit
        self.base = base
    }

    var queued: Double { flows.reduce(0) { $0 + $1.queued } }
    var roundTrip: Double { base + queued / rate }

    mutating func advance() {
        milliseconds += 1
        for index in flows.indices { send(&flows[index]) }
        let total = queued
        if total > limit { overflow(total) }
        let drained = min(queued, rate * Self.step)
        let before = max(queued, 1e-9)
        let delay = max(1, Int(base * 1000))
        for index in flows.indices {
            let part = drained * flows[index].queued / before
            flows[index].queued -= part
            flows[index].underWay.append(part)
            var arrived = 0.0
            while flows[index].underWay.count > delay {
                arrived += flows[index].underWay.removeFirst()
            }
            flows[index].received += arrived
            flows[index].meter += (arrived / Self.step - flows[index].meter) * 0.02
            acknowledge(&flows[index], arrived)
        }
    }

    private func send(_ flow: inout Flow) {
        guard flow.isActive else { return }
        let underWay = flow.queued + flow.underWay.reduce(0, +)
        var allowed: Double
        switch flow.sender {
        case .cubic: allowed = min(flow.congestion, flow.window) - underWay
        case .bbr:
            allowed = min(flow.congestion, flow.window) - underWay
            if flow.best > 0, !flow.isStarting {
                allowed = min(allowed, 1.1 * flow.best * Self.step)
            }
        case .slow(let rate): allowed = min(rate * Self.step, flow.window - underWay)
        case .deaf: allowed = flow.congestion - underWay
        }
        if let limit = flow.rateLimit { allowed = min(allowed, limit * Self.step) }
        flow.queued += max(0, allowed)
    }

    private mutating func overflow(_ total: Double) {
        let keep = limit / total
        for index in flows.indices where flows[index].queued > 0 {
            flows[index].queued *= keep
            guard milliseconds >= flows[index].holdUntil else { continue }
            flows[index].holdUntil = milliseconds + Int(roundTrip * 1000)
            flows[index].losses += 1
            flows[index].isStarting = false
            switch flows[index].sender {
            case .cubic, .deaf:
                flows[index].congestion = max(2 * Self.packet, flows[index].congestion * 0.7)
            case .bbr, .slow: break
            }
        }
    }

    private func acknowledge(_ flow: inout Flow, _ arrived: Double) {
        guard arrived > 0 else { return }
        switch flow.sender {
        case .cubic, .deaf:
            flow.congestion +=
                flow.isStarting ? arrived : 3 * Self.packet * arrived / flow.congestion
        case .bbr:
            flow.leastTrip = min(flow.leastTrip, roundTrip)
            flow.best = max(flow.best * 0.9999, flow.meter)
            if flow.isStarting, flow.meter > 0.9 * flow.best, flow.congestion > 60 * Self.packet {
                flow.isStarting = false
            }
            flow.congestion =
                flow.isStarting
                ? flow.congestion + arrived
                : max(4 * Self.packet, 2 * flow.best * flow.leastTrip)
        case .slow: break
        }
    }
}

/// Discretionary connections on a simulated line, under ``YieldControl``.
struct YieldingWorld {
    var line: SimulatedLine
    var control = YieldControl()
    let yielding: Int
    var knowsRoundTrips = true
    /// Of each tick: seconds, bytes per second of those that yield, and the queue's seconds.
    private(set) var queueMax = 0.0

    init(_ line: SimulatedLine, connections: Int, sender: SimulatedLine.Sender) {
        self.line = line
        yielding = connections
        for _ in 0..<connections { self.line.flows.append(SimulatedLine.Flow(sender: sender)) }
    }

    var now: Instant { Instant(nanoseconds: Int64(line.milliseconds) * 1_000_000) }
    var state: YieldReport.State { control.report(now).state }

    mutating func join(_ sender: SimulatedLine.Sender) -> Int {
        line.flows.append(SimulatedLine.Flow(sender: sender))
        return line.flows.count - 1
    }

    /// Goes on for so many seconds. The part of the line that each flow got.
    @discardableResult
    mutating func run(_ seconds: Double) -> [Double] {
        let before = line.flows.map(\.received)
        queueMax = 0
        for _ in 0..<Int(seconds * 1000) {
            line.advance()
            queueMax = max(queueMax, line.queued / line.rate)
            if line.milliseconds.isMultiple(of: 20) { tick() }
        }
        return zip(line.flows, before).map { ($0.received - $1) / (line.rate * seconds) }
    }

    /// The part that all those that yield got together.
    mutating func share(_ seconds: Double) -> Double {
        run(seconds).prefix(yielding).reduce(0, +)
    }

    private mutating func tick() {
        let samples = (0..<yielding).map { index in
            let flow = line.flows[index]
            return YieldSample(
                connection: UInt64(index + 1), roundTrip: knowsRoundTrips ? line.roundTrip : nil,
                bytes: UInt64(flow.received), outOfOrder: flow.losses)
        }
        for order in control.tick(samples, now: now) {
            let index = Int(order.connection) - 1
            line.flows[index].window = Double(order.window)
            line.flows[index].rateLimit = order.rate.map(Double.init)
        }
    }
}
