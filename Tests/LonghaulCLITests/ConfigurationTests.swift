import Longhaul
import LonghaulTestSupport
import Testing

@Suite struct ConfigurationTests {
    private func parse(_ text: String) throws(LonghaulError) -> UserConfiguration {
        try ConfigurationFile.parse(Array(text.utf8), "/c.json")
    }

    @Test func everythingThatMayStandThere() throws {
        let all = try parse(
            Fixture.text("configuration/everything.json"))
        #expect(all.path == "/c.json" && !all.autostart)
        #expect(all.limits.running == 4 && all.limits.perOrigin == 2)
        #expect(all.limits.rates.bytesPerSecond == 2 << 20)
        #expect(all.limits.rates.parts.map(\.window.description) == ["08:00-18:00", "22:00-06:00"])
        #expect(all.limits.rates.parts.map(\.bytesPerSecond) == [512_000, nil])
        #expect(all.limits.retention.ended == 30 * 86_400)
        #expect(all.limits.retention.events == 86_400)
        #expect(all.limits.retention.parts == 10 * 86_400)
        var request = TransferRequest(url: "http://h/", destination: .file("/f"))
        all.defaults.apply(to: &request)
        #expect(request.options.connections == .exactly(3))
        #expect(request.deadline == .after(seconds: 43_200))
        #expect(request.options.ifExists == .rename && request.priority == .low)
        #expect(request.options.limitRate == 1000 && request.options.retries == 5)
        #expect(request.options.stallTimeout == 90 && request.options.waiveAfter == 172_800)
        #expect(request.options.yields == true)
        #expect(request.options.spread == 3600)
        #expect(request.schedule.windows?.description == "Mon-Fri 22:00-06:00;Sat,Sun")
    }

    @Test func whatIsLeftOutIsAsEverywhereElse() throws {
        for text in ["{}", "{\"limits\": {}}", #"{"defaults": {"connections": "auto"}}"#] {
            let none = try parse(text)
            #expect(none.autostart && none.limits == EngineLimits())
            var request = TransferRequest(url: "http://h/", destination: .file("/f"))
            none.defaults.apply(to: &request)
            #expect(request == TransferRequest(url: "http://h/", destination: .file("/f")))
        }
    }

    /// The example changes nothing. It has every key, also those that are comments.
    @Test func theExampleHasEveryKey() throws {
        let text = try Fixture.text("../docs/config.example.json")
        let plain = try parse(text)
        #expect(plain.autostart && plain.limits == EngineLimits())
        var request = TransferRequest(url: "http://h/", destination: .file("/f"))
        plain.defaults.apply(to: &request)
        #expect(request == TransferRequest(url: "http://h/", destination: .file("/f")))

        let whole = text.replacing("// \"", with: "\"")
        let all = try parse(whole)
        #expect(all.limits.perOrigin == 6 && all.servedDirectories == ["/srv/downloads"])
        let error = #expect(throws: LonghaulError.self) { try parse(#"{"x": 1}"#) }
        let names = try #require(error?.message.split(separator: "there are ").last)
        for name in names.split(separator: ", ") {
            let key = name.split(separator: ".").last ?? name
            #expect(whole.contains("\"\(key)\":"), "\(name)")
        }
    }

    @Test func linesMayBeComments() throws {
        let text = "// a\n{\n\t // \"autostart\": true,\n\"autostart\": false\n}\n//"
        #expect(try !parse(text).autostart)
        #expect(throws: LonghaulError.self) { try parse("{} // no") }
        #expect(throws: LonghaulError.self) { try parse("{/* no */}") }
    }

    @Test func aByteOrderMarkIsPassedOver() throws {
        #expect(try !parse("\u{FEFF}{\"autostart\": false}").autostart)
    }

    /// File, key and what is allowed.
    @Test(arguments: [
        ("", "it is not valid JSON"), ("[]", "it is not valid JSON"),
        ("{} {}", "it is not valid JSON"),
        (#"{"limits": 3}"#, "it is not valid JSON: expected an object"),
        (#"{"limit": {}}"#, "'limit' is not known; there are autostart, defaults.connections"),
        (
            #"{"limits": {"runing": 3}}"#,
            "'limits.runing' is not known; there are limits.perOrigin, limits.rate, limits.rates"
        ),
        (#"{"limits": {"running": 0}}"#, "'limits.running' is 0; it is a number from 1 to 64"),
        (#"{"limits": {"running": 65}}"#, "'limits.running' is 65; "),
        (#"{"limits": {"running": "3"}}"#, "'limits.running' is \"3\"; "),
        (#"{"limits": {"running": true}}"#, "'limits.running' is true; "),
        (#"{"limits": {"running": 1.5}}"#, "'limits.running' is 1.5; "),
        (#"{"limits": {"running": null}}"#, "'limits.running' is null; "),
        (#"{"limits": {"running": {"a": 1}}}"#, #"'limits.running' is {"a":1}; "#),
        (#"{"limits": {"rate": 0}}"#, "'limits.rate' is 0; it is bytes a second, as 500000"),
        (#"{"limits": {"rate": "fast"}}"#, "'limits.rate' is \"fast\"; "),
        (#"{"limits": {"rates": "08:00-18:00 2M"}}"#, "it is a list of windows and rates"),
        (#"{"limits": {"rates": ["08:00 2M"]}}"#, "it is a list of windows and rates"),
        (#"{"limits": {"rates": ["08:00-18:00 0"]}}"#, "it is a list of windows and rates"),
        (#"{"limits": {"rates": [1]}}"#, "it is a list of windows and rates"),
        (#"{"retention": {"parts": "2d"}}"#, "'retention.parts' is \"2d\"; "),
        (#"{"retention": {"ended": 90}}"#, "'retention.ended' is 90; "),
        (#"{"limits": {"running": 1, "running": 2}}"#, "'limits.running' is there twice"),
        (
            #"{"limits": {"running": 5}, "limits": {"rate": "1M"}}"#, "'limits' is there twice"
        ),
        (#"{"defaults": {"stallTimeout": "0s"}}"#, "7d, and more than 0s"),
        (#"{"autostart": 1}"#, "'autostart' is 1; it is true or false"),
        (#"{"autostart": "off"}"#, "'autostart' is \"off\"; it is true or false"),
        (#"{"defaults": {"connections": 17}}"#, "it is auto, or a number from 1 to 16"),
        (#"{"defaults": {"deadline": "0s"}}"#, "7d, and more than 0s"),
        (#"{"defaults": {"deadline": 60}}"#, "it is a duration, as 90s, 15m, 2h or 7d"),
        (#"{"defaults": {"ifExists": "ask"}}"#, "it is fail, skip, overwrite or rename"),
        (#"{"defaults": {"priority": 1}}"#, "it is high, normal or low"),
        (#"{"defaults": {"retries": -1}}"#, "'defaults.retries' is -1; it is a number"),
    ])
    func aMistakeIsNamed(text: String, what: String) throws {
        let error = try #require(throws: LonghaulError.self) { try parse(text) }
        #expect(error.code == .invalidRequest)
        #expect(error.message.hasPrefix("/c.json: ") && error.message.contains(what), "\(error)")
    }
}
