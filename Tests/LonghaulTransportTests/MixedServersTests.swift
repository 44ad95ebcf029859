import Foundation
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulTransport

/// Some of the servers behind one name speak HTTP/2, others do not. libcurl 7.88 knows for the name
/// whether requests may share a connection, not for each connection.
@Suite(
    .timeLimit(.minutes(60)),
    .enabled(if: NginxServer.isInstalled, "skipped: no nginx or no openssl"))
struct MixedServersTests {
    private let body = pattern(0..<6_000_000)

    private func serve(hasHTTP2: Bool) async throws -> NginxServer {
        var options = NginxServer.Options()
        options.extra = "location /slow/ { limit_rate 3000k; rewrite ^/slow/(.*)$ /$1 break; }\n"
        options.hasHTTP2 = hasHTTP2
        let server = try await NginxServer.start(options: options)
        try Data(body).write(to: URL(fileURLWithPath: "\(server.root)/file"))
        return server
    }

    @Test func noneSharesAConnectionThatCannotBeShared() async throws {
        let modern = try await serve(hasHTTP2: true)
        let old = try await serve(hasHTTP2: false)
        let first = try SilencedRelay(to: modern.httpsPort)
        let relay = try SilencedRelay(to: [first.port, old.httpsPort, modern.httpsPort])
        let wire = try Wire()
        func request(_ path: String, _ part: PartFile, isAlone: Bool) -> SegmentRequest {
            var connection = ConnectionSettings()
            connection.insecure = true
            connection.ownConnection = isAlone
            return wire.request(
                "https://127.0.0.1:\(relay.port)/\(path)", part, connection: connection)
        }
        let parts = (0..<4).map { _ in PartFile() }
        var running: [SegmentRequest] = []
        for (number, version) in [20, 11, 20].enumerated() {
            running.append(request("slow/file", parts[number], isAlone: number > 0))
            wire.transport.start([running[number]])
            #expect(try await wire.head(of: running[number]).httpVersion == version)
        }
        first.cut()
        #expect(try await wire.outcome(of: running[0]).failure != nil)
        let next = request("file", parts[3], isAlone: false)
        let outcome = try await wire.run(next)
        #expect(outcome.failure == nil)
        #expect(outcome.head?.httpVersion == 20)
        for request in running.dropFirst() {
            #expect(try await wire.outcome(of: request).failure == nil)
        }
        for part in parts.dropFirst() {
            let isWhole = part.content == body
            #expect(isWhole)
        }
    }
    /// They wait for each other's connection, which then is not one to share: of all of them, or of
    /// the first alone.
    @Test(arguments: [true, false]) func severalAtOnce(isAnyModern: Bool) async throws {
        let old = try await serve(hasHTTP2: false)
        let other = try await serve(hasHTTP2: isAnyModern)
        let relay = try SilencedRelay(to: [old.httpsPort, other.httpsPort])
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.insecure = true
        let parts = (0..<5).map { _ in PartFile() }
        let requests = parts.map {
            wire.request("https://127.0.0.1:\(relay.port)/slow/file", $0, connection: connection)
        }
        wire.transport.start(requests)
        for request in requests {
            #expect(try await wire.outcome(of: request).failure == nil)
        }
        for part in parts {
            let isWhole = part.content == body
            #expect(isWhole)
        }
    }
}
