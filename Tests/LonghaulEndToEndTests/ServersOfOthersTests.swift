import Foundation
import LonghaulTestSupport
import Testing

extension Trait where Self == ConditionTrait {
    /// Skips what needs servers from the Python Package Index, where they cannot be installed.
    static var needsPythonServers: Self {
        .enabled("skipped: no servers in Python: no python3-venv, or no package index") {
            await PythonEnvironment.isReady
        }
    }
}

extension LonghaulHome {
    /// Bytes of an upload that went over the wire, again or not.
    fileprivate func sent(_ id: Int) async throws -> Int {
        let shown = try await run("show", "\(id)", "--json").rows.first
        return try #require(shown?["bytesFetched"].int)
    }
}

/// Uploads to nginx, by the module that Debian's nginx has for WebDAV.
@Suite(.enabled(if: NginxServer.isInstalled, "skipped: no nginx"))
struct NginxUploadTests {
    private func start() async throws -> NginxServer {
        var options = NginxServer.Options()
        options.extra = """
            location /in/ { dav_methods PUT; create_full_put_path on; client_max_body_size 9m; }
            location /few/ { dav_methods PUT; }
            """
        return try await NginxServer.start(options: options)
    }

    @Test func aFileIsNewAndThenReplaced() async throws {
        let nginx = try await start()
        let home = try LonghaulHome()
        for (size, status) in [(9 << 20, 201), (0, 204), (70_000, 204)] {
            let source = Representation(size: size, seed: UInt64(size))
            try source.write(to: home.file("source"))
            let shown = try await upload(home, nginx.http("in/a/b%20c"))
            #expect(shown["response"]["status"] == .int(status), "\(shown)")
            try source.verify(file: "\(nginx.root)/in/a/b c")
            // Under its own name in a directory.
            _ = try await upload(home, nginx.http("in/d/"))
            try source.verify(file: "\(nginx.root)/in/d/source")
        }
        await nginx.stop()
    }

    /// The question by HTTP/2, the file by HTTP/1.1.
    @Test func itGoesOverTLS() async throws {
        let nginx = try await start()
        let home = try LonghaulHome()
        let source = Representation(size: 5_000_000, seed: 2)
        try source.write(to: home.file("source"))
        let shown = try await upload(
            home, nginx.https("in/a"), "--cacert", nginx.authority.certificate)
        #expect(shown["response"]["status"] == 201, "\(shown)")
        let log = try await nginx.waitForRequests(4)
        #expect(log.map { $0["method"] } == ["OPTIONS", "OPTIONS", "OPTIONS", "PUT"])
        #expect(log.last?["protocol"] == "HTTP/1.1")
        #expect(log.dropLast().allSatisfy { $0["protocol"] == "HTTP/2.0" })
        try source.verify(file: nginx.root + "/in/a")
        await nginx.stop()
    }

    /// Until it is whole there is nothing under its name.
    @Test func aKilledOneIsSentAgain() async throws {
        let nginx = try await start()
        let home = try LonghaulHome()
        let source = Representation(size: 8 << 20, seed: 4)
        try source.write(to: home.file("source"))
        _ = try await home.run("upload", "--limit-rate", "1M", "source", nginx.http("in/a"))
        let engine = try home.start("run")
        try await eventually("it moves; \(engine.errors)") { try await home.sent(1) > 1 << 20 }
        engine.send(SIGKILL)
        _ = try await engine.wait()
        #expect(!FileManager.default.fileExists(atPath: nginx.root + "/in/a"))
        _ = try await home.run("set", "1", "--limit-rate", "none")
        let last = try await home.run("run")
        #expect(last.status == 0, "\(last.errors)")
        try source.verify(file: nginx.root + "/in/a")
        #expect(try await home.sent(1) <= 2 * source.size)
        await nginx.stop()
    }

    /// A creation without a byte would empty it.
    @Test(arguments: [[], ["--method", "put"]])
    func whatIsThereStaysWhereTheProtocolIsNotSpoken(_ options: [String]) async throws {
        let nginx = try await start()
        let home = try LonghaulHome()
        let old = Representation(size: 70_000, seed: 5)
        try old.write(to: home.file("source"))
        _ = try await upload(home, nginx.http("in/a"))
        for size in [70_000, 3_000_000] {
            try Representation(size: size, seed: 6).write(to: home.file("source"))
            let words = ["upload", "--wait", "-q", "--protocol", "ietf", "source"]
            let result = try await home.start(words + [nginx.http("in/a")] + options).wait()
            #expect(result.status == 1 && result.errors.contains("nothing was sent"), "\(result)")
            try old.verify(file: nginx.root + "/in/a")
        }
        await nginx.stop()
    }

    /// What nginx refuses: too large a file, a place without PUT.
    @Test(arguments: [
        ("in/a", 9 << 20 + 1, 413), ("in/a/", 9 << 20 + 1, 413), ("a", 1000, 405),
        ("few/a", 1 << 20 + 1, 413),
    ])
    func aRefusalIsTold(_ path: String, _ size: Int, _ status: Int) async throws {
        let nginx = try await start()
        let home = try LonghaulHome()
        try FileManager.default.createDirectory(
            atPath: nginx.root + "/few", withIntermediateDirectories: true)
        try Representation(size: size, seed: 3).write(to: home.file("source"))
        let result = try await home.run("upload", "--wait", "-q", "source", nginx.http(path))
        #expect(result.status == 1, "\(result)")
        #expect(result.errors.contains("(\(status))"), "\(result.errors)")
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["state"] == "failed" && shown["response"]["status"] == .int(status))
        #expect(!FileManager.default.fileExists(atPath: "\(nginx.root)/\(path)"))
        await nginx.stop()
    }

    /// - Returns: the transfer when it has completed.
    private func upload(
        _ home: LonghaulHome, _ url: String, _ options: String...
    ) async throws -> JSONValue {
        let words = ["upload", "--wait", "--json", "source", url] + options
        let result = try await home.start(words).wait()
        #expect(result.status == 0, "\(result.errors)")
        let id = try #require(result.rows.last?["id"].int)
        return try #require(try await home.run("show", "\(id)", "--json").rows.first)
    }
}

/// Uploads to tuspyserver.
@Suite(.serialized, .needsPythonServers)
struct TusServerTests {
    @Test(arguments: [["auto"], ["tus"], ["auto", "--repeatable"]])
    func filesArrive(_ way: [String]) async throws {
        let server = try await TusServer.start()
        let home = try LonghaulHome()
        for size in [0, 1, 5_000_000] {
            let source = Representation(size: size, seed: 1)
            try source.write(to: home.file("source"))
            let known = try Set(server.files)
            let words = ["upload", "--wait", "-q", "source", server.url, "--protocol"]
            let result = try await home.start(words + way).wait()
            #expect(result.status == 0, "\(result.errors) \(server.log)")
            // A small file goes with its creation where it may go twice.
            if size == 0 || way.contains("--repeatable") && size < 1 << 20 {
                #expect(!server.log.contains("PATCH"), "\(server.log)")
            } else {
                try await eventually("it is logged") { server.log.contains("PATCH") }
            }
            let files = try server.files.filter { !known.contains($0) }
            #expect(files.count == 1)
            try source.verify(file: try #require(files.first))
        }
    }

    @Test func aKilledOneIsCarriedOn() async throws {
        let server = try await TusServer.start()
        let home = try LonghaulHome()
        let source = Representation(size: 8 << 20, seed: 2)
        try source.write(to: home.file("source"))
        _ = try await home.run(
            "upload", "--protocol", "tus", "--limit-rate", "4M", "source", server.url)
        for mebibytes in [1, 3] {
            let engine = try home.start("run")
            try await eventually("\(mebibytes) MiB: \(server.log)") {
                try await home.sent(1) > mebibytes << 20
            }
            engine.send(SIGKILL)
            _ = try await engine.wait()
        }
        let last = try await home.run("run")
        #expect(last.status == 0, "\(last.errors) \(server.log)")
        let files = try server.files
        #expect(files.count == 1)
        try source.verify(file: try #require(files.first))
        let facts = try await shown(home)
        #expect(facts["state"] == "completed" && facts["restarts"] == 0, "\(facts)")
        #expect(facts["bytesFetched"].int ?? .max <= source.size + 2 << 20, "\(facts)")
    }

    @Test func aCancelledOneIsDeleted() async throws {
        let server = try await TusServer.start()
        let home = try LonghaulHome()
        try Representation(size: 5_000_000, seed: 1).write(to: home.file("source"))
        _ = try await home.run(
            "upload", "--protocol", "tus", "--limit-rate", "500K", "source", server.url)
        let engine = try home.start("daemon")
        try await eventually("it moves") { try await home.sent(1) > 100_000 }
        _ = try await home.run("cancel", "1")
        try await eventually("it is deleted; \(server.log)") { try server.files.isEmpty }
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    private func shown(_ home: LonghaulHome) async throws -> JSONValue {
        try #require(try await home.run("show", "1", "--json").rows.first)
    }
}

/// Uploads to servers like S3, looked at by Amazon's own client.
@Suite(.serialized, .needsPythonServers)
struct S3ServerTests {
    /// Keys that a URL cannot hold as they are, and what they are in the command's argument.
    private static let keys = [
        "plain": "plain", "a b+c% ü&=(x)~!*'$@:,;.bin": "a b+c%25 ü&=(x)~!*'$@:,;.bin",
        "p//q/?#[]": "p//q/?#[]",
    ]

    @Test func objectsArriveUnderAnyKey() async throws {
        let server = try await S3Server.start()
        let home = try LonghaulHome().with(server.environment)
        let small = Representation(size: 100_000, seed: 1)
        let large = Representation(size: 12 << 20, seed: 2)
        try small.write(to: home.file("small"))
        try large.write(to: home.file("large"))
        var wanted: [String: S3Server.Object] = [:]
        for (key, text) in Self.keys {
            for (source, name, parts) in [(small, "small", nil), (large, "large", 3)] {
                let result = try await home.run(
                    "upload", "--wait", "-q", "--part-size", "5M", name,
                    server.url("\(name)/\(text)"))
                #expect(result.status == 0, "\(key): \(result.errors)")
                wanted["\(name)/\(key)"] = S3Server.Object(sha256: source.sha256, parts: parts)
            }
        }
        let content = try await server.content
        #expect(content.objects == wanted)
        #expect(content.open.isEmpty)
    }

    /// Under its own key or, where libcurl does not sign such a path (8.14), under none.
    @Test func dotsInAKeyAreNames() async throws {
        let server = try await S3Server.start()
        let home = try LonghaulHome().with(server.environment)
        let source = Representation(size: 100_000, seed: 1)
        try source.write(to: home.file("small"))
        let result = try await home.run(
            "upload", "--wait", "-q", "small", server.url("./p/../q"))
        let objects = try await server.content.objects
        if result.status == 0 {
            #expect(objects == ["./p/../q": S3Server.Object(sha256: source.sha256, parts: nil)])
        } else {
            #expect(result.errors.contains("path-as-is"), "\(result.errors)")
            #expect(objects.isEmpty)
        }
    }

    @Test func aKilledOneIsCarriedOn() async throws {
        let server = try await S3Server.start()
        let home = try LonghaulHome().with(server.environment)
        let source = Representation(size: 22 << 20, seed: 3)
        try source.write(to: home.file("source"))
        _ = try await home.run(
            "upload", "--part-size", "5M", "--limit-rate", "10M", "source", server.url("a"))
        for parts in [1, 2] {
            let engine = try home.start("run")
            try await eventually("\(parts) parts; \(engine.errors)") {
                try whole(try server.log) >= parts
            }
            engine.send(SIGKILL)
            _ = try await engine.wait()
        }
        let last = try await home.run("run")
        #expect(last.status == 0, "\(last.errors)")
        let content = try await server.content
        #expect(content.objects == ["a": S3Server.Object(sha256: source.sha256, parts: 5)])
        #expect(content.open.isEmpty)
        // A part is sent again at most where a kill met it.
        #expect(try whole(try server.log) <= 5 + 2 * 4)
    }

    @Test func aCancelledOneIsAborted() async throws {
        let server = try await S3Server.start()
        let home = try LonghaulHome().with(server.environment)
        try Representation(size: 12 << 20, seed: 4).write(to: home.file("source"))
        _ = try await home.run(
            "upload", "--part-size", "5M", "--limit-rate", "5M", "source", server.url("a"))
        let engine = try home.start("daemon")
        try await eventually("it moves; \(engine.errors)") { try await home.sent(1) > 1 << 20 }
        _ = try await home.run("cancel", "1")
        try await eventually("it is aborted") {
            try server.log.contains { $0["method"] == "DELETE" }
        }
        engine.send(SIGTERM)
        _ = try await engine.wait()
        let content = try await server.content
        #expect(content.objects.isEmpty && content.open.isEmpty, "\(content)")
    }

    /// One that speaks no uploads in parts serves whole objects.
    @Test func aSmallServerServesWholeObjects() async throws {
        let server = try await PlainS3Server.start()
        let home = try LonghaulHome().with(server.environment)
        let source = Representation(size: 5_000_000, seed: 5)
        try source.write(to: home.file("source"))
        for (key, text) in Self.keys where !key.contains("/") {
            let result = try await home.run(
                "upload", "--wait", "-q", "source", "s3://bucket/\(text)")
            #expect(result.status == 0, "\(key): \(result.errors)")
            try source.verify(file: server.file("bucket", key))
        }
        try Representation(size: 6 << 20, seed: 6).write(to: home.file("source"))
        let result = try await home.run(
            "upload", "--wait", "-q", "--part-size", "5M", "source", "s3://bucket/parts")
        #expect(result.status == 1 && result.errors.contains("(400)"), "\(result)")
    }

    /// Parts that arrived whole.
    private func whole(_ log: [JSONValue]) throws -> Int {
        log.count { row in
            row["query"].string?.contains("partNumber") == true
                && [5 << 20, 2 << 20].contains(row["bytes"].int)
        }
    }
}

/// Files that are still written, to servers of others.
@Suite(.serialized, .needsPythonServers)
struct FollowedFileTests {
    private static let content = Representation(size: 12 << 20, seed: 8)

    /// A program that has written a part of the file, and has it open.
    private func begin(_ home: LonghaulHome, written: Int) throws -> FileHandle {
        try Self.content.write(to: home.file("source"), prefix: written)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: home.file("source")))
        try handle.seekToEnd()
        return handle
    }

    /// The engine is killed; the rest is written, and the file closed.
    private func end(_ home: LonghaulHome, _ handle: FileHandle, written: Int) async throws {
        let engine = try home.start("run")
        try await eventually("the first bytes have come; \(engine.errors)") {
            try await home.run("show", "1", "--json").rows.first?["bytesDone"].int == written
        }
        engine.send(SIGKILL)
        _ = try await engine.wait()
        try Self.content.write(to: home.file("whole"))
        let whole = try Data(contentsOf: URL(fileURLWithPath: home.file("whole")))
        try handle.write(contentsOf: whole[Int(try handle.offset())...])
        try handle.close()
        let last = try await home.run("run")
        #expect(last.status == 0, "\(last.errors)")
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["state"] == "completed" && shown["bytesTotal"].int == Self.content.size)
    }

    @Test func tuspyserverHasTheWholeFile() async throws {
        let server = try await TusServer.start()
        let home = try LonghaulHome()
        let handle = try begin(home, written: 5_000_000)
        _ = try await home.run(
            "upload", "--follow", "--settle", "1s", "--protocol", "tus", "source", server.url)
        try await end(home, handle, written: 5_000_000)
        let files = try server.files
        #expect(files.count == 1, "\(server.log)")
        try Self.content.verify(file: try #require(files.first))
    }

    @Test func motoHasTheWholeFile() async throws {
        let server = try await S3Server.start()
        let home = try LonghaulHome().with(server.environment)
        let handle = try begin(home, written: 11 << 20)
        _ = try await home.run(
            "upload", "--follow", "--settle", "1s", "--part-size", "5M", "source", server.url("a"))
        try await end(home, handle, written: 10 << 20)
        let content = try await server.content
        #expect(content.objects == ["a": S3Server.Object(sha256: Self.content.sha256, parts: 3)])
        #expect(content.open.isEmpty)
    }
}
