import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Testing

/// Requests that libcurl has no connection for: what they are really connected to is known to it
/// alone.
@Suite(.timeLimit(.minutes(60)))
struct PendingTests {
    /// Longer than a request is left waiting inside.
    private static let stall = 1.4

    private func patient() -> ConnectionSettings {
        var connection = ConnectionSettings()
        connection.stallTimeout = Self.stall
        connection.connectTimeout = Self.stall
        return connection
    }

    /// The time passes in which a request that was sent now would be found stalled.
    private func letOneStall(_ wire: Wire) async throws {
        let silent = try ScriptedServer { _ in [.hang] }
        let request = wire.request(silent.url(), PartFile(), connection: patient())
        #expect(try await wire.run(request).failure == .stalled)
    }

    private func isRunning(_ request: SegmentRequest, _ wire: Wire) -> Bool {
        !wire.facts.contains {
            if case .ended(request.key, _) = $0 { true } else { false }
        }
    }

    /// To libcurl alone these are the same.
    private func spelling(_ number: Int, of server: ScriptedServer) -> String {
        "http://\(number)@127.0.0.1:\(server.port)/"
    }

    /// Three spellings of one server, which gets one connection.
    @Test func whatWaitsForAConnectionDoesNotStall() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1, 2])] }
        let wire = try Wire { $0.maxConnectionsPerHost = 1 }
        let parts = (0..<3).map { _ in PartFile() }
        let requests = parts.enumerated().map { index, part in
            wire.request(spelling(index, of: server), part, connection: patient()) { _ in .hold }
        }
        wire.transport.start(requests)
        try await eventually("one is answered") { !wire.facts.isEmpty }
        try await letOneStall(wire)
        #expect(server.requests.count == 1)
        #expect(requests.allSatisfy { isRunning($0, wire) })
        for count in 1...3 {
            let heads = try await wire.wait { facts -> [SegmentKey]? in
                let heads = facts.compactMap { fact -> SegmentKey? in
                    if case .head(let key, _, .hold) = fact { key } else { nil }
                }
                return heads.count == count ? heads : nil
            }
            wire.transport.proceed(heads[count - 1], BodyPlan(position: 0))
        }
        for (request, part) in zip(requests, parts) {
            let outcome = try await wire.outcome(of: request)
            #expect(outcome.failure == nil)
            #expect(part.content == [1, 2])
        }
        #expect(server.requests.count == 3)
    }

    /// Where a redirect led to has no connection left. It goes on from there: the first server is
    /// not asked again.
    @Test func whatWaitsForTheTargetOfARedirectDoesNotStall() async throws {
        let target = try ScriptedServer { _ in [answer(body: [1, 2])] }
        let url = target.url()
        let server = try ScriptedServer { _ in
            [answer("302 Found", ["Location: \(url)", "Set-Cookie: a=b"], body: [])]
        }
        let wire = try Wire { $0.maxConnectionsPerHost = 1 }
        let first = wire.request(url, PartFile(), connection: patient()) { _ in .hold }
        wire.transport.start([first])
        _ = try await wire.head(of: first)
        let part = PartFile()
        let second = wire.request(server.url(), part, connection: patient())
        wire.transport.start([second])
        try await letOneStall(wire)
        #expect(isRunning(second, wire))
        wire.transport.proceed(first.key, BodyPlan(position: 0))
        let outcome = try await wire.outcome(of: second)
        #expect(outcome.failure == nil)
        #expect(outcome.head?.effectiveURL == url)
        #expect(part.content == [1, 2])
        #expect(server.requests.count == 1)
        #expect(target.requests.count == 2)
    }

    @Test func whatWaitsInsideCanBeStoppedAndShrunk() async throws {
        let server = try ScriptedServer { _ in [answer(body: pattern(0..<100))] }
        let wire = try Wire { $0.maxConnectionsPerHost = 1 }
        func request(_ index: Int, _ part: PartFile = PartFile(), held: Bool) -> SegmentRequest {
            wire.request(spelling(index, of: server), part, connection: patient()) { head in
                held ? .hold : Wire.takeSuccess(head)
            }
        }
        let first = request(0, held: true)
        wire.transport.start([first])
        _ = try await wire.head(of: first)
        let part = PartFile()
        let others = [request(1, held: false), request(2, part, held: false)]
        wire.transport.start(others)
        try await letOneStall(wire)
        wire.transport.shrink(others[1].key, end: 10)
        wire.transport.stop([others[0].key])
        #expect(try await wire.outcome(of: others[0]).failure == .stopped)
        wire.transport.stop([first.key])
        #expect(try await wire.outcome(of: others[1]).failure == nil)
        #expect(part.content == pattern(0..<10))
        #expect(server.requests.count == 2)
    }

    /// It may be one to share; but a server that is dead must not be waited for one by one.
    @Test func aConnectionThatTakesLongToBeMadeIsNotWaitedFor() async throws {
        // It never answers the first message of TLS.
        let server = try ScriptedServer { _ in [.hang] }
        let wire = try Wire()
        let requests = (0..<3).map { _ in
            wire.request("https://127.0.0.1:\(server.port)/", PartFile())
        }
        wire.transport.start(requests)
        try await eventually("all have a connection") { server.connections == 3 }
        #expect(wire.facts.isEmpty)
    }

    @Test func whatWaitsInsideEndsWithTheTransport() async throws {
        let server = try ScriptedServer { _ in [.hang] }
        let wire = try Wire { $0.maxConnectionsPerHost = 1 }
        let requests = (0..<3).map { (index: Int) -> SegmentRequest in
            var request = wire.request(
                spelling(index, of: server), PartFile(), connection: patient())
            request.isBackground = true
            request.connection.stallTimeout = 20
            return request
        }
        wire.transport.start(requests)
        try await letOneStall(wire)
        wire.transport.shutdown()
        let stopped = wire.facts.count {
            if case .ended(_, let end) = $0 { end.failure == .stopped } else { false }
        }
        #expect(stopped == 3)
    }
}
