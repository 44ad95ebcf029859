import Foundation
import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Testing

/// TLS and HTTP/2, against nginx.
@Suite(
    .timeLimit(.minutes(60)),
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

    /// One server for all that need nothing special of it: making its keys takes longer than the
    /// checks.
    @Test func http2() async throws {
        var options = NginxServer.Options()
        options.extra = """
            location = /down { return 302 http://127.0.0.1/file; }
            location = /up { return 302 https://127.0.0.1:$arg_port/file; }
            """
        let server = try await serve(options)
        try await requestsShareAConnection(server)
        try await ownConnectionsAreParallel(server)
        try await aHeldStreamDoesNotHoldTheOthers(server)
        try await aStoppedStreamLeavesTheConnection(server)
        try await aLimitedRequestKeepsToItsRate(server)
        try await anUnknownAuthorityIsNotBelieved(server)
        try await aProxyIsVerifiedAsAServerIs(server)
        try await fromHTTPSThereIsNoWayDown(server)
        try await upIsAllowed(server)
    }

    /// The connections that the latest requests came over.
    private func connections(
        _ server: NginxServer, ofLast count: Int, since before: Int
    ) async throws -> Int {
        let log = try await server.waitForRequests(before + count)
        return Set(log.dropFirst(before).map { "\($0["connection"])" }).count
    }

    private func trusting(_ server: NginxServer) -> ConnectionSettings {
        var connection = ConnectionSettings()
        connection.caCertificate = server.authority.certificate
        return connection
    }

    private func requestsShareAConnection(_ server: NginxServer) async throws {
        let before = try server.accessLog.count
        let wire = try Wire()
        let parts = (0..<40).map { _ in PartFile() }
        let requests = parts.enumerated().map { index, part in
            wire.request(server.https("\(index)"), part, connection: trusting(server))
        }
        wire.transport.start(requests)
        for (index, request) in requests.enumerated() {
            let outcome = try await wire.outcome(of: request)
            #expect(outcome.failure == nil)
            #expect(outcome.head?.httpVersion == 20)
            #expect(outcome.end.httpVersion == 20)
            #expect(parts[index].content == Array("small \(index)".utf8))
        }
        #expect(try await connections(server, ofLast: 40, since: before) == 1)
    }

    private func ownConnectionsAreParallel(_ server: NginxServer) async throws {
        let before = try server.accessLog.count
        let wire = try Wire()
        var connection = trusting(server)
        connection.ownConnection = true
        let requests = (0..<3).map { _ in
            wire.request(server.https("file"), PartFile(), connection: connection)
        }
        wire.transport.start(requests)
        for request in requests { #expect(try await wire.outcome(of: request).failure == nil) }
        #expect(try await connections(server, ofLast: 3, since: before) == 3)
    }

    private func aHeldStreamDoesNotHoldTheOthers(_ server: NginxServer) async throws {
        let before = try server.accessLog.count
        let wire = try Wire()
        let part = PartFile()
        let held = wire.request(server.https("file"), part, connection: trusting(server)) { _ in
            .hold
        }
        wire.transport.start([held])
        #expect(try await wire.head(of: held).httpVersion == 20)
        let otherPart = PartFile()
        let other = wire.request(server.https("file"), otherPart, connection: trusting(server))
        #expect(try await wire.run(other).failure == nil)
        #expect(otherPart.content == body)
        #expect(part.content.isEmpty)
        wire.transport.proceed(held.key, BodyPlan(position: 0))
        #expect(try await wire.outcome(of: held).failure == nil)
        #expect(part.content == body)
        #expect(try await connections(server, ofLast: 2, since: before) == 1)
    }

    private func aLimitedRequestKeepsToItsRate(_ server: NginxServer) async throws {
        let wire = try Wire()
        let part = PartFile()
        let outcome = try await wire.run(
            wire.request(
                server.https("file"), part, limitRate: 3_000_000, connection: trusting(server)))
        #expect(outcome.failure == nil)
        #expect(outcome.head?.httpVersion == 11)
        #expect(part.content == body)
        #expect(outcome.end.seconds > 0.85)
        #expect(outcome.end.seconds < 3)
    }

    private func aStoppedStreamLeavesTheConnection(_ server: NginxServer) async throws {
        let before = try server.accessLog.count
        let wire = try Wire()
        let held = wire.request(server.https("file"), PartFile(), connection: trusting(server)) {
            _ in .hold
        }
        wire.transport.start([held])
        _ = try await wire.head(of: held)
        wire.transport.stop([held.key])
        #expect(try await wire.outcome(of: held).failure == .stopped)
        let refused = wire.request(
            server.https("nothing"), PartFile(), connection: trusting(server))
        #expect(try await wire.run(refused).failure == .refused)
        let part = PartFile()
        let next = wire.request(server.https("file"), part, connection: trusting(server))
        #expect(try await wire.run(next).failure == nil)
        #expect(part.content == body)
        #expect(try await connections(server, ofLast: 3, since: before) == 1)
    }

    @Test(arguments: [TestAuthority.Fault.wrongName, .expired])
    func aWrongIdentityIsNotBelieved(_ fault: TestAuthority.Fault) async throws {
        var options = NginxServer.Options()
        options.fault = fault
        let server = try await serve(options)
        let wire = try Wire()
        let part = PartFile()
        let outcome = try await wire.run(
            wire.request(server.https("file"), part, connection: trusting(server)))
        guard case .curl(code: 60, _, _) = outcome.failure else {  // PEER_FAILED_VERIFICATION
            Issue.record("\(outcome)")
            return
        }
        #expect(part.content.isEmpty)
        var insecure = ConnectionSettings()
        insecure.insecure = true
        let daring = wire.request(server.https("file"), part, connection: insecure)
        #expect(try await wire.run(daring).failure == nil)
    }

    private func anUnknownAuthorityIsNotBelieved(_ server: NginxServer) async throws {
        let wire = try Wire()
        let outcome = try await wire.run(wire.request(server.https("file"), PartFile()))
        guard case .curl(code: 60, _, _) = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
    }

    /// A request to a proxy is one for a file of its own to nginx.
    private func aProxyIsVerifiedAsAServerIs(_ server: NginxServer) async throws {
        let wire = try Wire()
        var connection = trusting(server)
        connection.proxy = "https://127.0.0.1:\(server.httpsPort)"
        let part = PartFile()
        let url = "http://server.invalid/file"
        #expect(try await wire.run(wire.request(url, part, connection: connection)).failure == nil)
        #expect(part.content == body)
        connection.caCertificate = nil
        let outcome = try await wire.run(wire.request(url, PartFile(), connection: connection))
        guard case .curl(code: 60, let text, _) = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
        #expect(text.hasPrefix("of the proxy: "))
    }

    @Test func clientCertificatesAreShown() async throws {
        var options = NginxServer.Options()
        options.requiresClientCertificate = true
        let server = try await serve(options)
        let wire = try Wire()
        var connection = trusting(server)
        let without = try await wire.run(
            wire.request(server.https("file"), PartFile(), connection: connection))
        #expect(without.failure == .refused)
        connection.clientCertificate = server.authority.client.certificate
        connection.clientKey = server.authority.client.key
        let part = PartFile()
        let with = try await wire.run(
            wire.request(server.https("file"), part, connection: connection))
        #expect(with.failure == nil)
        #expect(part.content == body)
    }

    private func fromHTTPSThereIsNoWayDown(_ server: NginxServer) async throws {
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request(server.https("down"), PartFile(), connection: trusting(server)))
        #expect(outcome.failure == .redirect(.downgrade))
        #expect(outcome.head?.status == 302)
    }

    private func upIsAllowed(_ server: NginxServer) async throws {
        let wire = try Wire()
        let part = PartFile()
        let outcome = try await wire.run(
            wire.request(
                server.http("up?port=\(server.httpsPort)"), part, connection: trusting(server)))
        #expect(outcome.failure == nil)
        #expect(outcome.head?.effectiveURL == server.https("file"))
        #expect(part.content == body)
    }
}
