import Foundation
import LonghaulTestSupport
import Testing

/// Uploads to S3 with the keys of a profile: they are kept by reference, and read for each request.
@Suite(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct S3ProfileUploadTests {
    private static let partSize = 5 << 20
    private static let content = Representation(size: 4 * partSize + 700_000, seed: 5)
    private let server: UploadServer
    private let home: LonghaulHome

    init() async throws {
        server = try await UploadServer.start(.s3)
        home = try LonghaulHome()
        try Self.content.write(to: home.file("source"))
        _ = try home.scratch.directory(".aws")
    }

    private func write(_ keys: (id: String, secret: String), token: String? = nil) throws {
        let token = token.map { "aws_session_token = \($0)\n" } ?? ""
        try home.scratch.write(
            """
            [default]
            aws_access_key_id = nobody
            aws_secret_access_key = nothing

            [work]
            aws_access_key_id = \(keys.id)
            aws_secret_access_key = \(keys.secret)
            \(token)
            """, to: ".aws/credentials")
    }

    /// Records it by a command with the variables of AWS; engines have none.
    private func enqueue(_ bucket: String) async throws {
        let result = try await command(bucket)
        #expect(result.status == 0, "\(result.errors)")
    }

    private func command(_ bucket: String) async throws -> CLIProcess.Result {
        let endpoint = String(server.url("").dropLast())
        return try await home.with(["AWS_PROFILE": "work", "AWS_ENDPOINT_URL": endpoint]).run(
            "upload", "--part-size", "5M", "source", "s3://\(bucket)/a")
    }

    private func run(_ words: String...) async throws {
        let result = try await home.start(words).wait()
        #expect(result.status == 0, "\(words): \(result.errors)")
    }

    private var shown: JSONValue {
        get async throws { try #require(try await home.run("show", "1", "--json").rows.first) }
    }

    private var isWhole: Bool {
        get throws {
            try Self.content.verify(file: server.file("a"))
            return try server.leftOpen.isEmpty
        }
    }

    private var parts: [Int] {
        get throws {
            try server.log.filter { $0["status"] == 200 }.compactMap { $0["part"].int }
                .filter { $0 > 0 }.sorted()
        }
    }

    @Test func theStoreHasNoKeys() async throws {
        try write(("key", "another-1"))
        try await enqueue("b")
        // Renewed before the first attempt.
        try write(("key", "secret"), token: "ticket")
        try await run("run")
        #expect(try isWhole)
        let state = try #require(FileManager.default.enumerator(atPath: home.state))
        var seen = 0
        for case let name as String in state {
            guard let data = FileManager.default.contents(atPath: "\(home.state)/\(name)") else {
                continue
            }
            seen += data.count
            for text in ["another-1", "ticket"] {
                #expect(data.range(of: Data(text.utf8)) == nil, "\(name) has \(text)")
            }
        }
        #expect(seen > 0)
        #expect(try server.log.allSatisfy { $0["token"] == "ticket" })
    }

    @Test func keysThatExpireAreRenewed() async throws {
        try write(("key", "secret"), token: "old")
        try await enqueue("expire-2")
        _ = try await home.run("run")
        let failed = try await shown
        #expect(failed["error"]["code"] == "unauthorized", "\(failed["error"])")
        #expect(failed["bytesDone"].int ?? 0 > 0)
        try write(("key", "secret"), token: "new")
        try await run("retry", "1")
        try await run("run")
        #expect(try isWhole)
        #expect(try parts == [1, 2, 3, 4, 5])
    }

    @Test func keysThatAreGoneAreAskedFor() async throws {
        try write(("key", "secret"))
        try await enqueue("b")
        try FileManager.default.removeItem(atPath: home.scratch(".aws/credentials"))
        _ = try await home.run("run")
        let failed = try await shown
        #expect(failed["state"] == "failed")
        #expect(failed["error"]["code"] == "unauthorized")
        let message = failed["error"]["message"].string ?? ""
        #expect(message.contains("no profile work in \(home.scratch(".aws/credentials"))"))
        #expect(message.hasSuffix("then `resume`"), "\(message)")
        #expect(try server.log.isEmpty)
        try write(("key", "secret"))
        try await run("resume", "1")
        try await run("run")
        #expect(try isWhole)
    }

    /// Everywhere, and for each who reads it; requests go to the object.
    @Test func itsURLIsShownAsItWasAsked() async throws {
        try write(("key", "secret"))
        try await enqueue("b")
        let url = JSONValue.string("s3://b/a")
        #expect(try await shown["url"] == url)
        #expect(try await home.run("list", "--json").rows.first?["url"] == url)
        #expect(try await home.run("show", "1").output.contains("URL:           s3://b/a\n"))
        try await run("run")
        #expect(try isWhole)
        let events = try await home.run("events", "--json").rows
        #expect(events.first?["transfer"]["url"] == url, "\(events)")
        let attempts = try await shown["attemptRecords"].items.compactMap { $0["url"].string }
        #expect(!attempts.isEmpty && attempts.allSatisfy { $0.hasPrefix(server.url("b/a")) })
        // What was listed is asked for again.
        let other = try LonghaulHome()
        let list = try await home.run("list", "--json").output
        let endpoint = String(server.url("").dropLast())
        let again = try await other.with([
            "AWS_PROFILE": "work", "AWS_ENDPOINT_URL": endpoint, "HOME": home.scratch.path,
        ]).run("enqueue", "--again", "--input", "-", input: list)
        #expect(again.output == "1\n", "\(again.errors)")
        #expect(try await other.run("list", "--json").rows.first?["url"] == url)
    }

    /// `set --url` finds region, endpoint and keys as `upload` does.
    @Test(arguments: ["auto", "s3"]) func itIsSentToAnotherObject(_ way: String) async throws {
        try write(("key", "secret"))
        let old = way == "s3" ? "https://127.0.0.1:9/b/a" : "http://127.0.0.1:9/a"
        try await run(
            "upload", "--protocol", way, "--user", "me:wrong", "--part-size", "5M", "source", old)
        let endpoint = String(server.url("").dropLast())
        let here = home.with(["AWS_PROFILE": "work", "AWS_ENDPOINT_URL": endpoint])
        let set = try await here.run("set", "1", "--url", "s3://b/a", "--json")
        #expect(try set.rows.first?["url"] == "s3://b/a", "\(set)")
        try await run("run")
        #expect(try isWhole)
        #expect(try await shown["state"] == "completed")
    }

    @Test func whatCannotGoToS3IsNotSentThere() async throws {
        try write(("key", "secret"))
        try await run("upload", "--protocol", "tus", "source", "http://127.0.0.1:9/a")
        try await run("enqueue", "http://127.0.0.1:9/a")
        try await run("upload", "source", "http://127.0.0.1:9/a")
        let here = home.with(["AWS_PROFILE": "work"])
        let refused = try await here.run("set", "1", "--url", "s3://b/a")
        #expect(
            refused.status == 64
                && refused.errors.contains("an s3: URL needs the protocol s3"), "\(refused)")
        let keyless = home.with(["AWS_PROFILE": "none"])
        for id in ["2", "3"] {
            let result = try await keyless.run("set", id, "--url", "s3://b/a")
            #expect(result.errors.contains("no profile none"), "\(result)")
            let shown = try await home.run("show", id, "--json")
            #expect(try shown.rows[0]["url"] == "http://127.0.0.1:9/a")
        }
    }

    /// The same command again, with keys in the environment: they hold from now on.
    @Test func theEnvironmentTakesThePlaceOfAProfile() async throws {
        try write(("key", "another-1"))
        try await enqueue("b")
        _ = try await home.run("run")
        #expect(try await shown["state"] == "failed")
        let endpoint = String(server.url("").dropLast())
        let keys = [
            "AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        ]
        let again = try await home.with(keys).run("upload", "source", "s3://b/a")
        #expect(again.output == "1\n", "\(again.errors)")
        try await run("run")
        #expect(try isWhole)
    }

    @Test func whatIsLeftIsDeletedWithThem() async throws {
        try write(("key", "secret"))
        try await enqueue("stall-2")
        let engine = try home.start("daemon")
        try await eventually("two parts are recorded") {
            try await shown["bytesDone"].int == 2 * Self.partSize
        }
        try await run("cancel", "1")
        try await eventually("nothing is open") {
            try server.leftOpen.isEmpty && server.methods.contains("DELETE")
        }
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    @Test(arguments: [
        ("credential_process = /bin/false", "export-credentials --profile work"),
        ("sso_session = my", "export-credentials --profile work"),
        ("region = eu-central-1", "AWS_ACCESS_KEY_ID"),
    ])
    func otherSourcesAreRefused(_ line: String, _ advice: String) async throws {
        try home.scratch.write("[profile work]\n\(line)\n", to: ".aws/config")
        let result = try await command("b")
        #expect(result.status != 0)
        #expect(result.errors.contains(advice), "\(result.errors)")
        #expect(try await home.run("list", "--all", "--json").rows.isEmpty)
    }
}
