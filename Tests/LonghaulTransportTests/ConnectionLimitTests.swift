import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Testing

/// The connections that are open to one origin, whichever pools and transports they belong to:
/// libcurl bounds those of its shares in some versions only, and never over several.
@Suite(.timeLimit(.minutes(60)))
struct ConnectionLimitTests {
    enum Kind: CaseIterable {
        case foreground, background, yielding
    }

    private func request(_ kind: Kind, _ url: String, _ wire: Wire) -> SegmentRequest {
        var request = wire.request(url, PartFile())
        request.isBackground = kind != .foreground
        request.yields = kind == .yielding
        return request
    }

    private func wire(
        _ kind: Kind, perOrigin: Int, _ budget: TransportBudget = TransportBudget()
    ) throws -> Wire {
        try Wire(budget: budget) {
            $0.maxConnectionsPerHost = perOrigin
            $0.isBackground = kind != .foreground
        }
    }

    @Test(arguments: Kind.allCases)
    func manyOriginsRedirectToOneServer(kind: Kind) async throws {
        let target = try ScriptedServer { _ in [answer(body: [1, 2])] }
        let url = target.url()
        let origins = try (0..<30).map { _ in
            try ScriptedServer { _ in [answer("302 Found", ["Location: \(url)"], body: [])] }
        }
        let wire = try wire(kind, perOrigin: 2)
        let requests = (0..<60).map { request(kind, origins[$0 % 30].url("/\($0)"), wire) }
        wire.transport.start(requests)
        for request in requests {
            #expect(try await wire.outcome(of: request).failure == nil)
        }
        #expect(target.requests.count == 60)
        #expect((1...2).contains(target.openAtMost))
        // None was asked again for want of a connection.
        #expect(origins.allSatisfy { $0.requests.count == 2 })
    }

    @Test func allKindsTogether() async throws {
        let server = try ScriptedServer { _ in [.await, answer(body: [1])] }
        let budget = TransportBudget()
        let wires = try Kind.allCases.map { kind in
            try (kind, wire(kind, perOrigin: 2, budget))
        }
        let requests = wires.flatMap { kind, wire in
            (0..<3).map { _ in (wire, request(kind, server.url(), wire)) }
        }
        for (wire, request) in requests { wire.transport.start([request]) }
        try await eventually("two are on their way") { server.requests.count == 2 }
        // Longer than a request waits before it looks for a connection again.
        let silent = try ScriptedServer { _ in [.hang] }
        let watch = try Wire()
        var late = watch.request(silent.url(), PartFile())
        late.connection.stallTimeout = 1.3
        #expect(try await watch.run(late).failure == .stalled)
        #expect(server.connections == 2)
        server.release()
        for (wire, request) in requests {
            #expect(try await wire.outcome(of: request).failure == nil)
        }
        #expect(server.requests.count == 9)
        try await eventually("no more than two stay open") { server.openNow <= 2 }
    }

    /// An idle connection that a request cannot use is closed in favour of a new one.
    @Test func idleConnectionsMakeRoom() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        let budget = TransportBudget()
        let wires = try Kind.allCases.map { kind in
            try (kind, wire(kind, perOrigin: 1, budget))
        }
        for (kind, wire) in wires + wires.reversed() {
            var alone = request(kind, server.url(), wire)
            alone.connection.ownConnection = true
            for request in [request(kind, server.url(), wire), alone] {
                let outcome = try await wire.run(request)
                #expect(outcome.failure == nil)
                #expect(outcome.end.seconds < 0.9)
            }
            try await eventually("one stays open") { server.openNow == 1 }
        }
        #expect(server.requests.count == 12)
    }

    /// While one address of a server is tried after the other, that is one connection.
    @Test func severalAddressesAreOneConnection() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        let wire = try wire(.foreground, perOrigin: 1)
        for _ in 0..<3 {
            let request = request(.foreground, server.otherOrigin(), wire)
            #expect(try await wire.run(request).failure == nil)
        }
        #expect(server.connections == 1)
    }

    @Test func thoseToAllOriginsTogether() async throws {
        let servers = try (0..<6).map { _ in try ScriptedServer { _ in [answer(body: [1])] } }
        let wire = try Wire { $0.maxTotalConnections = 2 }
        let requests = servers.map { request(.yielding, $0.url(), wire) }
        wire.transport.start(requests)
        for request in requests {
            #expect(try await wire.outcome(of: request).failure == nil)
        }
        try await eventually("two stay open") {
            servers.reduce(0) { $0 + $1.openNow } <= 2
        }
    }

    /// A POST is sent once only, although idle connections are closed all the time.
    @Test func postsWaitForAConnection() async throws {
        let target = try ScriptedServer { _ in
            [.send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")]
        }
        let wire = try wire(.yielding, perOrigin: 1)
        let requests = (0..<12).map { index -> SegmentRequest in
            var request = request(index % 2 == 0 ? .yielding : .background, target.url(), wire)
            request.upload = UploadBody(method: "POST")
            return request
        }
        wire.transport.start(requests)
        for request in requests {
            #expect(try await wire.outcome(of: request).failure == nil)
        }
        #expect(target.requests.count == 12)
    }
}
