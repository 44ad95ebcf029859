import Foundation
import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Testing

/// A body without a length ends with its connection: over TLS only close_notify shows that nothing
/// was cut off.
@Suite(.enabled(if: TLSEndServer.isInstalled, "skipped: no python3 or no openssl"))
struct TLSEndTests {
    @Test func anEndIsAnnounced() async throws {
        let server = try await TLSEndServer.start()
        let body = pattern(0..<300_000)
        try Data(body).write(to: URL(fileURLWithPath: server.file("a")))
        try Data().write(to: URL(fileURLWithPath: server.file("empty")))
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.caCertificate = server.authority.certificate
        for name in ["a", "empty"] {
            for (query, isAnnounced) in [
                ("", true), ("?end=fin", false), ("?version=1.0", true),
                ("?version=1.0&end=fin", false), ("?cut=100", false),
            ] {
                let part = PartFile()
                let outcome = try await wire.run(
                    wire.request(server.url(name + query), part, connection: connection))
                #expect(
                    outcome.failure == (isAnnounced ? nil : .unannouncedEnd), "\(name)\(query)")
                let count = name == "empty" ? 0 : query.contains("cut") ? 100 : body.count
                #expect(part.content.count == count)
            }
        }
        let broken = try await wire.run(
            wire.request(server.url("a?end=reset"), PartFile(), connection: connection))
        guard case .curl? = broken.failure else {
            Issue.record("\(broken)")
            return
        }
    }
}
