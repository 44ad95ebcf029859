import Testing

@testable import LonghaulCore
@testable import LonghaulModel

@Suite struct CronTests {
    // MARK: - Schedules

    @Test(arguments: [
        ("*/30 * * * *", "*/30 * * * *"), ("0 3 * * *", "0 3 * * *"),
        ("  5   4\t*  * sun ", "5 4 * * sun"), ("0,30 1-5 1-7 jan,Mar mon-fri", nil),
        ("59 23 31 12 7", nil), ("0-59/5 */2 * * *", nil), ("@hourly", nil),
        ("@Daily", "@daily"), ("*,5 0 1 1 0", nil),
    ])
    func understands(text: String, normal: String?) throws {
        #expect(try CronSchedule(parsing: text).text == normal ?? text)
    }

    @Test(arguments: [
        "", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *",
        "* * * 13 *", "* * * 0 *", "* * * * 8", "*/0 * * * *", "5/2 * * * *", "5-1 * * * *",
        "-1 * * * *", "1, * * * *", ",1 * * * *", "x * * * *", "1-2-3 * * * *", "@often",
        "@hourly *", "*/61 * * * *", "+5 * * * *", "* * * foo *", "1/ * * * *", "1--2 * * * *",
        "* * * * *\n* * * * *", "% * * * *",
    ])
    func refuses(text: String) {
        #expect(throws: CronSchedule.Problem.self) { try CronSchedule(parsing: text) }
    }

    @Test(arguments: [
        ("0 3 * * *", 1800.0, 0.5, "15 3 * * *"), ("50 3 * * *", 1800.0, 0.99, "59 3 * * *"),
        ("@hourly", 3600.0, 0.5, "30 * * * *"), ("@daily", 600.0, 0.99, "9 0 * * *"),
        ("*/30 * * * *", 3600.0, 0.75, "15,45 * * * *"),
        ("*/30 * * * *", 600.0, 0.0, "0,30 * * * *"),
        ("* * * * *", 3600.0, 0.3, "* * * * *"),
        ("50-59/5,0 * * * mon", 1200.0, 0.5, "0,5,10 * * * mon"),
    ])
    func spreads(_ text: String, _ seconds: Double, _ place: Double, _ later: String) throws {
        let schedule = try CronSchedule(parsing: text).spread(within: seconds, place: place)
        #expect(schedule.text == later)
    }

    @Test(arguments: [("@reboot", 60.0), ("@daily", 3601.0), ("0 3 * * *", -1.0)])
    func doesNotSpread(_ text: String, _ seconds: Double) throws {
        let schedule = try CronSchedule(parsing: text)
        #expect(throws: CronSchedule.Problem.self) {
            try schedule.spread(within: seconds, place: 0)
        }
    }

    // MARK: - Blocks

    private func block(
        _ queue: String = "/home/a/state", schedule: String = "*/30 * * * *",
        environment: [EnvironmentEntry] = [], _ arguments: String...
    ) throws -> CronBlock {
        try CronBlock(
            queue: queue, schedule: CronSchedule(parsing: schedule), environment: environment,
            arguments: arguments.isEmpty ? ["/usr/bin/longhaul", "run"] : arguments)
    }

    private func command(_ block: CronBlock) -> String {
        String(block.text.split(separator: "\n")[1])
    }

    @Test func oneLineBetweenItsMarks() throws {
        let block = try block(
            environment: [EnvironmentEntry("LONGHAUL_HOME", "/my state")], "/opt/it's/longhaul",
            "run", "--max-time", "25m")
        #expect(
            block.text == """
                # BEGIN longhaul /home/a/state (written by `longhaul install`; \
                `longhaul uninstall` removes it)
                */30 * * * * LONGHAUL_HOME='/my state' '/opt/it'\\''s/longhaul' run --max-time \
                25m >/dev/null
                # END longhaul /home/a/state

                """)
    }

    /// What is put to them makes them no others.
    @Test func marksHideNothingFromTheShell() throws {
        let path = "/a'\u{301};touch b;#%\u{301}"
        #expect(
            command(try block("/q", path, "run"))
                == "*/30 * * * * '/a'\\''\u{301};touch b;#\\%\u{301}' run >/dev/null")
    }

    @Test func percentSignsAreNoLineBreaks() throws {
        #expect(
            command(try block("/q", "/a%b", "run")) == #"*/30 * * * * '/a\%b' run >/dev/null"#)
    }

    @Test func refusesWhatCronWouldMisread() {
        #expect(throws: CronBlock.Problem.lineBreak) { try block("/q", "/a\nb", "run") }
        #expect(throws: CronBlock.Problem.lineBreak) { try block("/a\nb") }
        let long = "/" + String(repeating: "a", count: 1000)
        #expect(throws: CronBlock.Problem.lineTooLong) { try block("/q", long, "run") }
    }

    /// Every other byte stays, whatever it is.
    @Test(arguments: [
        "", "0 1 * * * mine\n", "# no end", "\n\n\r\n", "MAILTO=\"\"\n\t# x\n",
        "# BEGIN longhaul /other (written by `longhaul install`)\n# END longhaul /other\n",
    ])
    func comesAndGoes(other: String) throws {
        let before = Array(other.utf8) + (other.isEmpty ? [] : [0xFF, 0x0A])
        let first = try block()
        let installed = try first.installed(in: before)
        #expect(installed.starts(with: before))
        #expect(try first.installed(in: installed) == installed)
        let second = try block(schedule: "@daily")
        let changed = try second.installed(in: installed + Array("5 5 * * * after\n".utf8))
        #expect(changed == before + second.text.utf8 + "5 5 * * * after\n".utf8)
        #expect(
            try CronBlock.removed(of: "/home/a/state", from: changed)
                == before + "5 5 * * * after\n".utf8)
        #expect(try CronBlock.removed(of: "/home/a/state", from: before) == nil)
    }

    @Test func queuesHaveBlocksOfTheirOwn() throws {
        let both = try block("/a").installed(in: block("/ab").installed(in: []))
        #expect(try CronBlock.removed(of: "/a", from: both) == Array(block("/ab").text.utf8))
    }

    @Test func aLastLineWithoutItsEndGetsOne() throws {
        let block = try block()
        #expect(
            try block.installed(in: Array("# x".utf8)) == Array(("# x\n" + block.text).utf8))
    }

    /// Otherwise all that follows would go with it.
    @Test func aBlockWithoutItsEndIsLeftAlone() throws {
        let begin = try block().text.split(separator: "\n")[0]
        let broken = Array("\(begin)\n0 1 * * * mine\n".utf8)
        #expect(throws: CronBlock.Problem.endIsMissing) { try block().installed(in: broken) }
        #expect(throws: CronBlock.Problem.endIsMissing) {
            try CronBlock.removed(of: "/home/a/state", from: broken)
        }
    }
}
