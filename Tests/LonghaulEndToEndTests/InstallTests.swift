import Foundation
import LonghaulTestSupport
import Testing

/// `install` and `uninstall` by the built command. The user's crontab is a file here, and the
/// service manager a list of what it was told.
@Suite(.timeLimit(.minutes(60))) struct InstallTests {
    /// A home in which `crontab` and, if asked for, `systemctl` are stand-ins.
    private func home(manager: Bool = false) throws -> LonghaulHome {
        let home = try LonghaulHome()
        let bin = try home.scratch.directory("bin")
        try program(
            home, "crontab",
            """
            table='\(home.scratch("table"))'
            case "$1" in
            -l) [ -e "$table" ] || { echo "no crontab for $(id -un)" >&2; exit 1; }; cat "$table" ;;
            -r) rm "$table" ;;
            -) cat >"$table.new" && mv "$table.new" "$table" ;;
            esac
            """)
        try program(
            home, "systemctl",
            manager
                ? "[ \"$2\" = show ] || echo \"$*\" >>'\(home.scratch("told"))'"
                : "echo 'Failed to connect to bus' >&2; exit 1")
        return home.with(["PATH": "\(bin):/usr/bin:/bin"])
    }

    private func program(_ home: LonghaulHome, _ name: String, _ script: String) throws {
        let path = try home.scratch.write("#!/bin/sh\n\(script)\n", to: "bin/\(name)")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    private func units(_ home: LonghaulHome) -> [String] {
        let folder = home.scratch(".config/systemd/user")
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    private static let all = [
        "longhaul-run.service", "longhaul-run.timer", "longhaul.path", "longhaul.service",
    ]

    // MARK: - systemd

    @Test func unitsComeAndGo() async throws {
        let home = try home(manager: true)
        let first = try await home.run("install", "--systemd", "--max-bytes", "2G", "--json")
        #expect(first.status == 0, "\(first.errors)")
        let rows = try first.rows
        #expect(rows.prefix(4).allSatisfy { $0["change"] == "written" })
        #expect(units(home) == Self.all)
        #expect(home.scratch.exists("state/wanted"))
        let run = try home.scratch.text(of: ".config/systemd/user/longhaul-run.service")
        #expect(run.contains(" run --max-time 50m --max-bytes 2G\n"))
        #expect(run.contains("\nEnvironment=LONGHAUL_HOME=\(home.state)\n"))

        let again = try await home.run("install", "--systemd", "--max-bytes", "2G")
        #expect(again.output.components(separatedBy: "unchanged: ").count == 5, "\(again.output)")
        _ = try await home.run("install", "--systemd")
        let told = try home.scratch.text(of: "told").split(separator: "\n")
        let enable = "--user enable --now longhaul.service longhaul.path longhaul-run.timer"
        #expect(
            told == [
                "--user daemon-reload", enable[...], "--user daemon-reload", enable[...],
                "--user daemon-reload", enable[...],
                "--user try-restart longhaul.service longhaul.path longhaul-run.timer",
            ])

        let gone = try await home.run("uninstall")
        #expect(gone.status == 0, "\(gone.errors)")
        #expect(!home.scratch.exists(".config/systemd") && !home.scratch.exists("state/wanted"))
        #expect(try await home.run("uninstall").output == "nothing is installed\n")
    }

    /// Nothing would run: that is no success. What was written stays for the user to start.
    @Test func withoutAManagerItFails() async throws {
        let home = try home()
        let result = try await home.run("install", "--systemd")
        #expect(result.status == 5, "\(result.errors)")
        #expect(units(home) == Self.all)
        for line in ["daemon-reload", "enable --now longhaul.service"] {
            #expect(result.output.contains("failed: systemctl --user \(line)"), "\(result.output)")
        }
        #expect(result.output.contains("to do: loginctl enable-linger"), "\(result.output)")
        #expect(result.output.contains("XDG_RUNTIME_DIR=/run/user/$(id -u) longhaul install"))
        #expect(try await home.run("uninstall").status == 0)
        #expect(!home.scratch.exists(".config/systemd"))
    }

    /// A package manager leads the link to the next version; the file behind it goes.
    @Test(arguments: ["by path", "by PATH"]) func aLinkIsWrittenAsItWasCalled(
        how: String
    ) async throws {
        let home = try home(manager: true)
        let link = home.scratch("bin/lh")
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: BuiltBinary.longhaul)
        let program = how == "by path" ? link : "/usr/bin/env"
        let words = (how == "by path" ? [] : ["lh"]) + ["install", "--systemd"]
        let result = try await CLIProcess.run(program, words, environment: home.environment)
        #expect(result.status == 0, "\(result.errors)")
        let unit = try home.scratch.text(of: ".config/systemd/user/longhaul.service")
        #expect(unit.contains("\nExecStart=\(link) daemon"), "\(unit)")
    }

    @Test func whatSomebodyElseWroteStays() async throws {
        let home = try home(manager: true)
        _ = try home.scratch.directory(".config/systemd/user")
        try home.scratch.write("[Unit]\n", to: ".config/systemd/user/longhaul.path")
        #expect(try await home.run("install", "--systemd").status == 5)
        #expect(units(home) == ["longhaul.path"])
        #expect(try await home.run("uninstall").status == 0)
        #expect(units(home) == ["longhaul.path"])
    }

    /// Nothing for systemd to complain of, and less exposed than a unit that restricts nothing
    /// (9.x).
    @Test(
        .enabled(
            if: InstalledProgram.find("systemd-analyze") != nil,
            "skipped: there is no systemd-analyze"))
    func systemdUnderstandsTheUnits() async throws {
        let home = try home().with(["XDG_RUNTIME_DIR": LonghaulHome().scratch.path])
        _ = try await home.run("install", "--systemd")
        let analyze = try #require(InstalledProgram.find("systemd-analyze"))
        let paths = Self.all.map { home.scratch(".config/systemd/user/\($0)") }
        let runtime = try home.scratch.directory("runtime")
        let environment = home.environment.merging(["XDG_RUNTIME_DIR": runtime]) { $1 }
        let verified = try await CLIProcess.run(
            analyze, ["--user", "verify"] + paths, environment: environment)
        #expect(verified.status == 0)
        #expect(verified.output + verified.errors == "")
        for path in paths where path.hasSuffix(".service") {
            let judged = try await CLIProcess.run(
                analyze,
                ["security", "--user", "--offline=true", "--threshold=67", "--no-pager", path],
                environment: environment)
            #expect(judged.status == 0, "\(judged.output.suffix(200))")
        }
    }

    // MARK: - cron

    @Test func theLineComesAndGoes() async throws {
        let home = try home()
        let before = "MAILTO=me@example.org\n# mine\n5 4 * * * backup\n"
        try home.scratch.write(before, to: "table")
        let spec = ["install", "--cron", "*/30 * * * *", "--max-time", "25m"]
        for change in ["written", "unchanged"] {
            let result = try await home.start(spec).wait()
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.output == "\(change): the lines in your crontab\n")
        }
        let binary = URL(fileURLWithPath: try BuiltBinary.longhaul).resolvingSymlinksInPath().path
        let lines = try home.scratch.text(of: "table").split(separator: "\n").map(String.init)
        let line =
            "*/30 * * * * LONGHAUL_HOME=\(home.state) \(binary) run --max-time 25m >/dev/null"
        #expect(lines.dropFirst(4).first == line)
        let shown = try await home.start(spec + ["--print"]).wait()
        #expect(shown.output == lines.dropFirst(3).map { $0 + "\n" }.joined())
        #expect(try await home.run("uninstall").status == 0)
        #expect(try home.scratch.text(of: "table") == before)
    }

    @Test func aCrontabOfOursAloneIsGoneAfterwards() async throws {
        let home = try home()
        #expect(try await home.run("install", "--cron", "@hourly").status == 0)
        #expect(home.scratch.exists("table"))
        let result = try await home.run("uninstall", "--json")
        #expect(try result.rows.map { $0["change"] } == ["removed"])
        #expect(!home.scratch.exists("table"))
    }

    @Test(arguments: [
        ["install"], ["install", "--systemd", "--cron", "@daily"],
        ["install", "--cron", "61 * * * *"],
        ["install", "--cron", "@daily", "--max-time", "soon"],
        ["install", "--systemd", "--max-bytes", "x", "--print"],
    ])
    func refusesWhatItDoesNotUnderstand(arguments: [String]) async throws {
        let home = try home(manager: true)
        #expect(try await home.start(arguments).wait().status == 64)
        #expect(!home.scratch.exists("table") && units(home) == [])
    }

    /// Nothing is touched, not even a store is made.
    @Test func printOnlyShows() async throws {
        let home = try home(manager: true)
        let result = try await home.run("install", "--systemd", "--print", "--json")
        let files = try result.rows.compactMap { $0["path"].string }
        #expect(files.map { ($0 as NSString).lastPathComponent }.sorted() == Self.all)
        #expect(units(home) == [] && !home.scratch.exists("state"))
        #expect(!home.scratch.exists("told"))
    }

    // MARK: - The service does the work

    /// The file that a path unit watches is touched, and the engine that this starts is the one.
    @Test func whoWantsAnEngineAsksTheService() async throws {
        let home = try home().with(["LONGHAUL_AUTOSTART": nil])
        _ = try await home.run("install", "--systemd")
        let wanted = home.scratch("state/wanted")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: wanted)
        func isTouched() throws -> Bool {
            let date = try FileManager.default.attributesOfItem(atPath: wanted)[.modificationDate]
            return (date as? Date).map { $0.timeIntervalSince1970 > 1 } ?? false
        }
        try await LoopbackServer.run { server in
            let asked = try home.start("enqueue", server.url("a.bin?size=10K"))
            try await eventually { try isTouched() }
            // The service that this starts; or, when it is slow to come, an engine of the command.
            let service = try home.start("daemon", "--exit-when-idle", "1s")
            #expect(try await asked.wait().status == 0)
            #expect(try await home.run("wait", "1").status == 0)
            #expect(try await service.wait().status == 0)
            let engine = try #require(try await home.run("status", "--json").rows.first)["engine"]
            if let pid = engine["pid"].int { kill(pid_t(pid), SIGTERM) }
        }
    }
}
