import Foundation
import LonghaulTestSupport
import Testing

/// `set -o`: another destination, and the bytes that are held come along.
@Suite(.serialized, .timeLimit(.minutes(60))) struct DestinationTests {
    static let places = ["g", "other/g"]

    /// On a server without ranges: off the wire would mean from the beginning.
    @Test(arguments: places) func whileItRuns(place: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("f?size=1M&stall=512K&noranges")
            let get = try home.start("get", "--json", url, "-o", home.file("f"))
            try await eventually("some bytes") {
                home.scratch.size(of: "files/.f.1.longhaul-part") ?? 0 > 0
            }
            #expect(try await home.run("set", "1", "-o", home.file(place)).status == 0)
            try await eventually("the engine has seen it") {
                try await home.stored("SELECT * FROM intentInbox").isEmpty
            }
            server.goOn()
            #expect(try await get.wait().status == 0)
            #expect(server.log.all.count == 1)
            try await isThere(place, home, server.expected(url))
        }
    }

    /// What the last engine has left.
    @Test(arguments: places) func whileNothingRuns(place: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("f?size=3M&etag=v1&cut=1M&cuts=1")
            #expect(
                try await home.run("get", "--retries", "0", url, "-o", home.file("f")).status == 1)
            #expect(try await home.run("set", "1", "-o", home.file(place)).status == 0)
            #expect(try await home.run("resume", "1", "--no-start").status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(server.log.all.map { $0["Range"] } == [nil, "bytes=1048576-"])
            try await isThere(place, home, server.expected(url))
        }
    }

    private func isThere(
        _ place: String, _ home: LonghaulHome, _ expected: Representation
    ) async throws {
        try expected.verify(file: home.file(place))
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["destination"].string == home.file(place))
        #expect(shown["restarts"] == 0)
        #expect(try home.scratch.names(in: "files").filter { $0 != "other" && $0 != "g" } == [])
    }
}
