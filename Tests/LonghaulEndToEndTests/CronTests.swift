import Foundation
import LonghaulTestSupport
import Testing

/// The line of the README, run by a real cron: with a crontab and tables of its own, so that the
/// machine's are neither seen nor touched. cron looks once a minute, and so this takes minutes.
@Suite(.timeLimit(.minutes(60))) struct CronTests {
    private static let missing: [String] = {
        let programs = ["cron", "crontab", "unshare", "nsenter", "python3"]
        let absent = programs.filter { InstalledProgram.find($0) == nil }
        return (geteuid() == 0 ? [] : ["root"]) + absent
    }()

    /// What cron reads and writes, for it alone. It notices a change by whole seconds: one within
    /// the second of its start would go unseen, were all that it finds not old.
    private static func script() throws -> String { try Fixture.text("scripts/own-cron.sh") }

    private func startCron(_ home: LonghaulHome) async throws -> CLIProcess {
        let unshare = try #require(InstalledProgram.find("unshare"))
        let path = "/usr/sbin:/usr/bin:/sbin:/bin"
        let cron = try CLIProcess(
            unshare, ["--mount", "/bin/sh", "-c", Self.script()],
            environment: home.environment.merging(["PATH": path]) { $1 })
        try await cron.waitForOutput("ready")
        return cron
    }

    /// How many engines there have been.
    private func engines(_ home: LonghaulHome) async throws -> Int {
        let lease = try await home.stored("SELECT epoch FROM lease")
        return try #require(lease.first?["epoch"].int, "\(lease)")
    }

    private func install(_ cron: CLIProcess, _ home: LonghaulHome) async throws {
        let nsenter = try #require(InstalledProgram.find("nsenter"))
        let installed = try await CLIProcess.run(
            nsenter,
            [
                "--target", "\(cron.pid)", "--mount", try BuiltBinary.longhaul, "install",
                "--cron", "* * * * *", "--max-time", "15s",
            ], environment: home.environment)
        #expect(installed.output == "written: the lines in your crontab\n", "\(installed)")
    }

    /// What has failed comes by mail; a run in which all went well sends none.
    @Test(.enabled(if: missing.isEmpty, "skipped: there is no \(missing.joined(separator: ", "))"))
    func mailsWhatHasFailed() async throws {
        let home = try LonghaulHome()
        let cron = try await startCron(home)
        #expect(try await home.run("conditions", "--set", "power=external").status == 0)
        let before = try await engines(home)
        try await install(cron, home)
        try await eventually(within: .seconds(75), "cron runs it") {
            try await engines(home) > before
        }
        try await LoopbackServer.run { server in
            let url = server.url("a?status=404")
            _ = try await home.run(
                "job", "add", "j", "--retries", "0", "--", "sh", "-c", "echo it broke; exit 3")
            _ = try await home.run("enqueue", url, "-o", home.file("a"))
            var mail = ""
            try await eventually(within: .seconds(75), "a mail comes") {
                mail = (try? String(contentsOfFile: home.scratch("mail"), encoding: .utf8)) ?? ""
                return mail.contains("transfer 1 failed")
            }
            #expect(
                mail.contains("job j failed: exit status 3; it said: it broke; `longhaul job log"),
                "\(mail)")
            // One mail, without the sentence at the end of a run.
            #expect(mail.components(separatedBy: "Subject: ").count == 2, "\(mail)")
            #expect(!mail.contains("completed"), "\(mail)")
        }
        withExtendedLifetime(cron) {}
    }

    @Test(.enabled(if: missing.isEmpty, "skipped: there is no \(missing.joined(separator: ", "))"))
    func waitsOnBatteryRunsOnPowerAndStaysInItsBox() async throws {
        let home = try LonghaulHome()
        let cron = try await startCron(home)
        let minute = Duration.seconds(75)
        func set(_ power: String) async throws {
            let given = "power=\(power),network=unmetered,idle=yes"
            #expect(try await home.run("conditions", "--set", given).status == 0)
        }
        var last = JSONValue.null
        func transfer() async throws -> JSONValue {
            last = try #require(try await home.run("show", "1", "--json").rows.first)
            return last
        }
        try await LoopbackServer.run { server in
            try await set("battery")
            let url = server.url("a.bin?size=24M&seed=4&etag=v1&rate=1M")
            let asked = try await home.run(
                "enqueue", url, "-o", home.file("a"), "--discretionary", "--connections", "1")
            #expect(asked.status == 0, "\(asked.errors)")
            try await install(cron, home)
            let before = try await engines(home)
            try await eventually(within: minute, "cron runs it on battery") {
                try await engines(home) > before
            }
            #expect(try await transfer()["state"] == "waiting")
            #expect(server.log.count == 0)

            try await set("external")
            try await eventually(within: minute, "it runs on power: \(last)") {
                try await transfer()["state"] == "running"
            }
            try await eventually("it stops at the end of the box: \(last)") {
                try await transfer()["state"] == "waiting"
            }
            let kept = try #require(try await transfer()["bytesDone"].int)
            #expect(kept > 4 << 20 && kept < 24 << 20, "\(kept)")
            try await eventually("the engine has left") {
                try await home.run("status", "--json").rows.first?["engine"] == .null
            }

            try await eventually(within: .seconds(150), "it goes on in the next: \(last)") {
                try await transfer()["state"] == "completed"
            }
            let end = try await transfer()
            #expect(end["bytesFetched"].int == 24 << 20)
            #expect(server.log.count >= 2)
        }
        withExtendedLifetime(cron) {}
    }
}
