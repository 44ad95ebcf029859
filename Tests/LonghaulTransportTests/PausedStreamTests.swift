import Foundation
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulTransport

/// A request is taken off the wire while libcurl holds bytes back for it, and its connection serves
/// another one.
@Suite(
    .timeLimit(.minutes(60)),
    .enabled(if: NginxServer.isInstalled, "skipped: no nginx or no openssl"))
struct PausedStreamTests {
    /// Once with what the engine has not decided on, once with what is beyond the rate limit.
    @Test(arguments: [true, false])
    func whatItHeldBackComesBeforeNobodyElses(isHeld: Bool) async throws {
        var options = NginxServer.Options()
        options.rate = 500_000
        let server = try await NginxServer.start(options: options)
        try Data(pattern(0..<3_000_000)).write(to: URL(fileURLWithPath: "\(server.root)/file"))
        var connection = ConnectionSettings()
        connection.caCertificate = server.authority.certificate
        let wire = try Wire()
        let mate = wire.request(server.https("file"), PartFile(), connection: connection)
        wire.transport.start([mate])
        _ = try await wire.head(of: mate)
        let part = PartFile()
        let paused = wire.request(
            server.https("file"), part, limitRate: isHeld ? nil : 1000, connection: connection
        ) { _ in isHeld ? .hold : .accept(BodyPlan(position: 0)) }
        wire.transport.start([paused])
        _ = try await wire.head(of: paused)
        if !isHeld { try await eventually("the body comes") { !part.content.isEmpty } }
        wire.transport.stop([paused.key])
        _ = try await wire.outcome(of: paused)

        // Pauses once: what was held back is handed over with what comes first.
        let body = pattern(70_000..<75_000)
        let other = try ScriptedServer { _ in [answer(body: body)] }
        let own = PartFile()
        let next = wire.request(other.url(), own) { _ in .hold }
        wire.transport.start([next])
        _ = try await wire.head(of: next)
        wire.transport.proceed(next.key, BodyPlan(position: 0))
        #expect(try await wire.outcome(of: next).failure == nil)
        let isItsOwn = own.content == body
        #expect(isItsOwn, "\(own.content.count) bytes for \(body.count)")
        wire.transport.stop([mate.key])
        _ = try await wire.outcome(of: mate)
    }
}
