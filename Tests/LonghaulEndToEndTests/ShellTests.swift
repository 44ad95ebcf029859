import Foundation
import LonghaulTestSupport
import Testing

/// What shells do to a command: hang-ups that are ignored, readers that go away, closed streams.
@Suite(.timeLimit(.minutes(60))) struct ShellTests {
    /// Runs the command in a shell, which has it as its arguments.
    private func shell(_ script: String) -> [String] { ["/bin/sh", "-c", script, "sh"] }

    @Test func anIgnoredHangUpEndsNothing() async throws {
        let home = try LonghaulHome()
        let deaf = home.through(shell("trap '' HUP; exec \"$@\""))
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=600K&rate=200K")
            let get = try deaf.start("get", "-q", url)
            try await eventually("it runs") { try !home.scratch.names(in: "files").isEmpty }
            let wait = try deaf.start("wait", "1")
            // Long enough for it to have begun; nothing tells that it waits.
            try await Task.sleep(for: .milliseconds(500))
            get.send(SIGHUP)
            wait.send(SIGHUP)
            #expect(try await get.wait().ending == .exited(0))
            #expect(try await wait.wait().ending == .exited(0))
        }
    }

    /// The shell and the kernel both send the signal when a terminal is closed.
    @Test func aHangUpLeavesTheWorkToABackgroundEngine() async throws {
        let home = try LonghaulHome().with(["LONGHAUL_AUTOSTART": nil])
        try await LoopbackServer.run { server in
            let get = try home.start("get", server.url("a.bin?size=600K&rate=200K"))
            try await eventually("it runs") {
                try await home.run("list", "--json").rows.first?["state"] == "running"
            }
            get.send(SIGHUP)
            get.send(SIGHUP)
            let result = try await get.wait()
            #expect(result.ending == .signalled(SIGHUP))
            #expect(result.errors.contains("a background engine carries on"))
            #expect(try await home.run("wait", "1", "--timeout", "20s").status == 0)
            #expect(try await home.run("list", "--all", "--json").rows.count == 1)
        }
        if let pid = try await home.run("status", "--json").rows.first?["engine"]["pid"].int {
            kill(pid_t(pid), SIGTERM)
        }
    }

    /// A reader that goes away ends the printing, not the work.
    @Test(arguments: [
        "(sleep .2; exec \"$@\") | true", "exec \"$@\" >&- 2>&- <&-", "exec \"$@\" >/dev/full",
    ])
    func printingIsNotTheWork(_ script: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=10K")
            _ = try await home.with(["LONGHAUL_AUTOSTART": nil]).through(shell(script))
                .run("enqueue", url)
            #expect(try await home.run("wait", "1", "--timeout", "20s").status == 0)
        }
        if let pid = try await home.run("status", "--json").rows.first?["engine"]["pid"].int {
            kill(pid_t(pid), SIGTERM)
        }
    }
}
