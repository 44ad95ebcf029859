import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Testing

/// What can be seen of yielding on loopback: how connections are shared. On a line of its own it is
/// tested end to end.
@Suite(.timeLimit(.minutes(60)))
struct YieldingTests {
    @Test func whatYieldsHasConnectionsOfItsOwn() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1, 2, 3])] }
        let wire = try Wire()
        for yields in [false, true, true, false] {
            var request = wire.request(server.url(), PartFile())
            request.yields = yields
            #expect(try await wire.run(request).failure == nil)
        }
        #expect(server.connections == 2)
        wire.transport.shutdown()
    }

    @Test func idleConnectionsEndWithTheTransport() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        for _ in 0..<3 {
            let wire = try Wire()
            var request = wire.request(server.url(), PartFile())
            request.yields = true
            _ = try await wire.run(request)
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
