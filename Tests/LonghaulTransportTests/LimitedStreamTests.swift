import Foundation
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulTransport

/// What is slowed down shares no connection: over HTTP/2 all that comes for it would pile up in
/// memory while the others of its connection are read.
@Suite(
    .timeLimit(.minutes(60)),
    .enabled(if: NginxServer.isInstalled, "skipped: no nginx or no openssl"))
struct LimitedStreamTests {
    private let body = pattern(0..<2_000_000)

    private func serve() async throws -> NginxServer {
        var options = NginxServer.Options()
        options.extra = "location /slow/ { limit_rate 500k; rewrite ^/slow/(.*)$ /$1 break; }\n"
        let server = try await NginxServer.start(options: options)
        try Data(body).write(to: URL(fileURLWithPath: "\(server.root)/file"))
        return server
    }

    private func request(
        _ wire: Wire, _ server: NginxServer, _ path: String, _ part: PartFile = PartFile(),
        limitRate: Int64? = nil, scheme: String = "https"
    ) -> SegmentRequest {
        var connection = ConnectionSettings()
        connection.caCertificate = server.authority.certificate
        let url = scheme + server.https(path).dropFirst("https".count)
        return wire.request(url, part, limitRate: limitRate, connection: connection)
    }

    /// However a scheme is written (RFC 3986 §3.1).
    @Test(arguments: ["https", "HTTPS"])
    func limitedAndUnlimitedOnesGoApart(scheme: String) async throws {
        let server = try await serve()
        let wire = try Wire()
        let free = request(wire, server, "slow/file")
        wire.transport.start([free])
        #expect(try await wire.head(of: free).httpVersion == 20)
        let part = PartFile()
        let limited = request(wire, server, "file", part, limitRate: 2_000_000, scheme: scheme)
        let another = request(wire, server, "slow/file")
        wire.transport.start([limited, another])
        #expect(try await wire.head(of: limited).httpVersion == 11)
        #expect(try await wire.head(of: another).httpVersion == 20)
        for request in [free, limited, another] {
            #expect(try await wire.outcome(of: request).failure == nil)
        }
        let isWhole = part.content == body
        #expect(isWhole)
    }

    /// The rest is asked for anew: the engine does so after `stopped`.
    @Test(arguments: [true, false]) func aLimitOnTheWay(isForAll: Bool) async throws {
        let server = try await serve()
        let wire = try Wire()
        let parts = [PartFile(), PartFile()]
        let requests = parts.map { request(wire, server, "slow/file", $0) }
        wire.transport.start(requests)
        for part in parts { try await eventually("the body comes") { !part.content.isEmpty } }
        if isForAll {
            wire.transport.setTotalRate(1_000_000)
        } else {
            wire.transport.setRate(requests[0].key, 1_000_000)
        }
        let first = try await wire.outcome(of: requests[0])
        #expect(first.failure == .stopped)
        #expect(first.end.writtenThrough > 0)
        let second = try await wire.outcome(of: requests[1])
        #expect(second.failure == (isForAll ? .stopped : nil))
        let next = request(wire, server, "file", limitRate: isForAll ? nil : 4_000_000)
        wire.transport.start([next])
        #expect(try await wire.head(of: next).httpVersion == 11)
        #expect(try await wire.outcome(of: next).failure == nil)
    }

    /// Before its answer: that comes over HTTP/1.1 then, and nothing of the first is written.
    @Test func aLimitBeforeTheAnswer() async throws {
        let slow = try ScriptedServer { _ in
            [.await, .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood".utf8))]
        }
        var options = NginxServer.Options()
        options.extra = "location /late/ { proxy_pass http://127.0.0.1:\(slow.port); }\n"
        let server = try await NginxServer.start(options: options)
        let wire = try Wire()
        let part = PartFile()
        let late = request(wire, server, "late/x", part)
        wire.transport.start([late])
        try await eventually("it is asked for") { slow.requests.count == 1 }
        wire.transport.setRate(late.key, 1_000_000)
        slow.release()
        try await eventually("it is asked for again") { slow.requests.count == 2 }
        slow.release()
        let outcome = try await wire.outcome(of: late)
        #expect(outcome.failure == nil)
        #expect(outcome.head?.httpVersion == 11)
        #expect(part.content == Array("good".utf8))
    }
}
