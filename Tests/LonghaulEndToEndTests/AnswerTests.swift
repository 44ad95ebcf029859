import LonghaulTestSupport
import Testing

/// Answers that are no resume: errors, retries, bodies that lie about their length.
@Suite(.timeLimit(.minutes(3))) struct AnswerTests {
    struct Failing: CustomTestStringConvertible, Sendable {
        var knobs: String
        var code: String
        var requests = 1
        var arguments: [String] = []

        var testDescription: String { knobs }
    }

    static let failing: [Failing] = [
        Failing(knobs: "status=401", code: "unauthorized"),
        Failing(knobs: "status=403", code: "forbidden"),
        Failing(knobs: "status=404", code: "notFound"),
        Failing(knobs: "status=410", code: "notFound"),
        Failing(knobs: "status=418", code: "clientError"),
        Failing(
            knobs: "status=500", code: "serverError", requests: 2, arguments: ["--retries", "1"]),
        Failing(knobs: "short=9", code: "network", requests: 1, arguments: ["--retries", "0"]),
        Failing(knobs: "badchunk", code: "network", requests: 1, arguments: ["--retries", "0"]),
        Failing(knobs: "redirects=30", code: "clientError", requests: 21),
        Failing(knobs: "etag=v1", code: "tooLarge", arguments: ["--max-size", "10K"]),
        Failing(knobs: "nolength", code: "tooLarge", arguments: ["--max-size", "10K"]),
    ]

    /// Failed with its code, exit 1, and nothing is published.
    @Test(arguments: failing) func fails(_ row: Failing) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=2M&\(row.knobs)")
            let command = ["get", "--json", url, "-o", home.file("a.bin")] + row.arguments
            let result = try await home.start(command).wait()
            #expect(result.status == 1)
            let transfer = try #require(try result.rows.last)
            #expect(transfer["state"] == "failed")
            #expect(transfer["error"]["code"] == .string(row.code), "\(transfer["error"])")
            #expect(server.log.all.count == row.requests)
        }
        #expect(try !home.scratch.names(in: "files").contains("a.bin"))
    }

    static let retried = [
        "status=408&statuses=1", "status=425&statuses=1", "status=429&statuses=1&retryafter=1",
        "status=503&statuses=1&retryafterdate=1", "status=500&statuses=1", "drop&drops=1",
        "etag=v1&status=304&statuses=1", "etag=v1&empty206&cut=1K&cuts=1",
    ]

    @Test(arguments: retried) func retries(_ knobs: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=100K&\(knobs)")
            let result = try await home.run("get", "-q", url, "-o", home.file("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
            #expect(server.log.all.count >= 2)
        }
    }

    static let complete = [
        "size=0", "size=1", "size=2M", "size=2M&nolength", "size=2M&closelength", "size=100K&gzip",
        "size=100K&redirects=3", "size=100K&digest", "size=100K&interim=2", "size=5M&etag=a&digest",
    ]

    @Test(arguments: complete) func completes(_ knobs: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?\(knobs)")
            let result = try await home.run("get", "-q", url, "-o", home.file("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
        }
    }

    /// Never published: moved aside for its owner to look at.
    @Test func aWrongDigestIsKeptAside() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=100K&baddigest")
            let result = try await home.run("get", "--json", url, "-o", home.file("a.bin"))
            #expect(result.status == 1)
            #expect(try result.rows.last?["error"]["code"] == "checksumMismatch")
        }
        #expect(try home.scratch.names(in: "files") == ["a.bin.longhaul-bad"])
    }

    @Test(arguments: ["status=404", "status=503", "drop"])
    func aMirrorTakesOverAtOnce(_ knobs: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let (bad, good) = (
                server.url("a.bin?size=3M&\(knobs)"), server.url("b.bin?size=3M&etag=v1")
            )
            let result = try await home.run(
                "get", "-q", bad, "--mirror", good, "--retries", "0", "-o", home.file("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(good).verify(file: home.file("a.bin"))
            #expect(server.log.requests(for: good).count == 1)
        }
    }

    /// A link that has expired: the bytes are kept, and another URL goes on with them.
    @Test func anotherURLGoesOnFromTheBytes() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let old = server.url(
                "a.bin?size=3M&seed=4&etag=v1&cut=1M&cuts=1&status=403&statusafter=1")
            let first = try await home.run("get", "--json", old, "-o", home.file("a.bin"))
            #expect(first.status == 1)
            let failed = try #require(try first.rows.last)
            #expect(failed["error"]["code"] == "forbidden")
            #expect(failed["error"]["bytesKept"] == .int(1 << 20))
            let new = server.url("b.bin?size=3M&seed=4&etag=other")
            #expect(try await home.run("set", "1", "--url", new).status == 0)
            #expect(try await home.run("resume", "1").status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(new).verify(file: home.file("a.bin"))
            #expect(server.log.requests(for: new).map(\.status) == [206])
            #expect(server.log.requests(for: new).first?["Range"] == "bytes=983040-")
        }
    }
}
