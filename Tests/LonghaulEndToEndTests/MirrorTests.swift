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
}
