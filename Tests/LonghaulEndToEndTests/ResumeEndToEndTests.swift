import LonghaulTestSupport
import Testing

/// What each answer to a resume means, by the built command: the first answer breaks off after 1
/// MiB of 3, and the row says how the server behaves from then on.
@Suite(.timeLimit(.minutes(3))) struct ResumeEndToEndTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var knobs: String
        /// Status of each answer, in order.
        var statuses: [Int]
        /// Range of the second request.
        var range: String?
        var ifRange: String?
        var restarts = 0
        /// Which request's version of the content is expected.
        var version = 1

        var testDescription: String { knobs }
    }

    static let size = 3 << 20
    static let cut = 1 << 20
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
    ]

    @Test(arguments: rows) func resumes(_ row: Row) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url(
                "a.bin?size=\(Self.size)&seed=4&cut=\(Self.cut)&cuts=1&\(row.knobs)")
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
            let types = transfer["events"].items.compactMap { $0["type"].string }
            let restarts = Array(repeating: "transferRestarted", count: row.restarts)
            #expect(types == restarts + ["transferCompleted"])
        }
        #expect(try home.scratch.names(in: "files") == ["a.bin"])
    }
}
