import Foundation
import LonghaulTestSupport
import Testing

/// One URL, several servers behind it: each names the file by a tag of its own, and the line cuts
/// each answer at 40 %.
@Suite struct RedirectorTests {
    private static let size = 2 << 20
    private static let cut = "cut=\(size * 2 / 5)"

    private func redirector(_ server: LoopbackServer, to targets: [String]) -> String {
        let query = targets.map { target in
            "redirect="
                + (target.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
        }
        return server.url("f?" + query.joined(separator: "&"))
    }

    private func get(
        _ url: String, _ home: LonghaulHome, _ more: String...
    ) async throws -> JSONValue {
        let result = try await home.start(
            ["get", "-q", url, "-o", home.file("f"), "--connections", "1"] + more
        ).wait()
        #expect(result.status == 0, "\(result.errors)")
        return try #require(try await home.run("show", "1", "--json").rows.first)
    }

    /// Each request is sent to the next mirror.
    @Test func anotherMirrorEachTimeCostsNothing() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { m in
            try await LoopbackServer.run { n in
                try await LoopbackServer.run { server in
                    let file = "f?size=\(Self.size)&\(Self.cut)"
                    let all = [
                        m.url("\(file)&etag=m"), n.url("\(file)&etag=n&lastmod=1700000000"),
                        m.url("\(file)&lastmod=1600000000"),
                    ]
                    let shown = try await get(redirector(server, to: all), home)
                    #expect(shown["restarts"] == 0, "\(shown)")
                    let fetched = shown["bytesFetched"].int ?? 0
                    #expect(fetched < Self.size + 4 * 65536, "\(shown)")
                    try m.expected(file).verify(file: home.file("f"))
                }
            }
        }
    }

    /// What it has is as long, and is not mixed with the rest.
    @Test func aMirrorWithAnotherFileIsFoundOut() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { m in
            try await LoopbackServer.run { n in
                try await LoopbackServer.run { server in
                    let first = m.url("f?size=\(Self.size)&etag=v1&\(Self.cut)&cuts=1")
                    let other = n.url("f?size=\(Self.size)&seed=9&etag=v1")
                    let shown = try await get(redirector(server, to: [first, other, other]), home)
                    #expect(shown["restarts"] == 1, "\(shown)")
                    let file = try Data(contentsOf: URL(fileURLWithPath: home.file("f")))
                    let whole = try [m.expected(first).bytes, n.expected(other).bytes]
                    #expect(whole.contains([UInt8](file)))
                }
            }
        }
    }

    /// Two servers behind one name, with tags of their own: after two restarts the same date and
    /// length count, and with a digest at once.
    @Test(arguments: [false, true]) func serversWithTagsOfTheirOwn(hasDigest: Bool) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url(
                "f?size=\(Self.size)&etag=v1&lastmod=1700000000&othertags&\(Self.cut)")
            let file = try server.expected(url)
            let digest = ["--checksum", "sha256:\(file.sha256)"]
            let result = try await home.start(
                ["get", "-q", url, "-o", home.file("f"), "--connections", "1"]
                    + (hasDigest ? digest : [])
            ).wait()
            #expect(result.status == 0, "\(result.errors)")
            let shown = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(shown["restarts"].int == (hasDigest ? 0 : 2), "\(shown)")
            try file.verify(file: home.file("f"))
        }
    }
}
