import Foundation
import LonghaulTestSupport
import Testing

/// A bundle survives kills at any moment: what is proved stays, and nothing counts as ready before
/// it is whole.
@Suite struct BundleKillTests {
    @Test(arguments: ["plain", "versions"])
    func noProvedByteIsFetchedAgainAfterKills(layout: String) async throws {
        try await LoopbackServer.run { server in
            let home = try BundleHome(server: server)
            let files = try (1...60).map {
                try home.file("d\($0 % 7)/\($0)", "f\($0)?size=40K&seed=\($0)&rate=400K")
            }
            try home.write(files)
            let out = home.home.file("out")
            _ = try await home.run(
                "bundle", "add", "b", "list:\(home.list)", "--to", out, "--layout", layout)
            var random = SystemRandomNumberGenerator()
            /// What was complete after a kill, and how many requests had come by then.
            var known: [(complete: [String], requests: Int)] = []
            for _ in 1...8 {
                let engine = try home.home.start("run")
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &random)))
                engine.send(SIGKILL)
                _ = try? await engine.wait()
                let complete = try await home.home.stored(
                    "SELECT url FROM bundleFile WHERE state = 2"
                ).compactMap { $0["url"].string }
                known.append((complete, server.log.count))
                let ready = try await home.bundle("b")["state"] == "ready"
                #expect(!ready || complete.count == files.count)
            }
            _ = try await home.run("bundle", "ensure", "b")
            let root = try await home.run("bundle", "path", "b").output.dropLast()
            try home.verify(files, in: String(root))
            _ = try await home.run("bundle", "verify", "b")
            // No later engine has asked for what was complete.
            for (complete, requests) in known {
                let later = server.log.all.dropFirst(requests).map(\.target)
                for url in complete {
                    #expect(!later.contains { url.hasSuffix($0) }, "\(url)")
                }
            }
        }
    }
}
