import Foundation
import LonghaulTestSupport
import Testing

/// The right moment, by the built command on a machine whose conditions are given.
@Suite(.timeLimit(.minutes(60))) struct ScheduleTests {
    private let bad = ["LONGHAUL_CONDITIONS": "power=battery,battery=30,network=metered,idle=no"]
    private let good = ["LONGHAUL_CONDITIONS": "power=external,network=unmetered,idle=yes"]

    private func states(_ home: LonghaulHome) async throws -> [Int: String] {
        try await home.run("list", "--all", "--json").rows.reduce(into: [:]) {
            $0[Int($1["id"].int ?? 0)] = $1["state"].string
        }
    }

    private func reasons(_ home: LonghaulHome, _ id: String) async throws -> [String] {
        let row = try #require(try await home.run("why", id, "--json").rows.first)
        return row["waitingFor"].items.compactMap { $0["reason"].string }
    }

    @Test func whatIsHeldWaitsForItsConditions() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let asked: [[String]] = [
                ["--require", "power"], ["--require", "unmetered,idle"], ["--discretionary"],
                ["--prefer", "battery=50"], ["--discretionary", "--prefer", "none"], [],
            ]
            for (index, options) in asked.enumerated() {
                let url = server.url("f\(index).bin?size=10K")
                let result = try await home.start(["enqueue", url] + options).wait()
                #expect(result.status == 0, "\(result.errors)")
            }
            let held = [
                ["power"], ["unmetered", "idle"], ["power", "unmetered", "idle"], ["battery"], [],
                [],
            ]
            for (index, expected) in held.enumerated() {
                #expect(
                    try await reasons(home.with(bad), "\(index + 1)") == expected + ["engine"])
            }
            let first = try await home.with(bad).run("run", "--json")
            #expect(try first.rows.last?["stoppedBy"] == "drained")
            #expect(
                try await states(home) == [
                    1: "waiting", 2: "waiting", 3: "waiting", 4: "waiting", 5: "completed",
                    6: "completed",
                ])
            // Unknown is good enough for a wish, not for a requirement.
            let mute = home.with([
                "LONGHAUL_CONDITIONS":
                    "power=unknown,battery=unknown,network=unknown,idle=unknown"
            ])
            #expect(try await mute.run("run").status == 0)
            #expect(
                try await states(home).filter { $0.value == "waiting" }.keys.sorted() == [1, 2])
            #expect(try await home.with(good).run("run").status == 0)
            #expect(try await states(home).values.allSatisfy { $0 == "completed" })
        }
    }

    @Test func whyTellsEachCondition() async throws {
        let home = try LonghaulHome().with(bad)
        let url = "http://127.0.0.1:9/f"
        _ = try await home.run("enqueue", url, "--require", "power", "--earliest", "+1h")
        let row = try #require(try await home.run("why", "1", "--json").rows.first)
        #expect(row["id"].int == 1 && row["state"] == "waiting")
        let power = try #require(row["waitingFor"].items.first { $0["reason"] == "power" })
        #expect(power["required"] == "external" && power["current"] == "battery")
        let earliest = try #require(
            row["waitingFor"].items.first { $0["reason"] == "earliestBegin" })
        #expect(earliest["nextCheck"].string != nil)
        #expect(row["forecast"]["text"].string?.contains("external power") == true)
        let text = try await home.run("why", "1").output
        #expect(text.contains("needs external, is battery"))
        #expect(try await home.run("why", "9").status == 4)
        let wrong = home.with(["LONGHAUL_CONDITIONS": "power=wind"])
        #expect(try await wrong.run("why", "1").status == 64)
        #expect(try await wrong.run("run").status == 64)
    }

    /// So far away that the clock of an engine does not reach it.
    @Test(arguments: [
        ["--deadline", "9999-12-31T23:59:59Z"], ["--deadline", "107000d"],
        ["--earliest", "9999-12-31T23:59:59Z"], ["--earliest", "+107000d"],
        ["--discretionary", "--waive-after", "107000d"], ["--stall-timeout", "107000d"],
    ])
    func farTimesAreKept(options: [String]) async throws {
        let home = try LonghaulHome().with(good)
        try await LoopbackServer.run { server in
            let far = ["enqueue", server.url("far.bin?size=10K")] + options
            #expect(try await home.start(far).wait().status == 0)
            #expect(try await home.run("enqueue", server.url("near.bin?size=10K")).status == 0)
            let run = try await home.run("run")
            #expect(run.status == 0, "\(run.errors)")
            let isHeld = options[0] == "--earliest"
            #expect(
                try await states(home) == [1: isHeld ? "waiting" : "completed", 2: "completed"])
            #expect(try await home.run("why", "1").status == 0)
        }
    }

    @Test func nowSetsTheScheduleAside() async throws {
        let home = try LonghaulHome().with(bad)
        try await LoopbackServer.run { server in
            let url = server.url("f.bin?size=10K")
            let held = ["--earliest", "+1h", "--require", "power", "--discretionary"]
            #expect(try await home.start(["enqueue", url] + held).wait().status == 0)
            #expect(try await home.run("pause", "1").status == 0)
            let resumed = try await home.run("resume", "1", "--no-start")
            #expect(resumed.errors.contains("`longhaul now 1` sets that aside"))
            #expect(try await home.run("why", "1").output.contains("`longhaul now 1` runs it now"))
            #expect(try await home.run("now", "1", "--no-start").output == "1 runs now\n")
            #expect(try await reasons(home, "1") == ["engine"])
            #expect(try await home.run("show", "1", "--json").rows.first?["runsNow"] == true)
            #expect(try await home.run("show", "1").output.contains("Runs now"))
            #expect(try await home.run("run").status == 0)
            #expect(try await states(home) == [1: "completed"])
            let again = try await home.run("now", "1", "--no-start")
            #expect(again.status == 0 && again.output.contains("completed already"))
            #expect(try await home.run("now", "2").status == 4)
        }
    }

    @Test func aWindowIsObeyed() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            // TZ is UTC here. Two hours wide, so that the hour may turn meanwhile.
            let hour = Int(Date().timeIntervalSince1970 / 3600) % 24
            func window(_ from: Int, _ to: Int) -> String {
                String(format: "%02d:00-%02d:00", (hour + from) % 24, (hour + to) % 24)
            }
            for (name, times) in [("open", window(23, 3)), ("shut", window(3, 5))] {
                let url = server.url("\(name).bin?size=10K")
                let result = try await home.run("enqueue", url, "--window", times)
                #expect(result.status == 0, "\(result.errors)")
            }
            #expect(try await reasons(home, "2") == ["window", "engine"])
            #expect(try await home.run("run").status == 0)
            #expect(try await states(home) == [1: "completed", 2: "waiting"])
            #expect(try await home.run("set", "2", "--window", "none").status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(try await states(home) == [1: "completed", 2: "completed"])
        }
    }

    @Test func batchInputAndSetKnowTheSchedule() async throws {
        let home = try LonghaulHome()
        let line =
            #"{"url":"http://127.0.0.1:9/f","window":"22:00-06:00","require":["power","battery=40"],"#
            + #""prefer":"idle","waiveAfter":"2h","discretionary":true}"#
        let result = try await home.run("enqueue", "-", input: line + "\n")
        #expect(result.status == 0, "\(result.errors)")
        func show() async throws -> JSONValue {
            try #require(try await home.run("show", "1", "--json").rows.first)
        }
        let before = try await show()
        #expect(before["window"] == "22:00-06:00")
        #expect(before["require"].items.compactMap(\.string) == ["power", "battery=40"])
        #expect(before["prefer"].items.compactMap(\.string) == ["idle"])
        #expect(before["preferencesCheckedAt"].string != nil)
        let change = try await home.run(
            "set", "1", "--window", "none", "--require", "none", "--prefer", "default",
            "--no-discretionary")
        #expect(change.status == 0, "\(change.errors)")
        let after = try await show()
        #expect(after["window"] == .null && after["require"].items.isEmpty == true)
        #expect(after["prefer"].items.isEmpty == true)
        for text in [#"{"url":"http://h/f","require":"light"}"#, "{\"window\":\"6-7\"}"] {
            #expect(try await home.run("enqueue", "-", input: text + "\n").status == 64)
        }
    }

    /// The deadline holds for what only waits; a wish gives way before it, a requirement never.
    @Test func wishesEndBeforeTheDeadlineAndRequirementsDoNot() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            for options in [["--discretionary"], ["--require", "power"]] {
                let url = server.url("f\(options.count).bin?size=10K")
                let result = try await home.start(
                    ["enqueue", url, "--deadline", "15s"] + options
                ).wait()
                #expect(result.status == 0, "\(result.errors)")
            }
            let engine = try home.with(bad).start("daemon")
            _ = try await home.run("wait", "1", "2")
            let rows = try await home.run("list", "--all", "--json").rows
            let byID = Dictionary(uniqueKeysWithValues: rows.map { ($0["id"].int ?? 0, $0) })
            #expect(byID[1]?["state"] == "completed" && byID[1]?["preferencesWaived"] == true)
            #expect(byID[2]?["state"] == "failed" && byID[2]?["error"]["code"] == "timedOut")
            engine.send(SIGTERM)
            #expect(try await engine.wait().status == 0)
        }
    }

    /// An engine that is there for others, and not for long, does for who waits what it can.
    @Test func aGetIsBegunByARunForOthers() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let slow = server.url("a.bin?size=1M&stall=500K&stalls=1")
            _ = try await home.run("enqueue", "--discretionary", "--prefer", "none", slow)
            let run = try home.start("run", "--only", "discretionary", "--max-time", "5m")
            try await eventually("it runs") {
                try await home.run("show", "1", "--json").rows.first?["state"] == "running"
            }
            let get = try await home.run("get", "-q", server.url("b.bin?size=1K&seed=2"))
            #expect(get.status == 0, "\(get.errors)")
            #expect(try await home.run("status", "--json").rows.first?["engine"]["pid"].int != nil)
            run.send(SIGTERM)
            _ = try await run.wait()
        }
    }
}
