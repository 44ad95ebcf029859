import LonghaulTestSupport
import Testing

/// The whole chain once: the built command, a home of its own, the loopback server, the oracle.
@Suite(.timeLimit(.minutes(60))) struct SupportTests {
    @Test func aCutDownloadGoesOnFromItsBytes() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=3M&seed=4&etag=v1&cut=1M&cuts=1")
            let result = try await home.run("get", "--json", url, "-o", home.file("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            let row = try #require(try result.rows.last)
            #expect(row["state"] == "completed")
            #expect(row["destination"] == .string(home.file("a.bin")))
            try server.expected(url).verify(file: home.file("a.bin"))

            let requests = server.log.requests(for: url)
            #expect(requests.map(\.status) == [200, 206])
            #expect(requests.map { $0["If-Range"] } == [nil, "\"v1\""])
            #expect(server.log.bodyBytesSent() == 3 << 20)
        }
        #expect(try home.scratch.names(in: "files") == ["a.bin"])
    }
}
