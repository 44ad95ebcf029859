import Foundation
import LonghaulTestSupport
import Testing

/// Signed downloads from moto's S3, which checks signatures as Amazon's own client makes them.
@Suite(.needsPythonServers)
struct S3DownloadTests {
    private let server: S3Server
    private let home: LonghaulHome
    private let sender: LonghaulHome
    private let small = Representation(size: 100_000, seed: 1)
    private let large = Representation(size: 12 << 20, seed: 2)

    init() async throws {
        server = try await S3Server.start()
        home = try LonghaulHome().with(server.environment)
        sender = try LonghaulHome().with(server.environment)
        try small.write(to: sender.file("small"))
        try large.write(to: sender.file("large"))
    }

    private func run(
        _ arguments: String..., status: Int32 = 0, as home: LonghaulHome? = nil,
        location: SourceLocation = #_sourceLocation
    ) async throws -> CLIProcess.Result {
        let result = try await (home ?? self.home).start(arguments).wait()
        #expect(
            result.status == status, "\(arguments): \(result.output)\(result.errors)",
            sourceLocation: location)
        return result
    }

    private func put(_ name: String, _ key: String) async throws {
        _ = try await run(
            "upload", "--wait", "-q", "--part-size", "5M", name, server.url(key), as: sender)
    }

    /// Requests for objects and lists.
    private var asked: [JSONValue] {
        get throws { try server.log.filter { $0["method"] == "GET" } }
    }

    private func areAllSigned() throws {
        #expect(try !asked.isEmpty && asked.allSatisfy { $0["signed"] == true })
    }

    // MARK: - One object

    @Test(arguments: ["plain", "a b+c%25 ü&=(x)~!*'$@:,;.bin", "p//q/?#[]"])
    func anObjectIsADownload(_ key: String) async throws {
        try await put("large", key)
        _ = try await run("get", server.url(key), "-o", "out", "--connections", "4")
        try large.verify(file: home.file("out"))
        try areAllSigned()
        let shown = try await run("list", "--all", "--json")
        #expect(try shown.rows.first?["url"].string?.hasPrefix("s3://") == true)
        #expect(!shown.output.contains("secret"))
    }

    @Test func aListAndAChangeNameObjects() async throws {
        try await put("small", "d/a")
        try "\(server.url("d/a"))\n  out=a\n\(server.url("d/b"))\n  out=b\n".write(
            toFile: home.file("list"), atomically: true, encoding: .utf8)
        _ = try await run("enqueue", "--input", "list")
        _ = try await run("run", status: 1)
        try small.verify(file: home.file("a"))
        let lost = try await run("show", "2", "--json")
        #expect(try lost.rows.first?["error"]["code"] == "notFound")
        _ = try await run("set", "2", "--url", server.url("d/a"))
        _ = try await run("resume", "2")
        _ = try await run("run")
        try small.verify(file: home.file("b"))
        try areAllSigned()
    }

    @Test func itGoesOnAfterAKillWithTheKeysOfAProfile() async throws {
        try await put("large", "a")
        _ = try home.scratch.directory(".aws")
        try home.scratch.write(
            "[work]\naws_access_key_id = key\naws_secret_access_key = secret\n",
            to: ".aws/credentials")
        let bare = home.with([
            "AWS_ACCESS_KEY_ID": nil, "AWS_SECRET_ACCESS_KEY": nil, "AWS_PROFILE": "work",
        ])
        _ = try await run(
            "enqueue", server.url("a"), "-o", "out", "--limit-rate", "1M", as: bare)
        // The engine has none of the variables.
        let engine = try home.with(["AWS_ENDPOINT_URL": nil]).start("run")
        try await eventually("bytes came") {
            let rows = try await run("list", "--json").rows
            return rows.first?["bytesDone"].int ?? 0 > 0
        }
        engine.send(SIGKILL)
        _ = try await engine.wait()
        _ = try await run("set", "1", "--limit-rate", "none")
        _ = try await run("run", as: home.with(["AWS_ENDPOINT_URL": nil]))
        try large.verify(file: home.file("out"))
        #expect(try asked.count >= 2)
        try areAllSigned()
    }

    @Test func withoutKeysItIsRefused() async throws {
        let bare = home.with(["AWS_ACCESS_KEY_ID": nil, "AWS_SECRET_ACCESS_KEY": nil])
        for words in [["get"], ["enqueue"], ["bundle", "add", "b"]] {
            let url = server.url(words[0] == "bundle" ? "p/" : "k")
            let to = words[0] == "bundle" ? ["--to", home.file("out")] : []
            let result = try await bare.start(words + [url] + to).wait()
            #expect(result.status != 0 && result.errors.contains("no keys"), "\(result.errors)")
        }
        #expect(try await run("list", "--all", "--json").rows.isEmpty)
    }

    // MARK: - Sets of objects

    @Test func aPrefixIsASet() async throws {
        for (name, key) in [("small", "set/a"), ("large", "set/sub/b b"), ("small", "set/c")] {
            try await put(name, key)
        }
        try await put("small", "other")
        let out = home.file("out")
        _ = try await run("get", server.url("set/"), "-d", out)
        try small.verify(file: "\(out)/a")
        try large.verify(file: "\(out)/sub/b b")
        try small.verify(file: "\(out)/c")
        try areAllSigned()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: out).sorted() == ["a", "c", "sub"])
        let objects = try asked.filter { $0["query"] == "" }
        // Equal objects come once. That of parts has no digest.
        #expect(objects.count == 2)
        let shown = try await run("bundle", "show", "set", "--json", "--files")
        let proofs = try shown.rows.map { "\($0["path"].string ?? "") \($0["proof"].string ?? "")" }
        #expect(proofs == ["a digest", "c digest", "sub/b b size"])

        try await put("large", "set/c")
        let check = try await run("bundle", "check", "set", "--json")
        #expect(try check.rows.first?["changed"] == true)
        _ = try await run("bundle", "ensure", "set", "--latest")
        try large.verify(file: "\(out)/c")
        try small.verify(file: "\(out)/a")
        _ = try await run("bundle", "verify", "set")
    }

    /// The ETag of an object that was encrypted with a key is not a digest of its bytes.
    @Test func encryptedObjectsAreUnproved() async throws {
        for key in ["kms/a", "kms/b", "kms/c"] { try await put("small", key) }
        let out = home.file("out")
        _ = try await run("get", server.url("kms/"), "-d", out)
        let sent = small.bytes.map { $0 ^ 1 }
        for name in ["a", "b", "c"] {
            let data = try #require(FileManager.default.contents(atPath: "\(out)/\(name)"))
            #expect(Array(data) == sent)
        }
        let shown = try await run("bundle", "show", "kms", "--json")
        #expect(try shown.rows.first?["version"]["proved"] == false)
        // The first one alone was fetched twice.
        #expect(try asked.count { $0["query"] == "" } == 4)
    }
}
