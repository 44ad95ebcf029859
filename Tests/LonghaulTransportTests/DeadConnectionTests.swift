import Foundation
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulTransport

/// Over HTTP/2 a connection outlives its requests, and one on which nothing comes any more must not
/// be given to the next.
@Suite(
    .timeLimit(.minutes(60)),
    .enabled(if: NginxServer.isInstalled, "skipped: no nginx or no openssl"))
struct DeadConnectionTests {
    private let body = pattern(0..<3_000_000)

    private func serve(_ extra: String = "") async throws -> NginxServer {
        var options = NginxServer.Options()
        options.extra =
            extra + """
                location /slow/ { limit_rate 500k; rewrite ^/slow/(.*)$ /$1 break; }
                """
        let server = try await NginxServer.start(options: options)
        try Data(body).write(to: URL(fileURLWithPath: "\(server.root)/file"))
        return server
    }

    private func settings(_ server: NginxServer, stall: Double) -> ConnectionSettings {
        var connection = ConnectionSettings()
        connection.caCertificate = server.authority.certificate
        connection.stallTimeout = stall
        return connection
    }

    /// Without the difference, which takes minutes to find.
    private func isWhole(_ part: PartFile) -> Bool { part.content == body }

    /// Comes whole, and without a stall.
    private func fetch(_ url: String, _ wire: Wire, _ server: NginxServer) async throws {
        let part = PartFile()
        let request = wire.request(url, part, connection: settings(server, stall: 5))
        #expect(try await wire.run(request).failure == nil)
        #expect(isWhole(part))
    }

    private func hasBegun(_ part: PartFile) async throws {
        try await eventually("the body comes") { !part.content.isEmpty }
    }

    @Test func theNextRequestGetsAnother() async throws {
        let server = try await serve()
        let relay = try SilencedRelay(to: server.httpsPort)
        let wire = try Wire()
        let url = "https://127.0.0.1:\(relay.port)/slow/file"
        let part = PartFile()
        let first = wire.request(url, part, connection: settings(server, stall: 2))
        wire.transport.start([first])
        try await hasBegun(part)
        relay.silence()
        let stalled = try await wire.outcome(of: first)
        #expect(stalled.failure == .stalled)
        #expect(stalled.end.httpVersion == 20)
        try await fetch("https://127.0.0.1:\(relay.port)/file", wire, server)
        #expect(relay.accepted == 2)
    }

    /// Those that share it learn of it by the first that has waited long enough.
    @Test func allThatShareItEnd() async throws {
        let server = try await serve()
        let relay = try SilencedRelay(to: server.httpsPort)
        let wire = try Wire()
        let url = "https://127.0.0.1:\(relay.port)/slow/file"
        let parts = [PartFile(), PartFile()]
        let requests = zip(parts, [2.0, 20]).map {
            wire.request(url, $0, connection: settings(server, stall: $1))
        }
        wire.transport.start(requests)
        for part in parts { try await hasBegun(part) }
        #expect(relay.accepted == 1)
        relay.silence()
        #expect(try await wire.outcome(of: requests[0]).failure == .stalled)
        let other = try await wire.outcome(of: requests[1])
        guard case .curl? = other.failure else {
            Issue.record("\(String(describing: other.failure))")
            return
        }
        #expect(other.end.seconds < 15)
    }

    /// One makes the new connection, and the others wait for it: six would be all that a server
    /// gets, and the rest would wait for those.
    @Test func allGoOnOverOneOther() async throws {
        let server = try await serve()
        let relay = try SilencedRelay(to: server.httpsPort)
        let wire = try Wire()
        func twelve() -> [SegmentRequest] {
            (0..<12).map { _ in
                wire.request(
                    "https://127.0.0.1:\(relay.port)/slow/file", PartFile(),
                    connection: settings(server, stall: 2))
            }
        }
        let before = twelve()
        wire.transport.start(before)
        for request in before { #expect(try await wire.head(of: request).httpVersion == 20) }
        #expect(relay.accepted == 1)
        relay.silence()
        for request in before { #expect(try await wire.outcome(of: request).failure != nil) }
        let after = twelve()
        wire.transport.start(after)
        for request in after { #expect(try await wire.head(of: request).httpVersion == 20) }
        #expect(relay.accepted == 2)
        wire.transport.stop(after.map(\.key))
        for request in after { _ = try await wire.outcome(of: request) }
    }

    /// A record of TLS takes longer than the server may be silent, but its bytes come.
    @Test func aSlowLineIsNotSilent() async throws {
        let server = try await serve()
        let short = Array(body.prefix(40_000))
        try Data(short).write(to: URL(fileURLWithPath: "\(server.root)/short"))
        let relay = try SilencedRelay(to: server.httpsPort, pace: 600)
        let wire = try Wire()
        let part = PartFile()
        let request = wire.request(
            "https://127.0.0.1:\(relay.port)/short", part,
            connection: settings(server, stall: 1))
        let outcome = try await wire.run(request)
        #expect(outcome.failure == nil, "\(String(describing: outcome.failure)) \(outcome.end)")
        let isWhole = part.content == short
        #expect(isWhole)
    }

    /// The connection is well where another request gets its bytes by it.
    @Test func oneSilentAnswerDoesNotEndOthers() async throws {
        let silent = try ScriptedServer { _ in [.hang] }
        let server = try await serve(
            "location /silent/ { proxy_pass http://127.0.0.1:\(silent.port); }\n")
        let relay = try SilencedRelay(to: server.httpsPort)
        let wire = try Wire()
        let part = PartFile()
        let alive = wire.request(
            "https://127.0.0.1:\(relay.port)/slow/file", part,
            connection: settings(server, stall: 20))
        let hangs = wire.request(
            "https://127.0.0.1:\(relay.port)/silent/x", PartFile(),
            connection: settings(server, stall: 2))
        wire.transport.start([alive])
        try await hasBegun(part)
        #expect(try await wire.run(hangs).failure == .stalled)
        #expect(try await wire.outcome(of: alive).failure == nil)
        #expect(isWhole(part))
        #expect(relay.accepted == 1)
    }

    /// They went the same way, and each would cost a stall timeout.
    @Test func idleOnesAreNotTriedOneByOne() async throws {
        let server = try await serve()
        let relay = try SilencedRelay(to: server.httpPort)
        let wire = try Wire()
        let url = "http://127.0.0.1:\(relay.port)/slow/file"
        let parts = [PartFile(), PartFile()]
        let first = parts.map { wire.request(url, $0, connection: settings(server, stall: 20)) }
        wire.transport.start(first)
        for request in first { #expect(try await wire.outcome(of: request).failure == nil) }
        #expect(relay.accepted == 2)
        relay.silence()
        let next = "http://127.0.0.1:\(relay.port)/file"
        let stalls = wire.request(next, PartFile(), connection: settings(server, stall: 1))
        #expect(try await wire.run(stalls).failure == .stalled)
        try await fetch(next, wire, server)
    }

    @Test func noneIsUsedOnceTheNetworkHasChanged() async throws {
        let server = try await serve()
        let relay = try SilencedRelay(to: server.httpsPort)
        let wire = try Wire()
        let url = "https://127.0.0.1:\(relay.port)/file"
        for accepted in [1, 1, 2] {
            if accepted == 2 { wire.transport.leaveConnections(suspecting: []) }
            try await fetch(url, wire, server)
            #expect(relay.accepted == accepted)
        }
    }

    @Test func waysAreTrustedAgain() {
        var ways = StaleConnections()
        let second: Int64 = 1_000_000_000
        #expect(ways.trustedFor("a", now: second) == nil)
        ways.mark("a", now: 10 * second)
        #expect(ways.trustedFor("a", now: 12 * second) == 2 * second)
        #expect(ways.trustedFor("b", now: 12 * second) == nil)
        #expect(
            ways.trustedFor("a", now: 10 * second + Limits.idleConnectionNanoseconds + 1) == nil)
        // Its first reading is no sleep, nor is what two readings differ by.
        ways.count(asleep: 500 * second, now: 20 * second)
        ways.count(asleep: 500 * second + 100, now: 21 * second)
        #expect(ways.trustedFor("b", now: 22 * second) == nil)
        ways.count(asleep: 800 * second, now: 23 * second)
        #expect(ways.trustedFor("b", now: 25 * second) == 2 * second)
        #expect(ways.trustedFor("a", now: 25 * second) == 2 * second)
        ways.mark("b", now: 24 * second)
        #expect(ways.trustedFor("b", now: 25 * second) == second)
    }
}
