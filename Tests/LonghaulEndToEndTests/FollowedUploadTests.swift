import Foundation
import LonghaulTestSupport
import Testing

/// `upload --follow`: a file that another program still writes.
@Suite(.timeLimit(.minutes(60)), .enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct FollowedUploadTests {
    /// The program that writes: it has the file open until it is closed.
    private final class Recorder {
        let path: String
        private let content: Representation
        private let handle: FileHandle
        private let data: Data

        init(_ content: Representation, at path: String) throws {
            self.content = content
            self.path = path
            try content.write(to: path)
            data = try Data(contentsOf: URL(fileURLWithPath: path))
            try Data().write(to: URL(fileURLWithPath: path))
            handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        }

        func write(to end: Int) throws {
            let begin = Int(try handle.offset())
            try handle.write(contentsOf: data[begin..<end])
        }

        func close() throws { try handle.close() }
    }

    /// A server, and the options that lead there.
    private struct Way: Sendable, CustomTestStringConvertible {
        let name: String
        let kind: UploadServer.Kind
        let path: String
        let options: [String]
        let pieces: [Int]

        var testDescription: String { name }
    }

    private static let ways = [
        Way(
            name: "tus", kind: .http, path: "tus/a?options=1", options: ["--protocol", "tus"],
            pieces: [100_000, 400_000, 400_001, 900_000]),
        Way(
            name: "ietf", kind: .http, path: "ietf/a?options=1", options: ["--protocol", "ietf"],
            pieces: [100_000, 400_000, 400_001, 900_000]),
        Way(
            name: "auto", kind: .http, path: "tus/a?options=1&cut=150000", options: [],
            pieces: [100_000, 400_000, 900_000]),
        Way(
            name: "s3", kind: .s3, path: "bucket/a",
            options: ["--protocol", "s3", "--user", "key:secret", "--part-size", "5M"],
            pieces: [6 << 20, 11 << 20, 12 << 20]),
    ]

    private func shown(_ home: LonghaulHome) async throws -> JSONValue {
        try #require(try await home.run("show", "1", "--json").rows.first)
    }

    private func enqueue(
        _ home: LonghaulHome, _ url: String, _ options: [String]
    ) async throws {
        let words = ["upload", "--no-start", "--follow", "recording", url] + options
        let result = try await home.start(words).wait()
        #expect(result.status == 0, "\(result.errors)")
    }

    /// The engine is killed after each piece, and the server has the bytes of each before the next
    /// one is written.
    @Test(arguments: ways) private func itIsSentAsItIsWritten(_ way: Way) async throws {
        let server = try await UploadServer.start(way.kind)
        let home = try LonghaulHome()
        let content = Representation(size: way.pieces.last ?? 0, seed: 3)
        let recorder = try Recorder(content, at: home.file("recording"))
        try await enqueue(home, server.url(way.path), way.options + ["--settle", "1s"])
        let isParts = way.kind == .s3
        for end in way.pieces {
            try recorder.write(to: end)
            let engine = try home.start("run")
            let expected = isParts ? end / (5 << 20) * (5 << 20) : end
            try await eventually(within: .seconds(60), "\(end) bytes; \(engine.errors)") {
                let present = try await shown(home)
                return present["bytesDone"].int == expected && present["state"] == "running"
            }
            let present = try await shown(home)
            #expect(present["bytesTotal"] == .null, "\(present)")
            try await eventually("it says what it waits for") {
                try await home.run("why", "1").output.contains("waits for more of recording")
            }
            engine.send(SIGKILL)
            _ = try await engine.wait()
        }
        #expect(!server.has("a"))
        try recorder.close()
        let last = try await home.start(["run"]).wait(within: .seconds(120))
        #expect(last.status == 0, "\(last.errors)")
        let done = try await shown(home)
        #expect(done["state"] == "completed" && done["bytesTotal"].int == content.size, "\(done)")
        #expect(done["restarts"] == 0)
        try content.verify(file: server.file("a"))
        #expect(try server.leftOpen.isEmpty)
    }

    /// The program that writes has the file open to the end.
    @Test func itIsCompletedByASetting() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        let content = Representation(size: 300_000, seed: 4)
        let recorder = try Recorder(content, at: home.file("recording"))
        try recorder.write(to: 200_000)
        try await enqueue(home, server.url("tus/a?options=1"), ["--settle", "0s"])
        let engine = try home.start("daemon")
        try await eventually("it has come") { try await shown(home)["bytesDone"] == 200_000 }
        try recorder.write(to: 300_000)
        let set = try await home.run("set", "1", "--complete")
        #expect(set.status == 0, "\(set.errors)")
        try await eventually("it is complete") { try await shown(home)["state"] == "completed" }
        try content.verify(file: server.file("a"))
        try recorder.close()
        engine.send(SIGTERM)
        _ = try await engine.wait()
        let again = try await home.run("set", "1", "--complete")
        #expect(again.status == 5, "\(again)")
    }

    @Test func whatShrinksFails() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        let recorder = try Recorder(
            Representation(size: 9_000, seed: 5), at: home.file("recording"))
        try recorder.write(to: 9_000)
        try await enqueue(home, server.url("tus/a?options=1"), [])
        let engine = try home.start("daemon")
        try await eventually("it has come") { try await shown(home)["bytesDone"] == 9_000 }
        truncate(home.file("recording"), 100)
        try await eventually("it fails") { try await shown(home)["state"] == "failed" }
        #expect(try await shown(home)["error"]["code"] == "sourceChanged")
        try recorder.close()
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    /// A plain server would take the first bytes for the file.
    @Test func aServerThatOffersNothingGetsNothing() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try Representation(size: 9_000, seed: 6).write(to: home.file("recording"))
        for path in ["plain/a", "tus/a?options=1&nodefer=1"] {
            let result = try await home.run(
                "upload", "--wait", "-q", "--follow", "recording", server.url(path))
            #expect(result.status == 4 || result.status == 1, "\(result)")
            #expect(result.errors.contains("still written"), "\(result.errors)")
        }
        #expect(try server.methods.allSatisfy { $0 == "OPTIONS" })
    }

    @Test(
        arguments: [
            ["--protocol", "put"], ["--protocol", "post"], ["--form", "f"], ["--snapshot"],
            ["--if-changed", "restart"], ["--settle", "2d"], ["-r"],
            ["--checksum", "md5:d41d8cd98f00b204e9800998ecf8427e"],
        ])
    func whatCannotBeFollowedIsRefused(_ options: [String]) async throws {
        let home = try LonghaulHome()
        try Representation(size: 1, seed: 1).write(to: home.file("recording"))
        for url in ["http://127.0.0.1:9/f", "ftp://127.0.0.1:9/f"] {
            let words = ["upload", "--no-start", "--follow", "recording", url] + options
            let result = try await home.start(words).wait()
            #expect(result.status == 64, "\(words): \(result)")
        }
        let alone = try await home.run(
            "upload", "--no-start", "--settle", "5s", "recording", "http://127.0.0.1:9/f")
        #expect(alone.status == 64, "\(alone)")
        #expect(try await home.run("list", "--json").rows.isEmpty)
    }
}
