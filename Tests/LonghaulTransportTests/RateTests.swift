import LonghaulCore
import LonghaulTransport
import Testing

/// Limits are measured by what has been written when, at the moments of the transport's own
/// notices.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RateTests {
    private let body = pattern(0..<1_000_000)

    private func server() throws -> ScriptedServer {
        let body = body
        return try ScriptedServer { _ in [answer(body: body)] }
    }

    @Test func aRequestKeepsToItsRate() async throws {
        let server = try server()
        let wire = try Wire()
        let part = PartFile()
        let outcome = try await wire.run(wire.request(server.url(), part, limitRate: 1_000_000))
        #expect(outcome.failure == nil)
        #expect(part.content == body)
        // Bound by the count: what a tenth of a second's bucket may add, and nothing else.
        #expect(outcome.end.seconds >= 0.9)
        #expect(outcome.end.seconds < 3)
    }

    @Test func allRequestsTogetherKeepToTheTotal() async throws {
        let server = try server()
        let wire = try Wire()
        wire.transport.setTotalRate(3_000_000)
        let parts = (0..<3).map { _ in PartFile() }
        let requests = parts.map { wire.request(server.url(), $0) }
        wire.transport.start(requests)
        var ends: [SegmentEnd] = []
        for request in requests { ends.append(try await wire.outcome(of: request).end) }
        #expect(ends.allSatisfy { $0.failure == nil })
        for part in parts { #expect(part.content == body) }
        let slowest = ends.map(\.seconds).max() ?? 0
        #expect(slowest >= 0.9)
        #expect(slowest < 3)
        // Shared, not one after the other.
        #expect((ends.map(\.seconds).min() ?? 0) > 0.6)
    }

    @Test func aLimitCanBeLifted() async throws {
        let server = try server()
        let wire = try Wire()
        let part = PartFile()
        let request = wire.request(server.url(), part, limitRate: 1000)
        wire.transport.start([request])
        _ = try await wire.head(of: request)
        wire.transport.setRate(request.key, nil)
        let outcome = try await wire.outcome(of: request)
        #expect(outcome.failure == nil)
        #expect(outcome.end.seconds < 10)
        #expect(part.content == body)
    }

    @Test func aLimitCanBeSetOnTheWay() async throws {
        let body = body
        let server = try ScriptedServer { _ in
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"
            return [.send(Array(head.utf8) + body[..<10]), .await, .send(Array(body[10...]))]
        }
        let wire = try Wire()
        let part = PartFile()
        let request = wire.request(server.url(), part)
        wire.transport.start([request])
        _ = try await wire.head(of: request)
        wire.transport.setRate(request.key, 1_000_000)
        server.release()
        let outcome = try await wire.outcome(of: request)
        #expect(outcome.failure == nil)
        #expect(part.content == body)
        #expect(outcome.end.seconds >= 0.9)
    }

    @Test func theLimitOfWhatWaitsCanBeChanged() async throws {
        let server = try server()
        let wire = try Wire { $0.maxConnectionsPerHost = 1 }
        let held = wire.request(server.url(), PartFile()) { _ in .hold }
        let waiting = wire.request(server.url(), PartFile(), limitRate: 1000)
        wire.transport.start([held, waiting])
        _ = try await wire.head(of: held)
        wire.transport.setRate(waiting.key, nil)
        wire.transport.stop([held.key])
        let outcome = try await wire.outcome(of: waiting)
        #expect(outcome.failure == nil)
        #expect(outcome.end.seconds < 10)
    }

    @Test func aSlowedRequestDoesNotStall() async throws {
        let server = try server()
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.stallTimeout = 0.05
        let part = PartFile()
        // One byte each second: paused nearly always.
        let slow = wire.request(server.url(), part, limitRate: 1, connection: connection)
        wire.transport.start([slow])
        _ = try await wire.head(of: slow)
        var patient = ConnectionSettings()
        patient.stallTimeout = 0.3
        let silent = try ScriptedServer { _ in [.hang] }
        let other = wire.request(silent.url(), PartFile(), connection: patient)
        #expect(try await wire.run(other).failure == .stalled)
        wire.transport.setRate(slow.key, nil)
        #expect(try await wire.outcome(of: slow).failure == nil)
        #expect(part.content == body)
    }
}
