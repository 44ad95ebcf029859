import Foundation
import LonghaulTestSupport
import Testing

/// Answers that are no resume: errors, retries, bodies that lie about their length.
@Suite(.serialized, .timeLimit(.minutes(60))) struct AnswerTests {
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
        Failing(knobs: "redirect=gopher%3A%2F%2Fh%2Ff", code: "unsupported"),
        // Longer than the total that it gives elsewhere: never complete, and never a loop.
        Failing(
            knobs: "etag=v1&nolength&long=9", code: "network", requests: 3,
            arguments: ["--retries", "1"]),
        Failing(
            knobs: "etag=v1&cut=1M&cuts=1&304&statusafter=1", code: "serverError", requests: 4,
            arguments: ["--retries", "2"]),
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

    /// An answer that is no error says that no request is left: the next file waits.
    @Test func aRateLimitThatIsUsedUpHoldsTheNextTransfer() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let limit = "header=RateLimit%3A%20%22a%22%3Br%3D0%3Bt%3D15"
            let urls = ["a", "b"].map { server.url("\($0).bin?size=10K&\(limit)") }
            #expect(try await home.run("enqueue", urls[0], "-o", home.file("a")).status == 0)
            #expect(try await home.run("run", "--max-time", "5s").status == 0)
            let first = ContinuousClock.now
            #expect(try await home.run("enqueue", urls[1], "-o", home.file("b")).status == 0)
            let why = try await home.run("why", "2", "--json").rows.first?["waitingFor"]
            let wait = why?.items.first { $0["reason"] == "originCooldown" }
            #expect(wait?["current"] == "its rate limit (RateLimit)")
            #expect(try await home.run("run").status == 0)
            #expect(ContinuousClock.now - first > .seconds(3))
            #expect(server.log.all.count == 2)
        }
        #expect(try home.scratch.names(in: "files").sorted() == ["a", "b"])
    }

    /// A day's pause, by a server that means milliseconds: whoever will not wait need not.
    @Test(arguments: [
        ("now", "status=429&statuses=1&retryafter=900000"),
        ("resume", "status=403&statuses=1&retryafter=900000"),
        ("retry", "status=503&statuses=1&retryafterdate=80000"),
        ("get", "status=503&statuses=1&retryafter=7200"),
    ])
    func aPauseThatWasAskedForEndsByHand(verb: String, knobs: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let urls = ["a", "b"].map { server.url("\($0).bin?size=10K&\(knobs)") }
            #expect(try await home.run("enqueue", urls[0], "-o", home.file("a")).status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(
                try await home.run("enqueue", "--no-start", urls[1], "-o", home.file("b")).status
                    == 0)
            let why = try await home.run("why", "2", "--json").rows.first?["waitingFor"].items
            #expect(why?.contains { $0["reason"] == "originCooldown" } == true)
            let hint = try await home.run("why", "1").output
            #expect(hint.contains("`longhaul now 1` runs it now"))
            if verb == "get" {
                #expect(try await home.run("get", urls[0], "-o", home.file("a")).status == 0)
            } else {
                #expect(try await home.run(verb, "1", "--no-start").status == 0)
                #expect(try await home.run("run").status == 0)
            }
            #expect(try home.scratch.names(in: "files").contains("a"))
        }
    }

    /// One connection stops in the middle of its part, and all else is there: the rest is not
    /// waited for until the stall timeout, and nothing that has come is fetched again.
    @Test func aConnectionThatFallsSilentDoesNotHoldUpTheRest() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=20M&seed=5&etag=v1&stall=9M&stalls=1")
            let result = try await home.start([
                "get", "--json", url, "-o", home.file("a.bin"), "--connections", "2",
                "--stall-timeout", "150s", "--retries", "0",
            ]).wait()
            #expect(result.status == 0, "\(result)")
            let transfer = try #require(try result.rows.last)
            let fetched = try #require(transfer["bytesFetched"].int)
            // What the loser had received and not written yet, at most.
            #expect(fetched <= 20 << 20 + 1 << 20)
            #expect(server.log.all.count <= 5)
        }
        let bytes = try Data(contentsOf: URL(filePath: home.file("a.bin")))
        #expect(bytes == Data(ByteOracle(seed: 5).bytes(0..<(20 << 20))))
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
        "size=100K&redirects=3", "size=100K&digest", "size=5M&etag=a&contentdigest&cut=1M&cuts=1",
        "size=100K&interim=2", "size=5M&etag=a&digest",
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
            let error = try #require(try result.rows.last?["error"])
            #expect(error["code"] == "checksumMismatch")
            let says = "it is kept as \(home.file("a.bin.longhaul-bad"));"
            #expect(error["message"].string?.contains(says) == true, "\(error)")
        }
        #expect(try home.scratch.names(in: "files") == ["a.bin.longhaul-bad"])
    }

    /// What proves who asks is for the server that was named, whatever it is called.
    @Test func anotherServersMirrorGetsNoSecrets() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { other in
            try await LoopbackServer.run { server in
                let fields = ["Authorization: a", "Cookie: b=c", "X-Api-Key: d", "Accept: text/e"]
                let command = [
                    "get", "-q", server.url("a.bin?size=100K&status=503"), "--mirror",
                    server.url("b.bin?size=100K&status=503"), "--mirror",
                    other.url("c.bin?size=100K"), "--retries", "0", "-o", home.file("a.bin"),
                ]
                let result = try await home.start(
                    command + fields.flatMap { ["--header", $0] }
                ).wait()
                #expect(result.status == 0, "\(result.errors)")
                #expect(server.log.all.map { $0["X-Api-Key"] } == ["d", "d"])
                let sent = try #require(other.log.all.first)
                #expect(sent["Accept"] == "text/e")
                for name in ["Authorization", "Cookie", "X-Api-Key"] { #expect(sent[name] == nil) }
            }
        }
    }

    /// The limit is the transfer's, and one connection has all of it while it is the only one.
    @Test func aLimitIsNotDividedByConnectionsThatAreNotThere() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=4M&noranges&ignorerange")
            let begun = ContinuousClock.now
            let result = try await home.start([
                "get", "-q", url, "--limit-rate", "1M", "--connections", "4",
                "-o", home.file("a.bin"),
            ]).wait()
            #expect(result.status == 0, "\(result.errors)")
            // Divided by four it would take sixteen.
            #expect(ContinuousClock.now - begun < .seconds(12))
            #expect(ContinuousClock.now - begun > .seconds(3.4))
        }
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

    /// Bytes gained start the count of retries anew.
    @Test func gainedBytesResetTheCount() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=3M&etag=v1&cut=500K&cuts=4")
            let result = try await home.run(
                "get", "-q", url, "-o", home.file("a.bin"), "--retries", "1")
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
            #expect(server.log.bodyBytesSent() == 3 << 20)
        }
    }

    /// In both forms, as a minimum.
    @Test(arguments: ["status=429&retryafter=2", "status=503&retryafterdate=3"])
    func retryAfterIsObeyed(_ knobs: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=10K&statuses=1&\(knobs)")
            let result = try await home.run("get", "-q", url, "-o", home.file("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            let requests = server.log.all
            let (first, second) = (try #require(requests.first), try #require(requests.last))
            // A date has whole seconds.
            #expect(first.startedAt.duration(to: second.startedAt) >= .milliseconds(1_900))
            #expect(requests.map(\.status).last == 200 && requests.count == 2)
        }
    }

    /// An origin that fails again and again rests, for all its transfers.
    @Test func aFailingOriginRests() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            for number in 1...3 {
                let url = server.url("f\(number).bin?status=503&retryafter=60")
                _ = try await home.run("enqueue", url)
            }
            #expect(try await home.run("run", "--max-time", "1s").status == 0)
            _ = try await home.run("enqueue", server.url("g.bin?size=1K"))
            let without = try #require(try await home.run("why", "4", "--json").rows.first)
            let reasons = without["waitingFor"].items.compactMap { $0["reason"].string }
            #expect(reasons == ["engine", "originCooldown"])
            let engine = try home.start("daemon")
            try await eventually("an engine runs") {
                try await home.run("status", "--json").rows.first?["engine"]["pid"].int != nil
            }
            let why = try #require(try await home.run("why", "4", "--json").rows.first)
            #expect(why["waitingFor"].items.first?["reason"] == "originCooldown", "\(why)")
            #expect(server.log.requests(for: "g.bin").isEmpty)
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    /// A back-off of minutes, and a server that several have failed at: who says `retry` or
    /// `resume` need not wait for that, nor for a pause that the server has asked for.
    @Test(
        .enabled(if: InstalledProgram.find("python3") != nil, "skipped: there is no python3"),
        arguments: ["retry", "resume"], [false, true])
    func whoWillNotWait(command: String, hasAskedForPause: Bool) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=10K")
            #expect(try await home.run("enqueue", "--no-start", url).status == 0)
            let now = Int(Date().timeIntervalSince1970 * 1000)
            let end = now + 500_000
            let wait =
                "[{\"reason\":\"backoff\",\"since\":{\"milliseconds\":\(now)},"
                + "\"nextCheck\":{\"milliseconds\":\(end)}}]"
            for change in [
                "UPDATE transfer SET readyAt = \(end), waitReason = '\(wait)'",
                "UPDATE origin SET failures = 9, coolDownSince = \(now), coolDownUntil = \(end)",
                hasAskedForPause ? "UPDATE origin SET pauseUntil = \(end)" : nil,
            ].compactMap({ $0 }) { _ = try await home.stored(change, writing: true) }
            #expect(try await home.run("run").status == 0)
            #expect(server.log.count == 0)
            #expect(try await home.run(command, "1", "--no-start").status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(server.log.count == 1)
            let shown = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(shown["state"] == "completed")
        }
    }

    /// Half of it came from a server that then failed for good: the mirror goes on from there.
    @Test func aMirrorGoesOnFromTheBytes() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let bad = server.url(
                "a.bin?size=3M&seed=4&etag=a&cut=1M&cuts=1&status=404&statusafter=1")
            let good = server.url("b.bin?size=3M&seed=4&etag=b")
            let result = try await home.run(
                "get", "-q", bad, "--mirror", good, "-o", home.file("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(good).verify(file: home.file("a.bin"))
            let requests = server.log.requests(for: good)
            #expect(requests.map(\.status) == [206])
            #expect(requests.first?["Range"] == "bytes=983040-")
            // Another server's tag says nothing here.
            #expect(requests.first?["If-Range"] == nil)
        }
    }

    /// It was asked when the first server failed for a moment, and has another file: what is held
    /// is that of the first one, which goes on with it.
    @Test(arguments: [
        "size=2M", "size=3M&seed=5", "size=3M&seed=5&ignorerange", "size=1K&noranges",
    ])
    func noMirrorCostsTheBytes(_ knobs: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let own = server.url("a.bin?size=3M&seed=4&etag=a&cut=1M&cuts=1")
            let result = try await home.run(
                "get", "-q", own, "--mirror", server.url("b.bin?\(knobs)"), "-o",
                home.file("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(own).verify(file: home.file("a.bin"))
            let requests = server.log.requests(for: own)
            #expect(requests.map(\.status) == [200, 206])
            #expect(requests.last?["Range"] == "bytes=1048576-")
            let shown = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(shown["restarts"] == 0, "\(shown)")
        }
    }

    /// Nobody can read the file as what its name says: that is said.
    @Test func aContentCodingIsSaid() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=100K&gzip")
            let result = try await home.run("get", "-q", url, "-o", home.file("a.bin"))
            #expect(result.status == 0 && result.errors.contains("content coding gzip"))
            let shown = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(shown["contentCoding"] == "gzip", "\(shown)")
            #expect(try await home.run("show", "1").output.contains("Content coding"))
        }
    }

    struct Refusal: CustomTestStringConvertible, Sendable {
        var status: Int
        var code: String
        /// Of the new URL; default: the same bytes.
        var knobs = "size=3M&seed=4&etag=other"
        var statuses = [206]
        var restarts = 0

        var testDescription: String { "\(status) \(knobs)" }
    }

    static let refusals = [
        Refusal(status: 401, code: "unauthorized"), Refusal(status: 403, code: "forbidden"),
        Refusal(status: 404, code: "notFound"), Refusal(status: 410, code: "notFound"),
        // Other bytes there, or another length: nothing is spliced.
        Refusal(
            status: 403, code: "forbidden", knobs: "size=3M&seed=5&etag=other",
            statuses: [206, 200], restarts: 1),
        Refusal(
            status: 403, code: "forbidden", knobs: "size=4M&seed=4&etag=other",
            statuses: [206, 200], restarts: 1),
    ]

    /// A link that has expired: the bytes are kept, and another URL goes on with them.
    @Test(arguments: refusals) func anotherURLGoesOnFromTheBytes(_ row: Refusal) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let old = server.url(
                "a.bin?size=3M&seed=4&etag=v1&cut=1M&cuts=1&status=\(row.status)&statusafter=1")
            let first = try await home.run("get", "--json", old, "-o", home.file("a.bin"))
            #expect(first.status == 1)
            let failed = try #require(try first.rows.last)
            #expect(failed["error"]["code"] == .string(row.code))
            #expect(failed["error"]["bytesKept"] == .int(1 << 20))
            let new = server.url("b.bin?\(row.knobs)")
            #expect(try await home.run("set", "1", "--url", new).status == 0)
            #expect(try await home.run("resume", "1").status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(new).verify(file: home.file("a.bin"))
            #expect(server.log.requests(for: new).map(\.status) == row.statuses)
            #expect(server.log.requests(for: new).first?["Range"] == "bytes=983040-")
            let shown = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(shown["restarts"] == .int(row.restarts))
        }
    }

    /// The same link works again with the right credentials.
    @Test func credentialsGoOnFromTheBytes() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=3M&seed=4&etag=v1&auth=me%3Anew&cut=1M&cuts=1")
            let first = try await home.run(
                "get", "--json", url, "-o", home.file("a.bin"), "--user", "me:new", "--retries",
                "0")
            #expect(try first.rows.last?["error"]["bytesKept"] == .int(1 << 20))
            #expect(try await home.run("set", "1", "--user", "me:old").status == 0)
            let again = try await home.run("retry", "1")
            #expect(again.status == 0)
            #expect(try await home.run("run").status == 1)
            let refused = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(refused["error"]["code"] == "unauthorized")
            #expect(refused["error"]["bytesKept"] == .int(1 << 20))
            #expect(try await home.run("set", "1", "--user", "me:new").status == 0)
            #expect(try await home.run("resume", "1").status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: home.file("a.bin"))
            #expect(server.log.requests(for: url).map(\.status) == [200, 401, 206])
        }
    }
}
