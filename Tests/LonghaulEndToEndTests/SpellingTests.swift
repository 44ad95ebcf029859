import Foundation
import LonghaulTestSupport
import Testing

/// Names that look the same and are not: `é` in one scalar, and as `e` with an accent put to it.
/// Trees that were copied from a Mac have both.
@Suite(.timeLimit(.minutes(60))) struct SpellingTests {
    private static let spellings = ["caf\u{E9}", "cafe\u{301}"]

    /// Swift's own functions for files would take one for the other.
    private func home() throws -> (LonghaulHome, [String]) {
        let home = try LonghaulHome()
        let directories = Self.spellings.map { home.file($0) }
        for directory in directories { try #require(mkdir(directory, 0o755) == 0) }
        return (home, directories)
    }

    @Test func directoriesAreOthers() async throws {
        let (home, directories) = try home()
        try await LoopbackServer.run { server in
            let urls = (0..<8).map { server.url("a.bin?size=20K&etag=v1&seed=\($0)") }
            for (number, url) in urls.enumerated() {
                let path = directories[number % 2] + "/f\(number / 2)"
                let result = try await home.run(
                    "enqueue", "--no-start", url, "-o", path, "--if-exists", "overwrite")
                #expect(result.status == 0, "\(result.errors)")
            }
            #expect(try await home.run("run").status == 0)
            for (number, url) in urls.enumerated() {
                try server.expected(url).verify(
                    file: directories[number % 2] + "/f\(number / 2)")
            }
        }
    }

    /// The file is handed down to one whose directory only looks the same.
    @Test func heirsAreElsewhere() async throws {
        let (home, directories) = try home()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=1M&etag=v1&seed=3&rate=700K")
            for (name, directory) in zip(["s1", "s2"], directories) {
                _ = try await home.run(
                    "enqueue", "--no-start", url, "-o", directory + "/" + name)
            }
            let engine = try home.start("daemon")
            try await server.log.waitForCount(1)
            #expect(try await home.run("cancel", "1").status == 0)
            #expect(try await home.run("wait", "2", within: .seconds(60)).status == 0)
            try server.expected(url).verify(file: directories[1] + "/s2")
            #expect(access(directories[0] + "/s2", F_OK) != 0)
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    @Test func passwordsAreOthers() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=20K&etag=v1&rate=10K")
            let list = Self.spellings.map {
                #"{"url":"\#(url)","destination":"\#(UUID())","user":"me:\#($0)"}"#
            }
            let enqueued = try await home.run(
                "enqueue", "--no-start", "--input", "-", input: list.joined(separator: "\n"))
            #expect(enqueued.status == 0, "\(enqueued.errors)")
            #expect(try await home.run("run").status == 0)
            let sent = server.log.all.compactMap { $0["Authorization"] }
            let expected = Self.spellings.map {
                "Basic " + Data("me:\($0)".utf8).base64EncodedString()
            }
            #expect(Set(sent) == Set(expected))
        }
    }

    /// Different files behind links that look the same.
    @Test func linksAreOthers() async throws {
        let home = try LonghaulHome()
        for (spelling, real) in zip(Self.spellings, ["real1", "real2"]) {
            try #require(mkdir(home.file(real), 0o755) == 0)
            try #require(symlink(real, home.file(spelling)) == 0)
        }
        let list = Self.spellings.map {
            "http://127.0.0.1:1/\($0.utf8.count)\n  out=\(home.file($0))/q\n"
        }
        let result = try await home.run(
            "enqueue", "--no-start", "--input", "-", input: list.joined())
        #expect(result.status == 0, "\(result.errors)")
    }
}
