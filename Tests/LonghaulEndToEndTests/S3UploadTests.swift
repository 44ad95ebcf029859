import Foundation
import LonghaulTestSupport
import Testing

/// `longhaul upload --protocol s3` against a server that misbehaves: the object is right in the
/// end, and nothing is left open.
@Suite(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct S3UploadTests {
    private static let partSize = 5 << 20
    /// Five parts, the last of them short; up to a MiB, libcurl may send one again by itself.
    private static let content = Representation(size: 4 * partSize + 1_700_000, seed: 5)

    private struct Site {
        let server: UploadServer
        let home: LonghaulHome

        init() async throws {
            server = try await UploadServer.start(.s3)
            home = try LonghaulHome()
            try content.write(to: home.file("source"))
        }

        /// The arguments of an upload to this bucket.
        func upload(to bucket: String, _ more: String...) -> [String] {
            [
                "upload", "--protocol", "s3", "--user", "key:secret", "--part-size", "5M", "source",
                server.url("\(bucket)/a"),
            ] + more
        }

        func wait(for bucket: String) async throws {
            let result = try await home.start(upload(to: bucket, "--wait", "-q")).wait()
            #expect(result.status == 0, "\(result.errors)")
            try isWhole()
        }

        func isWhole() throws {
            try content.verify(file: server.file("a"))
            #expect(try server.leftOpen.isEmpty)
        }

        /// For messages.
        var seen: String { (try? "\(server.log)") ?? "no log" }

        /// Requests with parts, in the order in which they ended.
        var parts: [JSONValue] {
            get throws { try server.log.filter { $0["part"].int ?? 0 > 0 } }
        }

        /// Which parts were taken, sorted.
        var taken: [Int] {
            get throws {
                try parts.filter { $0["bytes"].int ?? 0 > 0 }.compactMap { $0["part"].int }.sorted()
            }
        }

        var shown: JSONValue {
            get async throws {
                try #require(try await home.run("show", "1", "--json").rows.first)
            }
        }
    }

    @Test func partsGoBesideEachOther() async throws {
        let site = try await Site()
        // The server answers none before four have come.
        try await site.wait(for: "hold-4")
        #expect(try site.taken == [1, 2, 3, 4, 5])
        let most = try site.parts.compactMap { $0["beside"].int }.max()
        #expect(most == 3)
        let shown = try await site.shown
        #expect(shown["bytesDone"].int == Self.content.size)
        // With the list of the parts.
        let sent = try #require(shown["bytesFetched"].int)
        #expect((Self.content.size...Self.content.size + 2000).contains(sent))
    }

    @Test func aLimitedUploadSendsOneAtATime() async throws {
        let site = try await Site()
        let result = try await site.home.start(
            site.upload(to: "b", "--wait", "-q", "--limit-rate", "200M")
        ).wait()
        #expect(result.status == 0, "\(result.errors)")
        try site.isWhole()
        #expect(try site.parts.allSatisfy { $0["beside"] == 0 })
    }

    @Test func aRefusedPartDisturbsNoOther() async throws {
        let site = try await Site()
        try await site.wait(for: "hold-3.refuse-2")
        #expect(try site.taken == [1, 2, 3, 4, 5])
        #expect(try site.parts.count { $0["status"] == 503 } == 1)
        #expect(try await site.shown["restarts"].int ?? 0 == 0)
    }

    @Test func aPartThatIsAlwaysRefusedFailsTheUpload() async throws {
        let site = try await Site()
        let result = try await site.home.start(
            site.upload(to: "fail-2", "--wait", "-q", "--retries", "0")
        ).wait()
        #expect(result.status == 1, "\(result.errors)")
        let shown = try await site.shown
        #expect(shown["state"] == "failed")
        // No part is sent for nothing.
        #expect(try Set(site.taken).count == site.taken.count)
    }

    // MARK: - What is asked and answered

    /// Creation, part, list and completion.
    @Test(arguments: ["timeout-1", "timeout-2", "lost-2.timeout-3", "timeout-4"])
    func aSlowRequestIsMadeAgain(_ bucket: String) async throws {
        let site = try await Site()
        try await site.wait(for: bucket)
        #expect(try site.server.log.contains { $0["status"] == 400 })
        #expect(try await site.shown["restarts"] == 0)
    }

    @Test func theObjectIsDescribedOnce() async throws {
        let site = try await Site()
        let fields = [
            "x-amz-acl: private", "x-amz-server-side-encryption: AES256", "x-amz-meta-a: b",
            "x-amz-storage-class: STANDARD_IA", "x-amz-tagging: a=b",
        ]
        let customer = "x-amz-server-side-encryption-customer-algorithm: AES256"
        let words =
            site.upload(to: "lost-2", "--wait", "-q")
            + (fields + [customer]).flatMap { ["--header", $0] }
        let result = try await site.home.start(words).wait()
        #expect(result.status == 0, "\(result.errors)")
        try site.isWhole()
        func carriers(_ field: String) throws -> [JSONValue] {
            let name = field.prefix { $0 != ":" }
            return try site.server.log.filter { $0["headers"][String(name)].string != nil }
        }
        for field in fields {
            #expect(try carriers(field).map { $0["query"] } == ["uploads="], "\(field)")
        }
        #expect(try carriers(customer).count == site.server.log.count)
        // An object that goes whole has all.
        try site.home.scratch.write("small", to: "files/source")
        let small = try await site.home.start(words.map { $0 == "5M" ? "6M" : $0 }).wait()
        #expect(small.status == 0, "\(small.errors)")
        for field in fields { #expect(try carriers(field).count == 2) }
    }

    @Test(
        arguments: [
            ("deny-9", "AccessDenied: Policy [2J of the bucket, ask its owner; check the URL"),
            ("region-3", "the bucket is in the region eu-west-3 (301), saying: PermanentRedirect"),
        ])
    func theServersWordsAreShown(_ bucket: String, _ words: String) async throws {
        let site = try await Site()
        let result = try await site.home.start(site.upload(to: bucket, "--wait", "-q")).wait()
        #expect(result.status == 1)
        #expect(result.errors.contains(words), "\(result.errors)")
        #expect(try await site.shown["error"]["message"].string?.contains(words) == true)
        let text = try await site.home.run("show", "1").output
        #expect(text.contains(words) && !text.contains("\u{1B}"), "\(text)")
    }

    @Test(arguments: ["retry", "resume"])
    func refusedKeysGiveWayToOthers(_ command: String) async throws {
        let site = try await Site()
        var words = site.upload(to: "b", "--wait", "-q")
        words[4] = "key:wrong"
        #expect(try await site.home.start(words).wait().status == 1)
        // Without any in the environment they stay.
        _ = try await site.home.run(command, "1", "--no-start")
        _ = try await site.home.run("run")
        #expect(try await site.shown["error"]["code"] == "forbidden")
        let keys = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"]
        let again = try await site.home.with(keys).run(command, "1", "--no-start")
        #expect(again.status == 0, "\(again.errors)")
        _ = try await site.home.start("run").wait()
        try site.isWhole()
    }

    /// The right ones in the environment of `set --url` stay, whatever the default profile has.
    @Test func keysOfAChangeStay() async throws {
        let site = try await Site()
        var words = site.upload(to: "b", "--wait", "-q")
        words[4] = "key:wrong"
        #expect(try await site.home.start(words).wait().status == 1)
        _ = try site.home.scratch.directory(".aws")
        try site.home.scratch.write(
            "[default]\naws_access_key_id=key\naws_secret_access_key=old\n",
            to: ".aws/credentials")
        let keys = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"]
        let url = site.server.url("b/a")
        let change = try await site.home.with(keys).run("set", "1", "--url", url)
        #expect(change.status == 0, "\(change.errors)")
        #expect(try await site.home.run("resume", "1", "--no-start").status == 0)
        let run = try await site.home.run("run")
        #expect(run.status == 0, "\(run)")
        try site.isWhole()
    }

    // MARK: - After a break

    /// A list of parts that never ends, and a server that knows no digests.
    @Test func listsWithoutAnEndAreGivenUp() async throws {
        let site = try await Site()
        try await site.wait(for: "lost-2.endless-2")
        #expect(try await site.shown["restarts"] == 1)
    }

    @Test func anObjectGoesWithoutItsDigest() async throws {
        let site = try await Site()
        let small = Representation(size: 1000, seed: 1)
        try small.write(to: site.home.file("source"))
        let words = site.upload(
            to: "bare-1", "--wait", "-q", "--checksum", "sha256:\(small.sha256)")
        let result = try await site.home.start(words).wait()
        #expect(result.status == 0, "\(result.errors)")
        try small.verify(file: site.server.file("a"))
        #expect(try site.server.log.count == 2)
    }

    /// Buckets, and the parts that are sent twice because the server does not have them.
    @Test(
        arguments: [
            ("lost-2", []), ("lost-5", []), ("lost-2.page-1", []), ("lost-2.shorter-1", [1]),
            ("unjoined-1", []), ("joined-1", []), ("late-1", []), ("missing-4", [4]),
            ("lost-2.gone-1", [2]),
        ] as [(String, [Int])])
    func aLostAnswerIsLookedUp(_ bucket: String, _ twice: [Int]) async throws {
        let site = try await Site()
        try await site.wait(for: bucket)
        let wanted = ([1, 2, 3, 4, 5] + twice).sorted()
        let taken = try site.taken
        // What is forgotten may be all that was there by then.
        let isRight = bucket.contains("gone") ? taken.count > 5 : taken == wanted
        #expect(isRight, "\(taken)")
        #expect(try bucket.hasPrefix("late") || site.server.methods.contains("GET"))
    }

    @Test func aKillCostsThePartsUnderWay() async throws {
        let site = try await Site()
        // Two parts are answered, the others hang.
        let enqueued = try await site.home.start(site.upload(to: "stall-2")).wait()
        #expect(enqueued.status == 0, "\(enqueued.errors)")
        let engine = try site.home.start("daemon")
        try await eventually("two parts are recorded: \(site.seen)") {
            try await site.shown["bytesDone"].int == 2 * Self.partSize
        }
        #expect(try !site.server.methods.contains("GET"))
        engine.send(SIGKILL)
        _ = try await engine.wait()
        let last = try await site.home.start("run").wait(within: .seconds(120))
        #expect(last.status == 0, "\(last.errors)")
        try site.isWhole()
        #expect(try site.taken == [1, 2, 3, 4, 5])
        let answered = try site.server.log.filter { $0["status"].int ?? 0 > 0 }
        #expect(answered.compactMap { $0["method"].string }.contains("GET"))
    }

    // MARK: - Abort

    enum End: CaseIterable, Sendable {
        case cancelled, cancelledWhileWaiting, removed, cleaned, cancelledWithoutEngine
    }

    /// Whatever becomes of an upload, nothing is left open.
    @Test(arguments: End.allCases) func nothingIsLeftOpen(_ end: End) async throws {
        let site = try await Site()
        // A server that is asked twice.
        let bucket = end == .removed ? "stall-2.deaf-1" : "stall-2"
        _ = try await site.home.start(site.upload(to: bucket)).wait()
        var engine = try site.home.start("daemon")
        try await eventually("two parts are recorded: \(site.seen)") {
            try await site.shown["bytesDone"].int == 2 * Self.partSize
        }
        @Sendable func run(_ words: String...) async throws {
            let result = try await site.home.start(words).wait()
            #expect(result.status == 0, "\(words): \(result.errors)")
        }
        @Sendable func reaches(_ state: JSONValue) async throws {
            try await eventually("it is \(state)") { try await site.shown["state"] == state }
        }
        switch end {
        case .cancelled: try await run("cancel", "1")
        case .cancelledWhileWaiting:
            try await run("pause", "1")
            try await reaches("paused")
            try await run("cancel", "1")
        case .removed, .cleaned:
            try await run("cancel", "1", "--keep-bytes")
            try await reaches("cancelled")
            #expect(try !site.server.leftOpen.isEmpty)
            if end == .removed {
                try await run("remove", "1")
            } else {
                try await run("clean", "--older-than", "0s")
            }
        case .cancelledWithoutEngine:
            engine.send(SIGTERM)
            _ = try await engine.wait()
            try await run("cancel", "1")
            #expect(try !site.server.leftOpen.isEmpty)
            engine = try site.home.start("daemon")
        }
        try await eventually("nothing is open") {
            try site.server.leftOpen.isEmpty && site.server.methods.contains("DELETE")
        }
        #expect(!site.server.has("a"))
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    /// The last request of an engine that is started for nothing else.
    @Test func aCrashForgetsNoAbort() async throws {
        let site = try await Site()
        _ = try await site.home.start(site.upload(to: "stall-2")).wait()
        let engine = try site.home.start("daemon")
        try await eventually("two parts are recorded: \(site.seen)") {
            try await site.shown["bytesDone"].int == 2 * Self.partSize
        }
        engine.send(SIGKILL)
        _ = try await engine.wait()
        // Recorded by the command, carried out by no engine yet.
        _ = try await site.home.run("cancel", "1", "--keep-bytes")
        _ = try await site.home.run("remove", "1")
        #expect(try !site.server.leftOpen.isEmpty)
        let last = try await site.home.start("run").wait()
        #expect(last.status == 0, "\(last.errors)")
        #expect(try site.server.leftOpen.isEmpty)
    }
}
