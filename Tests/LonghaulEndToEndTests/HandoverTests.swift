import Foundation
import LonghaulTestSupport
import Testing

/// A daemon whose program is replaced while it works: the new one goes on in the same process.
@Suite(.timeLimit(.minutes(60))) struct HandoverTests {
    /// A copy of the command that can be replaced.
    private func install(_ home: LonghaulHome) async throws -> String {
        let path = home.scratch("longhaul")
        try await BuiltBinary.copy(BuiltBinary.longhaul, to: path)
        return path
    }

    /// Puts another file under the same name, as packages do.
    private func replace(_ path: String) async throws {
        try await BuiltBinary.copy(path, to: path + ".new")
        try #require(rename(path + ".new", path) == 0)
    }

    private func file(_ path: String) -> UInt64? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.systemFileNumber] as? UInt64
    }

    private func program(of pid: pid_t) -> UInt64? {
        var status = stat()
        return stat("/proc/\(pid)/exe", &status) == 0 ? UInt64(status.st_ino) : nil
    }

    private func daemon(_ path: String, _ home: LonghaulHome) throws -> CLIProcess {
        try CLIProcess(
            path, ["daemon"], environment: home.environment, directory: home.scratch("files"))
    }

    /// A download keeps its bytes, and a job is one run with one log.
    @Test func theNewProgramGoesOn() async throws {
        let plain = try LonghaulHome()
        let socket = try NotifySocket(in: plain.scratch)
        let home = plain.with(["NOTIFY_SOCKET": socket.path])
        let jobs = JobHome(plain)
        let path = try await install(home)
        try await jobs.add(
            "j", body: "n=0; while [ ! -e $D/go ]; do n=$((n+1)); echo line $n; sleep 0.02; done")
        try await LoopbackServer.run { server in
            _ = try await plain.run(
                "enqueue", server.url("a.bin?size=6M&etag=v1&stall=3M&stalls=1"))
            let daemon = try daemon(path, home)
            try await eventually("the job runs") { jobs.lines("started").count == 1 }
            try await eventually("half of the file is there") {
                try await plain.run("show", "1", "--json").rows.first?["bytesDone"].int ?? 0
                    >= 3 << 20
            }
            try await replace(path)
            #expect(program(of: daemon.pid) != file(path))

            daemon.send(SIGUSR2)
            try await eventually("the new program runs") { program(of: daemon.pid) == file(path) }
            try await eventually("it is ready") { socket.count("READY=1") == 2 }
            #expect(!socket.lines.contains("STOPPING=1"))
            #expect(socket.count("RELOADING=1") == 1)
            let engine = try await plain.run("status", "--json").rows.first?["engine"]
            #expect(engine?["pid"].int == Int(daemon.pid))

            try await eventually("the second request goes on with the bytes") {
                server.log.all.contains { $0["Range"]?.hasPrefix("bytes=3145728-") == true }
            }
            #expect(try await plain.run("wait", "1").status == 0)
            try plain.scratch.write("", to: "go")
            try await eventually("the job ends") { try await jobs.job("j")["state"] == "ended" }
            #expect(try await jobs.job("j")["runs"].items.count == 1)
            #expect(try await jobs.lastRun("j")["exitStatus"] == 0)
            #expect(jobs.lines("started").count == 1)
            let log = try await jobs.log("j")
            #expect(log == (1...log.count).map { "line \($0)" })
            daemon.send(SIGTERM)
            #expect(try await daemon.wait().status == 0)
        }
    }

    /// The successor would not start with such a file: the program stays what it is.
    @Test func anInvalidConfigurationHandsNothingOver() async throws {
        let plain = try LonghaulHome()
        let configuration = try plain.scratch.write("{}", to: "config.json")
        let home = plain.with(["LONGHAUL_CONFIG": configuration])
        let path = try await install(home)
        let daemon = try daemon(path, home)
        try await eventually("it is the engine") {
            try await home.run("status", "--json").rows.first?["engine"]["pid"].int != nil
        }
        try await replace(path)
        try plain.scratch.write(#"{"limits": {"runing": 3}}"#, to: "config.json")
        daemon.send(SIGUSR2)
        try await daemon.waitForOutput("does not hand over")
        #expect(program(of: daemon.pid) != file(path))
        try plain.scratch.write("{}", to: "config.json")
        daemon.send(SIGUSR2)
        try await eventually("the new program runs") { program(of: daemon.pid) == file(path) }
        daemon.send(SIGTERM)
        _ = try await daemon.wait()
    }
}
