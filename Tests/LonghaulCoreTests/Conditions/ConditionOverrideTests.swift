import LonghaulCore
import Testing

@Suite struct ConditionOverrideTests {
    @Test(arguments: [
        ("power=battery,battery=40,network=metered,idle=no", nil),
        ("power=external", nil), ("network=offline", nil), ("network=unmetered", nil),
        ("idle=yes", nil), ("battery=0", nil), ("battery=100", nil),
        ("power=unknown,battery=unknown,network=unknown,idle=unknown", nil),
        (" idle = yes , power=battery ", "power=battery,idle=yes"),
        ("battery=007", "battery=7"),
    ])
    func isReadAndWritten(text: String, written: String?) throws {
        #expect(try ConditionOverride(parsing: text).description == written ?? text)
    }

    @Test(arguments: [
        "", ",", "power", "power=", "=battery", "power=mains", "Power=battery", "battery=101",
        "battery=-1", "battery=+1", "battery=40%", "battery=4.5", "battery=1000", "battery=",
        "network=wifi", "idle=true", "idle=", "storage=1", "power=battery,",
        "power=battery;idle=no",
        "power=battery,power=battery", "idle=yes,idle=no", "power=battery=external",
    ])
    func isRefused(text: String) {
        let error = #expect(throws: LonghaulError.self) { try ConditionOverride(parsing: text) }
        #expect(error?.code == .invalidRequest)
    }

    @Test func unknownIsAValue() throws {
        let said = try ConditionOverride(parsing: "power=unknown")
        #expect(said.kinds == [.power])
        #expect(said.power == .some(nil))
        #expect(said.battery == nil)
    }

    @Test func theEnvironmentStandsBeforeTheStoreAndBothBeforeTheMachine() throws {
        var seen = Conditions()
        seen.power = Reading(.external, source: "upower", since: at(1))
        seen.battery = Reading(80, source: "upower", since: at(2))
        seen.network = Reading(.unmetered, source: "networkmanager", since: at(3))
        var overrides = ConditionOverrides()
        overrides.environment = try ConditionOverride(parsing: "power=battery")
        overrides.environmentSince = at(9)
        overrides.kept.override = try ConditionOverride(parsing: "power=external,network=unknown")
        overrides.kept.since = [.power: at(7), .network: at(8)]
        let shown = overrides.apply(to: seen)
        #expect(shown.power == Reading(.battery, source: "environment", since: at(9)))
        #expect(shown.battery == seen.battery)
        var unnamed = Reading<NetworkState>(nil, source: "store", since: at(8))
        unnamed.names = NetworkNames(given: nil, connection: nil)
        #expect(shown.network == unnamed)
        #expect(shown.isIdle == .unknown)
    }

    @Test func sinceGoesOnWhileTheValueStays() {
        var reading = Reading<Int>.unknown
        reading.note(nil, source: "none", now: at(1))
        #expect(reading == Reading(nil, source: "none", since: at(1)))
        reading.note(40, source: "sysfs", now: at(2))
        reading.note(40, source: "upower", now: at(3))
        #expect(reading == Reading(40, source: "upower", since: at(2)))
        reading.note(41, source: "upower", now: at(4))
        #expect(reading == Reading(41, source: "upower", since: at(4)))
    }

    private func at(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: seconds * 1_000) }
}
