import Foundation
import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Testing

/// TLS and HTTP/2, against nginx.
@Suite(
    .timeLimit(.minutes(1)),
    .enabled(if: NginxServer.isInstalled, "skipped: no nginx or no openssl"))
struct TLSTests {
    private let body = pattern(0..<3_000_000)

    private func serve(
        _ options: NginxServer.Options = NginxServer.Options()
    ) async throws -> NginxServer {
        let server = try await NginxServer.start(options: options)
        try Data(body).write(to: URL(fileURLWithPath: "\(server.root)/file"))
        for index in 0..<40 {
            try Data("small \(index)".utf8)
                .write(to: URL(fileURLWithPath: "\(server.root)/\(index)"))
        }
        return server
    }

    private func trusting(_ server: NginxServer) -> ConnectionSettings {
        var connection = ConnectionSettings()
        connection.caCertificate = server.authority.certificate
        return connection
    }

    @Test func requestsShareAnHTTP2Connection() async throws {
        let server = try await serve()
        let wire = try Wire()
        let parts = (0..<40).map { _ in PartFile() }
        let requests = parts.enumerated().map { index, part in
            wire.request(server.https("\(index)"), part, connection: trusting(server))
        }
        wire.transport.start(requests)
        for (index, request) in requests.enumerated() {
            let outcome = try wire.outcome(of: request)
            #expect(outcome.failure == nil)
            #expect(outcome.head?.httpVersion == 20)
            #expect(outcome.end.httpVersion == 20)
            #expect(parts[index].content == Array("small \(index)".utf8))
        }
        let log = try await server.waitForRequests(40)
        #expect(Set(log.map { "\($0["connection"])" }).count == 1)
    }

    @Test func ownConnectionsAreParallelOverHTTP2Too() async throws {
        let server = try await serve()
        let wire = try Wire()
        var connection = trusting(server)
        connection.ownConnection = true
        let requests = (0..<3).map { _ in
            wire.request(server.https("file"), PartFile(), connection: connection)
        }
        wire.transport.start(requests)
        for request in requests { #expect(try wire.outcome(of: request).failure == nil) }
        let log = try await server.waitForRequests(3)
        #expect(Set(log.map { "\($0["connection"])" }).count == 3)
    }

    @Test func aHeldStreamDoesNotHoldTheOthers() async throws {
        let server = try await serve()
        let wire = try Wire()
        let part = PartFile()
        let held = wire.request(server.https("file"), part, connection: trusting(server)) { _ in
            .hold
        }
        wire.transport.start([held])
        #expect(try wire.head(of: held).httpVersion == 20)
        let otherPart = PartFile()
        let other = wire.request(server.https("file"), otherPart, connection: trusting(server))
        #expect(try wire.run(other).failure == nil)
        #expect(otherPart.content == body)
        #expect(part.content.isEmpty)
        wire.transport.proceed(held.key, BodyPlan(position: 0))
        #expect(try wire.outcome(of: held).failure == nil)
        #expect(part.content == body)
    }

    @Test func aLimitedStreamKeepsToItsRate() async throws {
        let server = try await serve()
        let wire = try Wire()
        let part = PartFile()
        let outcome = try wire.run(
            wire.request(
                server.https("file"), part, limitRate: 3_000_000, connection: trusting(server)))
        #expect(outcome.failure == nil)
        #expect(outcome.head?.httpVersion == 20)
        #expect(part.content == body)
        #expect(outcome.end.seconds > 0.85)
        #expect(outcome.end.seconds < 3)
    }

    @Test func aStoppedStreamLeavesTheConnection() async throws {
        let server = try await serve()
        let wire = try Wire()
        let held = wire.request(server.https("file"), PartFile(), connection: trusting(server)) {
            _ in .hold
        }
        wire.transport.start([held])
        _ = try wire.head(of: held)
        wire.transport.stop([held.key])
        #expect(try wire.outcome(of: held).failure == .stopped)
        let refused = wire.request(
            server.https("nothing"), PartFile(), connection: trusting(server))
        #expect(try wire.run(refused).failure == .refused)
        let part = PartFile()
        let next = wire.request(server.https("file"), part, connection: trusting(server))
        #expect(try wire.run(next).failure == nil)
        #expect(part.content == body)
        let log = try await server.waitForRequests(3)
        #expect(Set(log.map { "\($0["connection"])" }).count == 1)
    }

    @Test(arguments: [TestAuthority.Fault.wrongName, .expired])
    func aWrongIdentityIsNotBelieved(_ fault: TestAuthority.Fault) async throws {
        var options = NginxServer.Options()
        options.fault = fault
        let server = try await serve(options)
        let wire = try Wire()
        let part = PartFile()
        let outcome = try wire.run(
            wire.request(server.https("file"), part, connection: trusting(server)))
        guard case .curl(code: 60, _, _) = outcome.failure else {  // PEER_FAILED_VERIFICATION
            Issue.record("\(outcome)")
            return
        }
        #expect(part.content.isEmpty)
        var insecure = ConnectionSettings()
        insecure.insecure = true
        let daring = wire.request(server.https("file"), part, connection: insecure)
        #expect(try wire.run(daring).failure == nil)
    }

    @Test func anUnknownAuthorityIsNotBelieved() async throws {
        let server = try await serve()
        let outcome = try Wire().run(Wire().request(server.https("file"), PartFile()))
        guard case .curl(code: 60, _, _) = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test func clientCertificatesAreShown() async throws {
        var options = NginxServer.Options()
        options.requiresClientCertificate = true
        let server = try await serve(options)
        let wire = try Wire()
        var connection = trusting(server)
        let without = try wire.run(
            wire.request(server.https("file"), PartFile(), connection: connection))
        #expect(without.failure == .refused)
        connection.clientCertificate = server.authority.client.certificate
        connection.clientKey = server.authority.client.key
        let part = PartFile()
        let with = try wire.run(wire.request(server.https("file"), part, connection: connection))
        #expect(with.failure == nil)
        #expect(part.content == body)
    }

    @Test func fromHTTPSThereIsNoWayDown() async throws {
        var options = NginxServer.Options()
        options.extra = "location = /down { return 302 http://127.0.0.1/file; }"
        let server = try await serve(options)
        let wire = try Wire()
        let outcome = try wire.run(
            wire.request(server.https("down"), PartFile(), connection: trusting(server)))
        #expect(outcome.failure == .redirect(.downgrade))
        #expect(outcome.head?.status == 302)
    }

    @Test func upIsAllowed() async throws {
        var options = NginxServer.Options()
        options.extra = "location = /up { return 302 https://127.0.0.1:$arg_port/file; }"
        let server = try await serve(options)
        let wire = try Wire()
        let part = PartFile()
        let outcome = try wire.run(
            wire.request(
                server.http("up?port=\(server.httpsPort)"), part, connection: trusting(server)))
        #expect(outcome.failure == nil)
        #expect(outcome.head?.effectiveURL == server.https("file"))
        #expect(part.content == body)
    }
}
