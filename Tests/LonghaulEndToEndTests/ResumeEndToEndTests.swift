import LonghaulTestSupport
import Testing

/// What each answer to a resume means, by the built command: the first answer breaks off, and the
/// row says how the server behaves from then on.
@Suite(.serialized, .timeLimit(.minutes(60))) struct ResumeEndToEndTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var knobs: String
        /// What the first answer is; `knobs` come on top.
        var first = ResumeEndToEndTests.cutAtOne
        /// Status of each answer, in order.
        var statuses: [Int]
        /// Range of the second request.
        var range: String?
        var ifRange: String?
        var restarts = 0
        /// Which request's version of the content is expected.
        var version = 1

        var testDescription: String { "\(first) \(knobs)" }
    }

    /// 3 MiB, broken off after the first.
    static let cutAtOne = "size=3M&cut=1M&cuts=1"
    /// All of 1 MiB, but not the end of its framing: that it is all, only the next answer can tell.
    static let unended = "size=1M&nolength&cut=1M&cuts=1"
    /// 64 KiB before the cut.
    static let early = "bytes=983040-"
    static let exact = "bytes=1048576-"

    static let rows: [Row] = [
        Row(knobs: "etag=v1", statuses: [200, 206], range: exact, ifRange: "\"v1\""),
        Row(
            knobs: "lastmod=1700000000", statuses: [200, 206], range: exact,
            ifRange: "Tue, 14 Nov 2023 22:13:20 GMT"),
        Row(knobs: "weak=v1", statuses: [200, 206], range: early),
        Row(knobs: "", statuses: [200, 206], range: early),
        Row(
            knobs: "etag=v1&wrongstart=7", statuses: [200, 206, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1),
        Row(
            knobs: "etag=v1&wrongstart=-8192", statuses: [200, 206], range: exact,
            ifRange: "\"v1\""),
        Row(knobs: "wrongstart=-8192", statuses: [200, 206], range: early),
        Row(
            knobs: "etag=v1&wrongtotal=7", statuses: [200, 206, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1),
        Row(
            knobs: "etag=v1&wrongunit", statuses: [200, 206, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1),
        Row(
            knobs: "etag=v1&norangeheader", statuses: [200, 206, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1),
        Row(
            knobs: "etag=v1&multipart", statuses: [200, 206, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1),
        Row(
            knobs: "etag=v1&changedetag", statuses: [200, 206, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1),
        Row(
            knobs: "etag=v1&ignorerange", statuses: [200, 200], range: exact, ifRange: "\"v1\""),
        Row(
            knobs: "etag=v1&ifrangefull", statuses: [200, 200], range: exact, ifRange: "\"v1\""),
        Row(
            knobs: "etag=v1&changeafter=1", statuses: [200, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1, version: 2),
        Row(
            knobs: "etag=v1&changeafter=1&noifrange", statuses: [200, 206, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1, version: 3),
        Row(
            knobs: "weak=v1&changeafter=1", statuses: [200, 206, 200], range: early,
            restarts: 1, version: 3),
        Row(
            knobs: "changeafter=1", statuses: [200, 206, 200], range: early, restarts: 1, version: 3
        ),
        Row(
            knobs: "etag=v1&wrongend=5", statuses: [200, 206, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1),
        Row(
            knobs: "etag=v1&unknowntotal", statuses: [200, 206], range: exact,
            ifRange: "\"v1\""),
        // As much of the range as the server likes (RFC 9110 §14.2): the rest is asked for.
        Row(
            knobs: "etag=v1&maxrange=1M", statuses: [200, 206, 206], range: exact,
            ifRange: "\"v1\""),
        Row(
            knobs: "lastmod=1700000000&ignorerange", statuses: [200, 200], range: exact,
            ifRange: "Tue, 14 Nov 2023 22:13:20 GMT"),
        Row(
            knobs: "ignorerange&changeafter=1", statuses: [200, 200], range: early, restarts: 1,
            version: 2),
        Row(
            knobs: "etag=v1&long=9", statuses: [200, 206], range: exact, ifRange: "\"v1\""),
        // Scripts that send the range and forget to say so.
        Row(
            knobs: "etag=v1&contentrange200", statuses: [200, 200], range: exact,
            ifRange: "\"v1\""),
        Row(knobs: "contentrange200", statuses: [200, 200], range: early),
        Row(
            knobs: "etag=v1&contentrange200&wrongstart=7", statuses: [200, 200, 200],
            range: exact, ifRange: "\"v1\"", restarts: 1),
        Row(
            knobs: "etag=v1&contentrange200&changeafter=1&noifrange", statuses: [200, 200, 200],
            range: exact, ifRange: "\"v1\"", restarts: 1, version: 3),
        // A network whose login has run out.
        Row(
            knobs: "etag=v1&pageat=2", statuses: [200, 200, 206], range: exact,
            ifRange: "\"v1\""),
        // An error in a few words, or none.
        Row(
            knobs: "etag=v1&wordsat=2&words={\"error\":1}", statuses: [200, 200, 206], range: exact,
            ifRange: "\"v1\""),
        Row(knobs: "wordsat=2", statuses: [200, 200, 206], range: early),
        Row(
            knobs: "etag=v1&wordsat=2&wordtimes=2&words=later",
            first: "size=3M&nolength&cut=1M&cuts=1",
            statuses: [200, 200, 200, 206], range: exact, ifRange: "\"v1\""),
        Row(
            knobs: "etag=v1&closedranges", statuses: [200, 416, 206], range: exact,
            ifRange: "\"v1\""),
        Row(knobs: "rangestatus=503", statuses: [200, 503, 503, 503, 200], range: early),
    ]

    /// Each answer is broken off after a MiB, and the server speaks a dialect.
    @Test(
        arguments: [
            "etag=v1&newnames&lastmod=1700000000", "newnames&lastmod=1700000000",
            "etag=v1&contentrange={start}-{end}/{total}", "etag=v1&always206",
            "etag=v1&contentrange=bytes+{start}-/{total}", "etag=v1&wrongtotal=7",
            "etag=v1&closedranges", "etag=v1&norangeheader",
        ])
    func aDialectInPieces(_ knobs: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=4M&seed=4&cut=1M&\(knobs)")
            let result = try await home.run("get", "-q", url, "-o", home.file("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
        }
    }

    /// 416: complete only by the right total under the same validator.
    static let unsatisfied: [Row] = [
        Row(
            knobs: "etag=v1", first: unended, statuses: [200, 416], range: exact,
            ifRange: "\"v1\""),
        Row(
            knobs: "etag=v1&no416range", first: unended, statuses: [200, 416, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1),
        Row(
            knobs: "etag=v1&bad416=7", first: unended, statuses: [200, 416, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1),
        Row(
            knobs: "etag=v1&noifrange&changeafter=1", first: unended, statuses: [200, 416, 200],
            range: exact, ifRange: "\"v1\"", restarts: 1, version: 3),
        // Another file, and shorter than what is held.
        Row(
            knobs: "etag=v1&noifrange&changeafter=1&changesize=512K", statuses: [200, 416, 200],
            range: exact, ifRange: "\"v1\"", restarts: 1, version: 3),
        // Once, and for nothing: the range can be satisfied.
        Row(
            knobs: "etag=v1&status=416&statusafter=1&statuses=1", statuses: [200, 416, 206],
            range: exact, ifRange: "\"v1\""),
    ]

    /// Answers that bring nothing: again, then once from zero.
    static let empty: [Row] = [
        Row(
            knobs: "etag=v1&304&statusafter=1&statuses=1", statuses: [200, 304, 206],
            range: exact, ifRange: "\"v1\""),
        Row(
            knobs: "etag=v1&304&statusafter=1&statuses=2", statuses: [200, 304, 304, 200],
            range: exact, ifRange: "\"v1\""),
        Row(
            knobs: "etag=v1&status=204&statusafter=1&statuses=2", statuses: [200, 204, 204, 200],
            range: exact, ifRange: "\"v1\""),
        Row(
            knobs: "etag=v1&rangestatus=500", statuses: [200, 500, 500, 200], range: exact,
            ifRange: "\"v1\""),
        Row(
            knobs: "rangestatus=502", statuses: [200, 502, 502, 200], range: early),
        Row(
            knobs: "etag=v1&rangestatus=403", statuses: [200, 403, 200], range: exact,
            ifRange: "\"v1\""),
        Row(
            knobs: "etag=v1&rangestatus=400", statuses: [200, 400, 200], range: exact,
            ifRange: "\"v1\""),
        Row(
            knobs: "etag=v1&empty206", statuses: [200, 206, 200], range: exact,
            ifRange: "\"v1\"", restarts: 1),
    ]

    @Test(arguments: rows + unsatisfied + empty) func resumes(_ row: Row) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url(
                "a.bin?seed=4&\(row.first)&\(row.knobs)")
            let result = try await home.run("get", "--json", url, "-o", home.file("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url, request: row.version).verify(file: home.file("a.bin"))

            let requests = server.log.requests(for: url)
            #expect(requests.map(\.status) == row.statuses)
            let second = try #require(requests.dropFirst().first)
            #expect(second["Range"] == row.range)
            #expect(second["If-Range"] == row.ifRange)
            #expect(requests.allSatisfy { $0["Accept-Encoding"] == "identity" })

            let shown = try await home.run("show", "--json", "1")
            let transfer = try #require(try shown.rows.first)
            #expect(transfer["restarts"] == .int(row.restarts))
            let expected = try server.expected(url, request: row.version)
            #expect(transfer["bytesDone"].int == expected.size)
            #expect(transfer["bytesFetched"].int ?? 0 >= expected.size)
            let types = transfer["events"].items.compactMap { $0["type"].string }
            let restarts = Array(repeating: "transferRestarted", count: row.restarts)
            #expect(types == restarts + ["transferCompleted"])
        }
        #expect(try home.scratch.names(in: "files") == ["a.bin"])
    }

    /// That nobody tells the length is no way around `--max-size` when the rest comes.
    @Test(arguments: ["ignorerange", "unknowntotal"])
    func theLargestSizeHoldsForTheRest(_ knob: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("f.bin?size=4M&nolength&etag=v1&\(knob)&cut=100K&cuts=1")
            let get = try await home.run(
                "get", "--json", url, "-o", home.file("f"), "--max-size", "1M")
            #expect(get.status == 1, "\(get)")
            let transfer = try #require(try get.rows.last)
            #expect(transfer["error"]["code"] == "tooLarge", "\(transfer)")
            #expect(try #require(transfer["bytesDone"].int) <= 1 << 20)
        }
    }
}
