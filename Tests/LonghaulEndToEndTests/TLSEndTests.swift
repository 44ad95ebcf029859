import LonghaulTestSupport
import Testing

/// Files of unknown length over TLS: what may be cut off is not published.
@Suite(.enabled(if: TLSEndServer.isInstalled, "skipped: no python3 or no openssl"))
struct TLSEndTests {
    @Test func whatMayBeCutOffIsFetchedAgain() async throws {
        let server = try await TLSEndServer.start()
        let file = Representation(size: 600_000, seed: 3)
        try file.write(to: server.file("f"))
        let home = try LonghaulHome()
        // Cut off once or twice; never announced; announced, as it should be.
        for (query, attempts) in [
            ("cut=400000&cuts=1", 2), ("cut=400000&cuts=1&tag=v1", 2), ("end=fin", 2),
            ("end=fin&tag=v1&version=1.0", 2), ("cut=400000&cuts=1&end=fin", 3), ("", 1),
        ] {
            let got = try await home.run(
                "get", "-q", "--json", "--cacert", server.authority.certificate,
                server.url("f?\(query)"), "-o", home.file("f"), "--if-exists", "overwrite")
            #expect(got.status == 0, "\(query): \(got.errors)")
            try file.verify(file: home.file("f"))
            #expect(try got.rows.last?["attempts"].int == attempts, "\(query)")
        }
    }
}
