import Foundation
import LonghaulTestSupport
import Testing

/// The daemon as a service manager and an operator see it.
@Suite(.timeLimit(.minutes(60))) struct DaemonTests {
    private func service(
        _ home: LonghaulHome, watchdog: Double? = nil
    ) throws -> (LonghaulHome, NotifySocket) {
        let socket = try NotifySocket(in: home.scratch)
        let microseconds = watchdog.map { String(Int($0 * 1_000_000)) }
        return (
            home.with(["NOTIFY_SOCKET": socket.path, "WATCHDOG_USEC": microseconds]), socket
        )
    }

    // MARK: - sd_notify

    @Test func saysWhenItIsReadyAndWhenItLeaves() async throws {
        let (home, socket) = try service(LonghaulHome())
        let daemon = try home.start("daemon")
        try await eventually { socket.lines.contains("READY=1") }
        #expect(try await home.run("status", "--json").rows.first?["engine"]["mode"] == "daemon")
        try await eventually { socket.lines.contains("STATUS=Nothing to transfer now") }
        try await LoopbackServer.run { server in
            _ = try await home.run("enqueue", server.url("a.bin?size=3M&rate=500K"))
            try await eventually { socket.lines.contains("STATUS=1 transfer runs") }
            _ = try await home.run("wait", "1")
        }
        try await eventually { socket.count("STATUS=Nothing to transfer now") == 2 }
        daemon.send(SIGTERM)
        #expect(try await daemon.wait().status == 0)
        #expect(socket.lines.contains("STOPPING=1"))
        #expect(!socket.lines.contains("WATCHDOG=1"))
    }

    /// Ready is who has the lease; until then the manager knows what it waits for.
    @Test func standsByUntilTheOtherEngineLeaves() async throws {
        let plain = try LonghaulHome()
        let first = try plain.start("daemon")
        try await eventually { try await plain.run("status", "--json").output.contains("daemon") }
        let (home, socket) = try service(plain)
        let second = try home.start("daemon", "--exit-when-idle", "1s")
        try await eventually {
            socket.lines.contains("STATUS=Standing by: another engine runs")
        }
        #expect(!socket.lines.contains("READY=1"))
        first.send(SIGKILL)
        try await eventually { socket.lines.contains("READY=1") }
        #expect(try await second.wait().status == 0)
    }

    /// Signs of life come from the engine's own thread: while a turn cannot go on, there are none.
    @Test(
        .enabled(if: InstalledProgram.find("python3") != nil, "skipped: there is no python3"))
    func anEngineThatHangsIsSilent() async throws {
        let (home, socket) = try service(LonghaulHome(), watchdog: 0.4)
        let daemon = try home.start("daemon")
        let start = ContinuousClock.now
        try await eventually { socket.count("WATCHDOG=1") > 5 }
        // Not more often than a quarter of the time.
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        #expect(Double(socket.count("WATCHDOG=1")) <= seconds / 0.1 + 1)
        // Somebody keeps the store, and the engine has something to write.
        let keeper = try CLIProcess(
            "/usr/bin/env",
            [
                "python3", "-c",
                Fixture.text("scripts/hold-store.py"), home.state,
            ], environment: home.environment)
        try await keeper.waitForOutput("held")
        // Seven times as long as it is ever silent otherwise.
        try await eventually("it is silent") {
            let last = socket.messages.last { $0.lines == ["WATCHDOG=1"] }
            return last.map { ContinuousClock.now - $0.at > .milliseconds(1400) } ?? false
        }
        let before = socket.count("WATCHDOG=1")
        try home.scratch.write("", to: "state/over")
        try await eventually { socket.count("WATCHDOG=1") > before + 2 }
        daemon.send(SIGTERM)
        #expect(try await daemon.wait().status == 0)
    }

    // MARK: - The configuration, read again

    private func configure(_ home: LonghaulHome, _ text: String) throws -> LonghaulHome {
        home.with(["LONGHAUL_CONFIG": try home.scratch.write(text, to: "config.json")])
    }

    private func running(_ home: LonghaulHome) async throws -> Int {
        try await home.run("list", "--state", "running", "--json").rows.count
    }

    @Test func hangUpReadsTheConfigurationAgain() async throws {
        let (base, socket) = try service(LonghaulHome())
        let home = try configure(base, #"{"limits": {"running": 1, "perOrigin": 8}}"#)
        try await LoopbackServer.run { server in
            for name in 1...3 {
                _ = try await home.run("enqueue", server.url("f\(name).bin?size=4M&stall=1M"))
            }
            let daemon = try home.start("daemon")
            try await eventually { try await running(home) == 1 }
            let first = try #require(
                try await home.run("list", "--state", "running", "--json").rows.first?["id"].int)

            _ = try configure(home, #"{"limits": {"running": 2, "perOrigin": 8}}"#)
            daemon.send(SIGHUP)
            try await eventually { try await running(home) == 2 }
            let messages = socket.messages.map(\.lines)
            let reload = try #require(messages.firstIndex { $0.first == "RELOADING=1" })
            #expect(messages[reload].last?.hasPrefix("MONOTONIC_USEC=") == true)
            #expect(messages[reload...].contains { $0.first == "READY=1" })

            _ = try configure(home, #"{"limits": {"runing": 3}}"#)
            daemon.send(SIGHUP)
            try await daemon.waitForOutput("'limits.runing' is not known")
            try await eventually {
                socket.lines.contains { $0.hasPrefix("STATUS=") && $0.contains("limits.runing") }
            }
            #expect(try await running(home) == 2)

            // Fewer places: what runs goes on.
            _ = try configure(home, #"{"limits": {"running": 1, "perOrigin": 8}}"#)
            daemon.send(SIGHUP)
            try await daemon.waitForOutput("running=1")
            #expect(try await running(home) == 2)
            let shown = try await home.run("show", "\(first)", "--json").rows.first
            #expect(shown?["attempts"].int == 1)
            #expect(daemon.isRunning)
            daemon.send(SIGTERM)
            #expect(try await daemon.wait().status == 0)
        }
    }

    /// A total rate that a window changes.
    @Test func theTotalRateHolds() async throws {
        let home = try configure(
            LonghaulHome(),
            #"{"limits": {"rate": "100M", "rates": ["00:00-23:59 400K", "23:59-00:00 400K"]}}"#)
        try await LoopbackServer.run { server in
            for name in 1...2 {
                _ = try await home.run("enqueue", server.url("f\(name).bin?size=600K"))
            }
            let start = ContinuousClock.now
            #expect(try await home.run("run").status == 0)
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            #expect(seconds > 2.4, "1200 KiB at 400 KiB/s took \(seconds) s")
        }
    }

    // MARK: - The log

    @Test func theLogTellsWhatHappensAndNoSecrets() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            func url(_ text: String) -> String {
                server.url(text).replacingOccurrences(of: "://", with: "://me:hush@")
            }
            let good = url("a.bin?size=10K")
            let bad = url("b.bin?size=10K&status=503&statuses=1")
            _ = try await home.run("enqueue", good, "--header", "Authorization: Bearer hush")
            _ = try await home.run("enqueue", bad)
            let daemon = try home.start("daemon", "--exit-when-idle", "1s")
            #expect(try await daemon.wait().status == 0)
            let log = daemon.errors.split(separator: "\n").map(String.init)
            func line(_ parts: String...) -> String? {
                log.first { line in parts.allSatisfy(line.contains) }
            }
            #expect(line("info longhaul: the engine starts", "mode=daemon") != nil)
            #expect(line("longhaul: starts transfer=1") == nil, "that is for who looks closely")
            #expect(line("info longhaul: completed transfer=1", "bytes=10240") != nil)
            #expect(line("info longhaul: the engine leaves", "stoppedBy=drained") != nil)
            #expect(
                line("notice longhaul: a request ended transfer=2", "outcome=serverError") != nil)
            #expect(line("leaves the wire and waits transfer=2", "for=backoff") != nil)
            #expect(!daemon.errors.contains("hush"), "\(daemon.errors)")
        }
    }

    @Test func theJournalIsToldPriorities() async throws {
        let home = try LonghaulHome()
        let daemon = try CLIProcess(
            "/bin/sh",
            [
                "-c",
                "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec \"$0\" \"$@\"",
                try BuiltBinary.longhaul, "daemon", "--exit-when-idle", "0s",
            ], environment: home.environment)
        #expect(try await daemon.wait().status == 0)
        #expect(daemon.errors.hasPrefix("<6>the engine starts epoch="), "\(daemon.errors)")
    }

    @Test(arguments: [("off", 0), ("warning", 0), ("info", 2), ("TRACE", 3)])
    func theLevelIsAsTheEnvironmentSays(level: String, lines: Int) async throws {
        let home = try LonghaulHome().with(["LONGHAUL_LOG": level])
        let result = try await home.run("run")
        #expect(result.status == 0)
        #expect(result.errors.split(separator: "\n").count >= lines)
        if lines == 0 { #expect(result.errors == "") }
        #expect(try await home.with(["LONGHAUL_LOG": nil]).run("run").errors == "")
        #expect(try await home.with(["LONGHAUL_LOG": "loud"]).run("run").status == 64)
    }
}
