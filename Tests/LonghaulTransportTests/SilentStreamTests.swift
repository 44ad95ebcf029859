import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Testing

/// Answers that may be silent for minutes, as streams of events are.
@Suite(.timeLimit(.minutes(60))) struct SilentStreamTests {
    private let server: ScriptedServer
    private let wire: Wire

    init() throws {
        server = try ScriptedServer { _ in [.send("HTTP/1.1 200 OK\r\n\r\n"), .hang] }
        wire = try Wire()
    }

    private func request(stall: Double) -> SegmentRequest {
        var request = wire.request(server.url(), PartFile())
        request.connection.stallTimeout = stall
        request.connection.expectsSilence = true
        return request
    }

    /// Nothing is checked while it is silent, but a change of network is no reason to wait for the
    /// stall timeout.
    @Test func aChangeOfNetworkEndsIt() async throws {
        let request = request(stall: 3600)
        wire.transport.start([request])
        _ = try await wire.head(of: request)
        wire.transport.leaveConnections(suspecting: [request.key])
        let failure = try await wire.outcome(of: request).failure
        guard case .curl? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test func itEndsAfterItsStallTimeout() async throws {
        #expect(try await wire.run(request(stall: 1)).failure == .stalled)
    }
}
