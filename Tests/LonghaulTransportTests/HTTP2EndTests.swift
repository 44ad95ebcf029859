import Foundation
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulTransport

/// An answer over HTTP/2 that tells no length, and a libcurl that takes a stream that was reset for
/// one that has ended.
@Suite(
    .timeLimit(.minutes(60)),
    .enabled(if: NginxServer.isInstalled, "skipped: no nginx or no openssl"))
struct HTTP2EndTests {
    private let body = pattern(0..<300_000)

    private func serve() async throws -> NginxServer {
        var options = NginxServer.Options()
        // SSI makes the length unknown.
        options.extra = """
            location /unknown/ { ssi on; ssi_types *; rewrite ^/unknown/(.*)$ /$1 break; }
            location /only2/ {
                if ($server_protocol = HTTP/1.1) { return 505; }
                ssi on; ssi_types *; rewrite ^/only2/(.*)$ /$1 break;
            }
            """
        let server = try await NginxServer.start(options: options)
        try Data(body).write(to: URL(fileURLWithPath: "\(server.root)/file"))
        try Data().write(to: URL(fileURLWithPath: "\(server.root)/empty"))
        return server
    }

    private func run(
        _ path: String, _ server: NginxServer, hold: Bool = false
    ) async throws -> (Outcome, [UInt8]) {
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.caCertificate = server.authority.certificate
        let part = PartFile()
        let request = wire.request(server.https(path), part, connection: connection) { head in
            hold ? .hold : Wire.takeSuccess(head)
        }
        wire.transport.start([request])
        if hold {
            _ = try await wire.head(of: request)
            wire.transport.proceed(request.key, BodyPlan(position: 0))
        }
        return (try await wire.outcome(of: request), part.content)
    }

    @Test func itsEndIsProvenOverHTTP1() async throws {
        let server = try await serve()
        let proves = CurlGlobal.tellsResets ? 20 : 11
        for hold in [false, true] {
            let (unknown, content) = try await run("unknown/file", server, hold: hold)
            #expect(unknown.failure == nil)
            #expect(unknown.heads == 1)
            #expect(unknown.end.httpVersion == proves)
            #expect(content == body)
        }
        let (empty, nothing) = try await run("unknown/empty", server)
        #expect(empty.failure == nil)
        #expect(nothing.isEmpty)
        let (known, same) = try await run("file", server)
        #expect(known.end.httpVersion == 20)
        #expect(same == body)
        let (missing, _) = try await run("unknown/missing", server)
        #expect(missing.failure == .refused)
        #expect(missing.end.httpVersion == 20)
    }

    @Test func aServerWithoutHTTP1IsTakenAtItsWord() async throws {
        let server = try await serve()
        let (outcome, content) = try await run("only2/file", server)
        #expect(outcome.failure == nil)
        #expect(outcome.heads == 1)
        #expect(outcome.head?.status == 200)
        #expect(outcome.end.httpVersion == 20)
        #expect(content == body)
    }
}
