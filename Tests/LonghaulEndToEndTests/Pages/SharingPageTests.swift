import LonghaulTestSupport
import Testing

/// `docs/sharing.md` begins with a story.
@Suite(.timeLimit(.minutes(60))) struct SharingPageTests {
    private static let page = ConsolePage(path: "docs/sharing.md")
    private static let heading = "Equal downloads share one fetch"

    private func check(
        _ printed: String, of command: String, location: SourceLocation = #_sourceLocation
    ) throws {
        try Self.page.check(printed, of: command, under: Self.heading, location: location)
    }

    @Test func isAsOnThePage() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let daemon = try home.start("daemon")
            let url = server.url("image.iso?size=1G&etag=v1&rate=1M")
            let asked = "longhaul enqueue https://example.org/image.iso -o"
            let first = try await home.run("enqueue", url, "-o", home.file("a.iso"))
            try check(first.output, of: "\(asked) /srv/a.iso")
            // In the middle of it.
            try await server.log.waitForCount(1)
            let second = try await home.run("enqueue", url, "-o", home.file("b.iso"))
            try check(
                second.output,
                of: "\(asked) /home/me/b.iso    # joins at once, also in the middle of it")
            try await eventually {
                try await sharedWith(home) == "[1]\n"
            }
            try check(
                try await sharedWith(home), of: "longhaul show --json 2 | jq -c .sharedWith")
            let cancelled = try await home.run("cancel", "1")
            try check(cancelled.output, of: "longhaul cancel 1    # 2 continues")
            let left = try #require(try await home.run("show", "--json", "2").rows.first)
            #expect(left["state"] == "running")
            daemon.send(15)
            try await daemon.wait()
        }
    }

    /// As `jq -c` has it.
    private func sharedWith(_ home: LonghaulHome) async throws -> String {
        let shown = try await home.run("show", "--json", "2").rows.first
        let ids = (0..<9).compactMap { shown?["sharedWith"][$0].int }
        return "[\(ids.map(String.init).joined(separator: ","))]\n"
    }
}
