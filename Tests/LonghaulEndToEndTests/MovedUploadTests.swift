import Foundation
import LonghaulTestSupport
import Testing

/// `set --url` of an upload that has begun: it begins anew at the new URL, and nothing is left at
/// the old one.
@Suite(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct MovedUploadTests {
    private static let content = Representation(size: 5 << 20 + 700_000, seed: 5)
    private let home: LonghaulHome

    init() throws {
        home = try LonghaulHome()
        try Self.content.write(to: home.file("source"))
    }

    private var shown: JSONValue {
        get async throws {
            try #require(try await home.run("show", "1", "--json").rows.first)
        }
    }

    private func run(_ words: String...) async throws {
        let result = try await home.start(words).wait()
        #expect(result.status == 0, "\(words): \(result.errors)")
    }

    enum Moment: CaseIterable, Sendable { case running, paused }

    @Test(arguments: ["tus", "ietf"], Moment.allCases)
    func itBeginsAnewElsewhere(_ way: String, _ moment: Moment) async throws {
        let (old, new) = (try await UploadServer.start(), try await UploadServer.start())
        try await run(
            "upload", "--protocol", way, "--limit-rate", "50K", "--header", "X-Key: old", "source",
            old.url("\(way)/a?options=1"))
        let engine = try home.start("daemon")
        try await eventually("it moves") { try await shown["bytesFetched"].int ?? 0 > 50_000 }
        if moment == .paused {
            try await run("pause", "1")
            try await eventually("it has stopped") { try old.methods.contains("PATCH") }
        }
        try await run(
            "set", "1", "--url", new.url("\(way)/b?options=1"), "--limit-rate", "100M", "--header",
            "Authorization: new")
        if moment == .paused { try await run("resume", "1") }
        try await eventually("it is there") { try await shown["state"] == "completed" }
        try Self.content.verify(file: new.file("b"))
        try await eventually("it is deleted") {
            try old.methods.last == "DELETE" && old.leftOpen.isEmpty
        }
        // What is for the new server is not told to the old one.
        #expect(try old.log.allSatisfy { $0["headers"]["authorization"].string == nil })
        #expect(!old.has("a"))
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    /// Another object: the upload of the old one is aborted under its own key.
    @Test func partsAreSentAnewToAnotherObject() async throws {
        let server = try await UploadServer.start(.s3)
        try await run(
            "upload", "--protocol", "s3", "--user", "key:secret", "--part-size", "5M", "source",
            server.url("stall-1/a"))
        let engine = try home.start("daemon")
        try await eventually("a part is recorded") {
            try await shown["bytesDone"].int ?? 0 > 0
        }
        try await run("set", "1", "--url", server.url("b/b"))
        try await eventually("it is there") { try await shown["state"] == "completed" }
        try Self.content.verify(file: server.file("b"))
        try await eventually("nothing is open") {
            try server.leftOpen.isEmpty && server.methods.contains("DELETE")
        }
        engine.send(SIGTERM)
        _ = try await engine.wait()
        #expect(!server.has("a"))
    }

    /// Another password is no other place.
    @Test func anotherPasswordGoesOn() async throws {
        let server = try await UploadServer.start()
        let url = server.url("tus/a")
        let named = { (user: String) in url.replacing("http://", with: "http://\(user)@") }
        try await run(
            "upload", "--protocol", "tus", "--limit-rate", "50K", "source", named("me:old"))
        let engine = try home.start("daemon")
        try await eventually("it moves") { try await shown["bytesFetched"].int ?? 0 > 50_000 }
        try await run("set", "1", "--url", named("me:new"), "--limit-rate", "100M")
        try await eventually("it is there") { try await shown["state"] == "completed" }
        engine.send(SIGTERM)
        _ = try await engine.wait()
        let methods = try server.methods
        #expect(methods.filter { $0 == "POST" }.count == 1, "\(methods)")
        #expect(try await shown["restarts"] == 0)
        // What the URL names goes to the upload's own resource, too.
        let sent = try server.log.map { $0["headers"]["authorization"].string }
        #expect(!sent.contains(nil) && sent.last == "Basic bWU6bmV3", "\(sent)")
    }

    /// What `upload` refuses, `set` does; nothing is changed then.
    @Test(arguments: [
        (["--mirror", "http://m/a"], "--mirror applies to downloads only"),
        (["--max-size", "1M"], "--max-size applies to downloads only"),
        (["--if-exists", "rename"], "--if-exists applies to downloads only"),
        (["--connections", "2"], "--connections applies to downloads only"),
        (["--expect", "7"], "the size of an upload is that of its file"),
        (["--url", "ftp://h/file"], "over FTP and SFTP a file has no protocol"),
    ])
    func whatUploadRefusesIsNoChange(_ words: [String], _ message: String) async throws {
        try await run("upload", "--protocol", "tus", "source", "http://127.0.0.1:9/a")
        let before = try await shown
        let result = try await home.start(["set", "1", "--priority", "high"] + words).wait()
        #expect(result.status == 64 && result.errors.contains(message), "\(result)")
        #expect(try await shown == before)
        try await run("set", "1", "--limit-rate", "1M", "--max-size", "none")
    }

    @Test func anObjectHasNoQuery() async throws {
        try await run(
            "upload", "--protocol", "s3", "--user", "k:s", "source", "http://127.0.0.1:9/b/a")
        let result = try await home.run("set", "1", "--url", "http://127.0.0.1:9/b/a?x=1")
        #expect(result.status == 64 && result.errors.contains("no query"), "\(result)")
    }
}
