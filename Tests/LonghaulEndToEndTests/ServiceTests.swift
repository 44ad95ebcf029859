import Foundation
import LonghaulTestSupport
import Testing

/// What `install --systemd` sets up, with a real service manager. One test at a time: the managers
/// have the control groups of the tests in common.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: OwnSystemd.missing == nil, "skipped: \(OwnSystemd.missing ?? "")"))
struct ServiceTests {
    private static let service = "longhaul.service"
    private static let path = "longhaul.path"

    private func engine(_ home: LonghaulHome) async throws -> JSONValue {
        try #require(try await home.run("status", "--json").rows.first)["engine"]
    }

    @Test func theServiceIsTheEngine() async throws {
        let manager = try await OwnSystemd()
        let home = manager.home
        let installed = try await home.run("install", "--systemd", "--json")
        #expect(installed.status == 0, "\(installed.errors)")
        let commands = try installed.rows.filter { $0["step"] == "command" }
        #expect(commands.count == 2 && commands.allSatisfy { $0["ok"] == true })
        // Started, and ready: it has told so.
        for unit in [Self.service, Self.path, "longhaul-run.timer"] {
            #expect(try await manager.property("ActiveState", of: unit) == "active", "\(unit)")
        }
        #expect(
            try await manager.property("StatusText", of: Self.service) == "Nothing to transfer now")
        #expect(try await manager.property("WatchdogUSec", of: Self.service) == "2min")
        let pid = try await manager.property("MainPID", of: Self.service)
        #expect(try await engine(home)["pid"].int.map(String.init) == pid)
        #expect(try await engine(home)["mode"] == "daemon")

        // Killed, it is back, and goes on with what it had.
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=6M&seed=2&etag=v1&rate=1M")
            let asked = try await home.run(
                "enqueue", url, "-o", home.file("a.bin"), "--connections", "1")
            #expect(asked.status == 0, "\(asked.errors)")
            try await eventually("it moves") {
                let shown = try await home.run("show", "1", "--json").rows.first
                return shown?["bytesDone"].int ?? 0 > 1 << 20
            }
            try await manager.kill(Self.service, "KILL")
            try await eventually("it is started again") {
                let now = try await manager.property("MainPID", of: Self.service)
                return now != pid && now != "0"
            }
            #expect(try await home.run("wait", "1").status == 0)
            let shown = try await home.run("show", "1", "--json").rows.first
            #expect(shown?["bytesFetched"].int ?? .max < 7 << 20)
        }
        // The program hands over to the installed one in the same process.
        let main = try await manager.property("MainPID", of: Self.service)
        #expect(try await manager.systemctl("reload", Self.service).status == 0)
        try await eventually("it is ready again") {
            let state = try await manager.property("ActiveState", of: Self.service)
            let pid = try await engine(home)["pid"].int.map(String.init)
            return state == "active" && pid == main
        }
        #expect(try await manager.property("MainPID", of: Self.service) == main)

        // Beside it the timer's run has nothing to do.
        #expect(try await manager.systemctl("start", "longhaul-run.service").status == 0)

        let gone = try await home.run("uninstall")
        #expect(gone.status == 0, "\(gone.output)\(gone.errors)")
        #expect(try await engine(home) == .null)
        #expect(try await manager.property("LoadState", of: Self.service) == "not-found")
    }

    /// With no engine there, asking for one starts the service and no engine of the command's own.
    @Test func whatIsWantedActivatesIt() async throws {
        let manager = try await OwnSystemd()
        let home = manager.home.with(["LONGHAUL_AUTOSTART": nil])
        #expect(try await home.run("install", "--systemd").status == 0)
        for _ in 1...2 {
            _ = try await manager.systemctl("stop", Self.service)
            #expect(try await engine(home) == .null)
            // What is wanted before the manager has seen the end of the service, it does not see.
            try await eventually("it is watched again") {
                try await manager.property("SubState", of: Self.path) == "waiting"
            }
            try await LoopbackServer.run { server in
                let asked = try await home.run(
                    "enqueue", server.url("a.bin?size=10K"), "-o", home.file("a.bin"))
                #expect(asked.status == 0, "\(asked.errors)")
                let id = asked.output.trimmingCharacters(in: .newlines)
                #expect(try await home.run("wait", id).status == 0)
                let pid = try await manager.property("MainPID", of: Self.service)
                let holder = try await engine(home)
                let state = try await manager.systemctl("status", Self.service)
                #expect(
                    holder["pid"].int.map(String.init) == pid, "\(holder) \(state.output)")
                _ = try await home.run("remove", id)
                try FileManager.default.removeItem(atPath: home.file("a.bin"))
            }
        }
        #expect(try await home.run("uninstall").status == 0)
    }

    /// A job outlives the service that began it, and a failing one is no failure of the service.
    @Test func itRunsJobs() async throws {
        let manager = try await OwnSystemd()
        let jobs = JobHome(manager.home)
        try await jobs.run("install", "--systemd")
        let first = try await manager.property("MainPID", of: Self.service)
        try await jobs.add("j", body: "while [ ! -e $D/go ]; do sleep 0.02; done; echo done")
        try await jobs.add("fails", "--retries", "0", body: "exit 3")
        try await eventually("they run") { jobs.lines("started").count == 2 }
        try await eventually("the one that fails has ended") {
            try await jobs.job("fails")["runs"][0]["exitStatus"] == 3
        }
        #expect(try await manager.systemctl("restart", Self.service).status == 0)
        try await eventually("another engine has it") {
            let pid = try await manager.property("MainPID", of: Self.service)
            let holder = try await engine(jobs.home)["pid"].int.map(String.init)
            return pid != first && holder == pid
        }
        #expect(try await jobs.job("j")["state"] == "running")
        try jobs.home.scratch.write("", to: "go")
        try await eventually("it has ended") { try await jobs.job("j")["state"] == "ended" }
        let job = try await jobs.job("j")
        #expect(job["runs"].items.map { $0["result"] } == ["success"])
        #expect(try await jobs.log("j") == ["done"])
        #expect(try await manager.property("ActiveState", of: Self.service) == "active")
        try await jobs.run("uninstall")
    }
}
