import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Testing

/// What can be seen of yielding on loopback: how connections are shared. On a line of its own it is
/// tested end to end.
@Suite(.timeLimit(.minutes(10)))
struct YieldingTests {
    enum Kind: CaseIterable {
        case foreground, background, yielding
    }

    private func request(_ kind: Kind, _ wire: Wire, _ server: ScriptedServer) -> SegmentRequest {
        var request = wire.request(server.url(), PartFile())
        request.isBackground = kind != .foreground
        request.yields = kind == .yielding
        return request
    }

    @Test func eachKindHasConnectionsOfItsOwn() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1, 2, 3])] }
        let wire = try Wire()
        for kind in Kind.allCases + Kind.allCases.reversed() {
            let outcome = try await wire.run(request(kind, wire, server))
            #expect(outcome.end.failure == nil)
        }
        #expect(server.connections == 3)
        wire.transport.shutdown()
    }

    @Test func idleConnectionsEndWithTheTransport() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        for _ in 0..<3 {
            let wire = try Wire()
            _ = try await wire.run(request(.yielding, wire, server))
            wire.transport.shutdown()
        }
        #expect(server.connections == 3)
    }

    @Test func aRequestThatYieldsKeepsItsOwnLimit() async throws {
        let body = pattern(0..<150_000)
        let server = try ScriptedServer { _ in [answer(body: body)] }
        let wire = try Wire()
        var limited = wire.request(server.url(), PartFile(), limitRate: 300_000)
        limited.yields = true
        let outcome = try await wire.run(limited)
        #expect(outcome.end.failure == nil)
        #expect(outcome.end.seconds > 0.3)
    }
}
