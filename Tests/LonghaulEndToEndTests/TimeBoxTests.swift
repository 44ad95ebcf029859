import LonghaulTestSupport
import Testing

/// `run --max-time` and downloads that nothing lets resume.
@Suite(.timeLimit(.minutes(60))) struct TimeBoxTests {
    /// 8 MiB in four seconds, without a length, a tag or a date.
    private static let stream = "a.bin?size=8M&seed=3&nolength&rate=2M"

    private func requests(_ server: LoopbackServer, _ url: String) -> Int {
        server.log.requests(for: url).count
    }

    /// It is cut off once, and then left to a longer box; what can be done is done meanwhile.
    @Test func itWaitsForALongerBox() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url(Self.stream)
            _ = try await home.run("enqueue", url, "-o", home.file("a.bin"))
            let first = try await home.run("run", "--max-time", "2s", "--json")
            #expect(try first.rows.first?["stoppedBy"] == "maxTime")
            #expect(requests(server, url) == 1)
            let shown = try await home.run("show", "1")
            #expect(shown.output.contains("Resumable"), "\(shown.output)")
            let why = try await home.run("why", "1")
            #expect(why.output.contains("in one go"), "\(why.output)")

            let small = server.url("b.bin?size=1K&etag=v1")
            _ = try await home.run("enqueue", small, "-o", home.file("b.bin"))
            let second = try await home.run("run", "--max-time", "2s", "--json")
            #expect(try second.rows.first?["completed"] == 1, "\(second)")
            #expect(requests(server, url) == 1)

            let long = try await home.run("run", "--max-time", "1m")
            #expect(long.status == 0, "\(long)")
            #expect(requests(server, url) == 2)
            try server.expected(url).verify(file: home.file("a.bin"))
        }
    }

    /// The box is exceeded for it, and for nothing else.
    @Test func itMayBeFinishedBeyondTheBox() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url(Self.stream)
            let other = server.url("b.bin?size=64M&etag=v1&rate=2M")
            _ = try await home.run("enqueue", url, "-o", home.file("a.bin"))
            _ = try await home.run("enqueue", other, "-o", home.file("b.bin"))
            let run = try await home.run(
                "run", "--max-time", "2s", "--unresumable", "finish", "--json")
            #expect(run.status == 0, "\(run)")
            #expect(try run.rows.first?["stoppedBy"] == "maxTime", "\(run)")
            #expect(try run.rows.first?["completed"] == 1, "\(run)")
            #expect(requests(server, url) == 1)
            try server.expected(url).verify(file: home.file("a.bin"))
            let left = try await home.run("show", "2", "--json").rows.first
            #expect(left?["state"] == "waiting")
            // Stopped at the end of the box, not with the other one.
            #expect(left?["bytesDone"].int ?? .max < 7 << 20, "\(String(describing: left))")
        }
    }

    // MARK: - Uploads

    private func upload(
        _ home: LonghaulHome, _ server: UploadServer, seconds: Int, _ way: String...
    ) async throws {
        try Representation(size: seconds * 4_000_000, seed: 1).write(to: home.file("source"))
        let sent = try await home.start(
            ["upload", "source", server.url("plain/a?rate=4000000")] + way
        ).wait()
        #expect(sent.status == 0, "\(sent)")
    }

    /// Each box would send it in vain.
    @Test(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
    func aPlainUploadWaitsForALongerBox() async throws {
        let (home, server) = (try LonghaulHome(), try await UploadServer.start())
        try await upload(home, server, seconds: 4, "--protocol", "put")
        for _ in 1...2 {
            let run = try await home.run("run", "--max-time", "2s", "--json")
            #expect(run.status == 0, "\(run)")
        }
        try await eventually("it was begun once") { try server.methods == ["PUT"] }
        let why = try await home.run("why", "1")
        #expect(why.output.contains("in one go"), "\(why.output)")
        let long = try await home.run("run", "--max-time", "1m")
        #expect(long.status == 0, "\(long)")
        #expect(try server.methods == ["PUT", "PUT"])
        #expect(server.has("a"))
    }

    @Test(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
    func aPlainUploadMayBeFinishedBeyondTheBox() async throws {
        let (home, server) = (try LonghaulHome(), try await UploadServer.start())
        try await upload(home, server, seconds: 2, "--protocol", "put")
        let run = try await home.run(
            "run", "--max-time", "1s", "--unresumable", "finish", "--json")
        #expect(try run.rows.first?["completed"] == 1, "\(run)")
        #expect(try server.methods == ["PUT"])
    }

    /// What may be sent only once is lost when it is stopped.
    @Test(
        .enabled(if: UploadServer.isInstalled, "skipped: no python3"),
        arguments: [["--protocol", "post"], ["--form", "file"]])
    func aRunningPostIsNotStopped(_ way: [String]) async throws {
        let (home, server) = (try LonghaulHome(), try await UploadServer.start())
        try await upload(home, server, seconds: 2, way[0], way[1])
        let run = try await home.run("run", "--max-time", "1s", "--json")
        #expect(try run.rows.first?["completed"] == 1, "\(run)")
        #expect(try server.methods == ["POST"])
    }
}
