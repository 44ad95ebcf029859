internal import Glibc
internal import LonghaulCore
internal import LonghaulEngine
internal import Synchronization

/// The transport of a simulated world: it moves bytes as time advances, from the servers of
/// ``SimulatedNetwork`` into part files, with the phases that the real one has.
final class SimulatedWire: WirePort {
    /// A request from its start to its end.
    struct RunningRequest {
        enum Phase {
            /// Waits for a connection.
            case queued
            /// Is on its way; the head comes at this moment, or never.
            case asked(until: Instant?)
            /// The engine is to say how the body is used.
            case held
            case moving
        }

        var request: SegmentRequest
        var phase = Phase.queued
        /// The rest of the answer's body.
        var body: ArraySlice<UInt8> = []
        /// The body breaks off after this number of further bytes.
        var cutAfter: Int?
        /// The server falls silent after this number of further bytes.
        var silentAfter: Int?
        var plan: BodyPlan?
        var stopAt: Int64?
        var position: Int64 = 0
        var noticed: Int64 = 0
        var hasWritten = false
        var received: Int64 = 0
        var sent: Int64 = 0
        /// When the server last said something.
        var touched: Instant

        var isQueued: Bool {
            if case .queued = phase { return true }
            return false
        }
    }

    struct State {
        var exchanges: [SegmentKey: RunningRequest] = [:]
        var order: [SegmentKey] = []
        var facts: [WireFact] = []
        var isOffline = false
    }

    let network: SimulatedNetwork
    let clock: VirtualClock
    let state = Mutex(State())

    init(_ network: SimulatedNetwork, _ clock: VirtualClock) {
        self.network = network
        self.clock = clock
    }

    // MARK: - Commands

    func expectRequests() {}

    func start(_ requests: [SegmentRequest]) {
        let now = clock.now.monotonic
        state.withLock { state in
            for request in requests {
                state.exchanges[request.key] = RunningRequest(request: request, touched: now)
                state.order.append(request.key)
            }
            admit(&state)
        }
    }

    func proceed(_ key: SegmentKey, _ plan: BodyPlan) {
        state.withLock { state in
            guard case .held? = state.exchanges[key]?.phase else { return }
            open(key, plan, &state)
        }
    }

    func shrink(_ key: SegmentKey, end: Int64) {
        state.withLock { state in
            guard let exchange = state.exchanges[key] else { return }
            state.exchanges[key]?.stopAt = min(end, exchange.stopAt ?? end)
            if let plan = exchange.plan, plan.compare == 0, exchange.position >= end {
                self.end(key, nil, &state)
            }
        }
    }

    func setRate(_ key: SegmentKey, _ rate: Int64?) {
        state.withLock { $0.exchanges[key]?.request.limitRate = rate }
    }

    func stop(_ keys: [SegmentKey]) {
        state.withLock { state in
            for key in keys { end(key, .stopped, &state) }
        }
    }

    func withdraw(_ keys: [SegmentKey]) {
        state.withLock { state in
            for key in keys where state.exchanges[key]?.isQueued == true {
                end(key, .withdrawn, &state)
            }
        }
    }

    /// Connections of this wire belong to no network.
    func leaveConnections(suspecting keys: [SegmentKey]) {}

    // MARK: - For the world

    /// All facts since the last call.
    func takeFacts() -> [WireFact] {
        state.withLock { state in
            defer { state.facts = [] }
            return state.facts
        }
    }

    /// The engine was killed, and with it all requests.
    func crash() { state.withLock { $0 = State(isOffline: $0.isOffline) } }

    func setOffline(_ isOffline: Bool) {
        state.withLock { state in
            state.isOffline = isOffline
            guard isOffline else { return }
            for key in state.order where state.exchanges[key]?.isQueued == false {
                // 56: CURLE_RECV_ERROR
                let failure = WireFailure.curl(
                    code: 56, text: "the network is down", osError: ENETDOWN)
                end(key, failure, &state)
            }
        }
    }

    /// When something happens by itself.
    var nextMoment: Instant? {
        state.withLock { state in
            state.exchanges.values.compactMap { moment(of: $0) }.min()
        }
    }

    private func moment(of exchange: RunningRequest) -> Instant? {
        let stall = exchange.touched + exchange.request.connection.stallTimeout
        switch exchange.phase {
        case .queued, .held: return nil
        case .asked(let until): return min(until ?? stall, stall)
        case .moving:
            guard let bytes = bytesToNextNotice(exchange) else { return stall }
            return exchange.touched + max(0.001, Double(bytes) / speed(exchange))
        }
    }

    /// Carries out everything that happens until now.
    func advance() {
        let now = clock.now.monotonic
        state.withLock { state in
            for key in state.order {
                guard let exchange = state.exchanges[key] else { continue }
                switch exchange.phase {
                case .queued, .held: continue
                case .asked(let until?) where until <= now: answer(key, &state)
                case .asked: break
                case .moving: move(key, now, &state)
                }
                guard let exchange = state.exchanges[key] else { continue }
                if case .held = exchange.phase { continue }
                if now - exchange.touched >= exchange.request.connection.stallTimeout {
                    end(key, .stalled, &state)
                }
            }
            admit(&state)
        }
    }

    // MARK: -

    /// Admits requests in the order of their arrival, as far as there are connections.
    private func admit(_ state: inout State) {
        let now = clock.now.monotonic
        var used: [String: Int] = [:]
        for exchange in state.exchanges.values where !exchange.isQueued {
            used[Self.origin(of: exchange.request), default: 0] += 1
        }
        for key in state.order {
            guard let exchange = state.exchanges[key], exchange.isQueued else { continue }
            let origin = Self.origin(of: exchange.request)
            guard used[origin, default: 0] < Limits.connectionsPerOrigin else { continue }
            used[origin, default: 0] += 1
            state.exchanges[key]?.phase = .asked(until: now + network.latency)
            state.exchanges[key]?.touched = now
        }
    }

    private static func origin(of request: SegmentRequest) -> String {
        let parts = request.url.split(
            separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.prefix(3).joined(separator: "/")
    }

    func end(_ key: SegmentKey, _ failure: WireFailure?, answer: [UInt8] = [], _ state: inout State)
    {
        guard let exchange = state.exchanges.removeValue(forKey: key) else { return }
        state.order.removeAll { $0 == key }
        let planned = exchange.plan?.position ?? exchange.request.offset
        var end = SegmentEnd(
            failure: failure, writtenThrough: exchange.hasWritten ? exchange.position : planned,
            bytesReceived: exchange.received, httpVersion: 11)
        end.answer = answer
        end.bytesSent = exchange.sent
        state.facts.append(.ended(key, end))
    }
}
