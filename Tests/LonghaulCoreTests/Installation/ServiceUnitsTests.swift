import Testing

@testable import LonghaulCore
@testable import LonghaulModel

@Suite struct ServiceUnitsTests {
    private func units(
        _ executable: String = "/usr/bin/longhaul", activation: String = "/state/wanted",
        environment: [EnvironmentEntry] = [], runOptions: [String] = []
    ) throws -> [String: String] {
        let units = try #require(
            ServiceUnits(
                executable: executable, activation: activation, environment: environment,
                runOptions: runOptions))
        return Dictionary(uniqueKeysWithValues: units.files.map { ($0.name, $0.text) })
    }

    private func line(_ name: String, _ text: String?) -> String? {
        text?.split(separator: "\n").first { $0.hasPrefix(name + "=") }
            .map { String($0.dropFirst(name.count + 1)) }
    }

    @Test func fourUnitsBearTheMark() throws {
        let units = try units()
        #expect(Set(units.keys) == Set(ServiceUnits.names))
        for text in units.values { #expect(text.hasPrefix(ServiceUnits.mark + "\n\n[Unit]\n")) }
        for name in ServiceUnits.enabled {
            #expect(units[name]?.contains("\n[Install]\nWantedBy=") == true)
        }
        #expect(units["longhaul-run.service"]?.contains("[Install]") == false)
    }

    @Test(arguments: [
        ("/usr/bin/longhaul", "/usr/bin/longhaul"), ("/my bin/l", #""/my bin/l""#),
        ("/a%b$c", "/a%%b$$c"), (#"/q"\x"#, #""/q\"\\x""#), ("/a;b", #""/a;b""#),
        ("/ü", "/ü"), ("/it's", #""/it's""#),
        // A mark that is put to one of those is of the name, and it means what it means alone.
        ("/%\u{301}$\u{301}", "/%%\u{301}$$\u{301}"), ("/\"\u{301}", "\"/\\\"\u{301}\""),
    ])
    func pathsMeanThemselves(path: String, written: String) throws {
        let units = try units(path)
        #expect(
            line("ExecStart", units["longhaul.service"])
                == "\(written) daemon --exit-when-idle 5m")
        #expect(line("ExecStart", units["longhaul-run.service"]) == "\(written) run")
    }

    @Test func theTimerSpreads() throws {
        let units = ServiceUnits(
            executable: "/l", activation: "/s", environment: [], runOptions: [], spread: 1800)
        let timer = units?.files.last?.text
        #expect(line("RandomizedDelaySec", timer) == "1800")
        #expect(line("FixedRandomDelay", timer) == "true")
    }

    @Test func whatIsWatchedIsNotQuoted() throws {
        let units = try units(activation: "/my state/100%/wanted")
        #expect(line("PathChanged", units["longhaul.path"]) == "/my state/100%%/wanted")
    }

    @Test func environmentAndOptionsAreHandedOn() throws {
        let units = try units(
            environment: [
                EnvironmentEntry("LONGHAUL_HOME", "/my $state"),
                EnvironmentEntry("LONGHAUL_CONFIG", "/c%"),
            ], runOptions: ["--max-time", "50m"])
        for name in ["longhaul.service", "longhaul-run.service"] {
            let lines = units[name]?.split(separator: "\n") ?? []
            #expect(
                lines.filter { $0.hasPrefix("Environment=") } == [
                    #"Environment="LONGHAUL_HOME=/my $state""#, "Environment=LONGHAUL_CONFIG=/c%%",
                ])
        }
        #expect(
            line("ExecStart", units["longhaul-run.service"])
                == "/usr/bin/longhaul run --max-time 50m")
    }

    @Test(arguments: [
        ("/home/ada", "# P\n\nPathChanged=%h/s/wanted\n", true),
        ("/home/ada", "# P\n\nPathChanged=%h/s/wanted\nUser=x\n", false),
        ("/home/ada", "# P\n\nPathChanged=/home/ada/s/wanted\n", true),
        ("/home/bob", "# P\n\nPathChanged=%h/s/wanted\n", false),
        ("/home/100%", "# P\n\nPathChanged=%h/s/wanted\n", false), ("/home/ada", "", false),
    ])
    func aPackagedUnitIsTheSameForAHome(home: String, unit: String, isSame: Bool) {
        let file = ServiceUnits.File(
            name: "longhaul.path",
            text: ServiceUnits.mark + "\n\nPathChanged=/home/ada/s/wanted\n")
        #expect(file.isEqual(toPackaged: unit, home: home) == isSame)
    }

    @Test func aHomeWithAPercentSignIsEscaped() {
        let file = ServiceUnits.File(name: "longhaul.path", text: "# L\n\nPathChanged=/100%%/s\n")
        #expect(file.isEqual(toPackaged: "# P\n\nPathChanged=%h/s\n", home: "/100%"))
    }

    @Test(arguments: ["/a\nb", "/a\tb", "/a\u{0}"])
    func refusesWhatNoUnitCanSay(path: String) {
        for unit in [
            ServiceUnits(executable: path, activation: "/s", environment: [], runOptions: []),
            ServiceUnits(executable: "/l", activation: path, environment: [], runOptions: []),
        ] { #expect(unit == nil) }
    }
}
