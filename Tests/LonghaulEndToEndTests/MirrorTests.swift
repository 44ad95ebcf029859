import Foundation
import LonghaulTestSupport
import Testing

/// What a server is like concerns those that have no other.
@Suite struct MirrorTests {
    private func complete(_ home: LonghaulHome, _ count: Int) async throws {
        let engine = try home.start("daemon")
        try await eventually("all have come") {
            try await home.run("list", "--all", "--json", "--state", "completed").rows.count
                == count
        }
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    @Test func aDeadServerHoldsNobodyBackWhoHasAMirror() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let lines = (1...30).map { index in
                "http://127.0.0.1:1/\(index)\t\(server.url("f\(index)?size=1K"))\n"
                    + "  out=\(home.file("f\(index)"))\n"
            }
            let added = try await home.run(
                "enqueue", "--no-start", "-", input: lines.joined())
            #expect(added.status == 0, "\(added.errors)")
            try await complete(home, 30)
        }
    }

    @Test func aPauseHoldsNobodyBackWhoHasAMirror() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            try await LoopbackServer.run { other in
                let pausing = server.url("a?status=503&retryafter=3600")
                _ = try await home.run("enqueue", pausing, "-o", home.file("a"))
                let engine = try home.start("daemon")
                try await eventually("it has asked for a pause") {
                    try await !home.stored(
                        "SELECT 1 FROM origin WHERE pauseUntil > 0"
                    ).isEmpty
                }
                _ = try await home.run(
                    "enqueue", server.url("b?size=1K"), "--mirror", other.url("b?size=1K"), "-o",
                    home.file("b"))
                try await eventually("the other has come") {
                    try await home.run("show", "2", "--json").rows.first?["state"] == "completed"
                }
                #expect(server.log.all.count == 1 && other.log.all.count == 1)
                engine.send(SIGTERM)
                _ = try await engine.wait()
            }
        }
    }

    /// It is asked once, and each transfer goes on at its own server soon.
    @Test func aMirrorsPauseIsSharedAndConcernsItAlone() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { mirror in
            try await LoopbackServer.run { server in
                for index in 1...2 {
                    let get = try await home.run(
                        "get", "-q", server.url("\(index)?size=1K&status=500&statuses=1"),
                        "--mirror", mirror.url("\(index)?status=429&retryafter=3600"), "-o",
                        home.file("\(index)"))
                    #expect(get.status == 0, "\(get.errors)")
                }
                #expect(mirror.log.all.count == 1)
            }
        }
    }

    /// Each brings a part of the file, proven by its digest or by the tag that both give it; an
    /// engine that is killed in the middle costs nothing of that.
    @Test(arguments: ["v1", "v2"]) func severalBringOneFile(tagOfMirror: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            try await LoopbackServer.run { mirror in
                let url = server.url("a?size=24M&seed=4&etag=v1&rate=3M")
                let file = try server.expected(url)
                let digest = ["--checksum", "sha256:\(file.sha256)"]
                let added = try await home.start(
                    [
                        "enqueue", url, "-o", home.file("a"), "--connections", "2", "--mirror",
                        mirror.url("a?size=24M&seed=4&etag=\(tagOfMirror)&rate=3M"),
                    ] + (tagOfMirror == "v1" ? [] : digest)
                ).wait()
                #expect(added.status == 0, "\(added.errors)")
                let engine = try home.start("run")
                try await eventually("both have brought something") {
                    [server, mirror].allSatisfy {
                        $0.log.all.contains { $0.bodyBytesSent > 4 << 20 }
                    }
                }
                engine.send(SIGKILL)
                _ = try await engine.wait()
                let run = try await home.start("run").wait()
                #expect(run.status == 0, "\(run.errors)")
                try file.verify(file: home.file("a"))
                let shown = try #require(try await home.run("show", "1", "--json").rows.first)
                #expect(shown["restarts"] == 0 && shown["state"] == "completed", "\(shown)")
                #expect(shown["bytesFetched"].int ?? .max < 28 << 20, "\(shown)")
            }
        }
    }

    /// The mirror has other bytes of the same length: the digest finds that, and the own URL brings
    /// the file alone. Without a digest the tag tells at once.
    @Test(arguments: [true, false]) func aMirrorWithAnotherFile(hasDigest: Bool) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            try await LoopbackServer.run { mirror in
                let url = server.url("a?size=24M&seed=4&etag=v1&rate=6M")
                let file = try server.expected(url)
                let digest = ["--checksum", "sha256:\(file.sha256)"]
                let get = try await home.start(
                    [
                        "get", "-q", url, "-o", home.file("a"), "--connections", "2", "--mirror",
                        mirror.url("a?size=24M&seed=5&etag=v2&rate=6M"),
                    ] + (hasDigest ? digest : [])
                ).wait()
                #expect(get.status == 0, "\(get.errors)")
                try file.verify(file: home.file("a"))
                #expect(!mirror.log.all.isEmpty)
                let shown = try #require(try await home.run("show", "1", "--json").rows.first)
                #expect(shown["restarts"].int == (hasDigest ? 1 : 0), "\(shown)")
            }
        }
    }
}
