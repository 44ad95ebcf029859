package import LonghaulCore
package import LonghaulEngine

/// A transport without sockets: requests pass through the phases that the real one has, and bodies
/// move as time advances. Servers and disk are the adopter's.
package protocol SimulatedWire: AnyObject, WirePort {
    var requests: [SegmentKey: SimulatedRequest] { get set }
    /// The keys of requests, oldest first.
    var order: [SegmentKey] { get set }
    var facts: [WireFact] { get set }
    var now: Moment { get }
    var isDown: Bool { get }
    /// Most requests to one origin that have a connection.
    var connectionsPerOrigin: Int { get }

    static func origin(of url: String) -> String

    /// False if the process dies before the command.
    func mayAct() -> Bool
    func willQueue(_ request: SegmentRequest)
    func willStart(_ request: SegmentRequest)
    /// Seconds from the start of a request to its answer.
    func latency() -> Double
    /// The request has reached its server.
    func answer(_ key: SegmentKey)
    /// True if an answer to the whole request is outstanding.
    func isUnanswered(_ key: SegmentKey) -> Bool
    /// True if a request that was stopped ends now.
    func endsNow(_ request: SimulatedRequest) -> Bool
    /// Moves an upload; false for a download.
    func send(_ key: SegmentKey, _ seconds: Double) -> Bool
    func rate(of request: SimulatedRequest) -> Double
    /// Factor on the rate for one step.
    func variation() -> Double
    /// Bytes that still come after a request was shortened.
    func overshoot() -> Int64
    func willReceive(_ key: SegmentKey, _ range: Range<Int64>, _ request: SimulatedRequest)
    func didReceive(_ count: Int64, _ request: SimulatedRequest)
    /// Bytes arrived beyond the new end of a shortened request.
    func didOverrun(_ key: SegmentKey, _ range: Range<Int64>)
    /// Bytes arrived that could not be used.
    func didWaste(_ key: SegmentKey, _ count: Int64)
    /// Compares a range of the body with the disk at an offset.
    func isHeld(_ range: Range<Int64>, at position: Int64, _ request: SimulatedRequest) -> Bool
    func write(
        _ range: Range<Int64>, at position: Int64, _ request: SimulatedRequest
    ) -> (errno: Int32, count: Int64)
    func willEnd(_ key: SegmentKey, _ request: SimulatedRequest, _ end: inout SegmentEnd)
    func say(_ text: @autoclosure () -> String)
}

extension SimulatedWire {
    // MARK: - Commands

    package func expectRequests() {}

    package func start(_ requests: [SegmentRequest]) {
        for request in requests where mayAct() {
            willQueue(request)
            self.requests[request.key] = SimulatedRequest(request, now: now.monotonic)
            order.append(request.key)
        }
        admit()
    }

    /// Oldest first, as far as there are connections.
    private func admit() {
        var used: [String: Int] = [:]
        for request in requests.values where !request.isQueued {
            used[Self.origin(of: request.request.url), default: 0] += 1
        }
        for key in order {
            guard let request = requests[key], request.isQueued else { continue }
            let origin = Self.origin(of: request.request.url)
            guard used[origin, default: 0] < connectionsPerOrigin else { continue }
            used[origin, default: 0] += 1
            requests[key]?.phase = .asked(now.monotonic + latency())
            requests[key]?.touched = now.monotonic
            willStart(request.request)
        }
    }

    package func proceed(_ key: SegmentKey, _ plan: BodyPlan) {
        guard mayAct(), case .held? = requests[key]?.phase else { return }
        say("proceed \(key) at \(plan.position)")
        requests[key]?.open(plan, now: now.monotonic)
    }

    package func setRate(_ key: SegmentKey, _ rate: Int64?) {
        if mayAct() { requests[key]?.request.limitRate = rate }
    }

    package func shrink(_ key: SegmentKey, end: Int64) {
        guard mayAct(), let request = requests[key] else { return }
        say("shrink \(key) to \(end)")
        if request.isOpen, request.position > end { didOverrun(key, end..<request.position) }
        requests[key]?.stopAt = min(end, request.stopAt ?? end)
        // There already.
        if request.isOpen, request.plan.compare == 0, request.position >= end {
            self.end(key, nil)
        }
    }

    package func withdraw(_ keys: [SegmentKey]) {
        for key in keys where mayAct() && requests[key]?.isQueued == true {
            say("withdraw \(key)")
            end(key, .withdrawn)
        }
    }

    /// The engine was killed, and with it all requests.
    package func reset() {
        requests = [:]
        order = []
        facts = []
    }

    // MARK: - Time

    /// Lets the network pass this many seconds.
    package func advance(_ seconds: Double) {
        for key in order {
            guard let request = requests[key] else { continue }
            if endsNow(request) {
                end(key, .stopped)
                continue
            }
            switch request.phase {
            case .queued: continue
            case .asked(let until):
                if isDown, isUnanswered(key) {
                    end(key, .curl(code: 56, text: "reset", osError: 104))
                } else if isDown {
                    end(key, .curl(code: 7, text: "unreachable", osError: 101))
                } else if now.monotonic >= until {
                    answer(key)
                }
            case .held: requests[key]?.touched = now.monotonic
            case .moving: if !send(key, seconds) { move(key, seconds) }
            }
            endIfStalled(key)
        }
        admit()
    }

    private func endIfStalled(_ key: SegmentKey) {
        guard let request = requests[key] else { return }
        if case .held = request.phase { return }
        if request.isQueued { return }
        if now.monotonic - request.touched >= request.request.connection.stallTimeout {
            end(key, .stalled)
        } else if request.isSuspect, now.monotonic - request.touched >= 3 {
            // 56: CURLE_RECV_ERROR
            end(key, .curl(code: 56, text: "nothing came any more", osError: 0))
        }
    }

    /// When something happens by itself.
    package var nextMoment: Instant? {
        order.compactMap { requests[$0].flatMap(moment) }.min()
    }

    private func moment(of request: SimulatedRequest) -> Instant? {
        let patience = request.request.connection.stallTimeout
        let silence = request.touched + (request.isSuspect ? min(3, patience) : patience)
        switch request.phase {
        case .held, .queued: return nil
        case .asked(let until): return min(silence, until)
        case .moving:
            if let silent = request.served.silentAfter, request.served.sent >= silent {
                return silence
            }
            let left = Double(request.served.range.count) - Double(request.served.sent)
            return min(silence, now.monotonic + left / max(1, rate(of: request)))
        }
    }

    package func end(_ key: SegmentKey, _ failure: WireFailure?) {
        guard let request = requests.removeValue(forKey: key) else { return }
        order.removeAll { $0 == key }
        var end = SegmentEnd(
            failure: failure,
            writtenThrough: request.hasWritten
                ? request.position : request.isOpen ? request.plan.position : 0,
            bytesReceived: request.received, httpVersion: 11)
        willEnd(key, request, &end)
        facts.append(.ended(key, end))
    }
}

/// What well-behaved servers, disks and clients need not say.
extension SimulatedWire {
    package static func origin(of url: String) -> String {
        url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3)
            .joined(separator: "/")
    }

    package var connectionsPerOrigin: Int { Limits.connectionsPerOrigin }

    package func mayAct() -> Bool { true }
    package func willQueue(_ request: SegmentRequest) {}
    package func willStart(_ request: SegmentRequest) {}
    package func isUnanswered(_ key: SegmentKey) -> Bool { false }
    package func endsNow(_ request: SimulatedRequest) -> Bool { false }
    package func send(_ key: SegmentKey, _ seconds: Double) -> Bool { false }
    package func variation() -> Double { 1 }
    package func overshoot() -> Int64 { 0 }
    package func willReceive(_ key: SegmentKey, _ range: Range<Int64>, _ request: SimulatedRequest)
    {}
    package func didOverrun(_ key: SegmentKey, _ range: Range<Int64>) {}
    package func didWaste(_ key: SegmentKey, _ count: Int64) {}
    package func say(_ text: @autoclosure () -> String) {}

    package func stop(_ keys: [SegmentKey]) {
        for key in keys { end(key, .stopped) }
    }

    package func leaveConnections(suspecting keys: [SegmentKey]) {}
}
