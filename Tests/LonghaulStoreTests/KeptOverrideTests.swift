import LonghaulCore
import Testing

@testable import LonghaulStore

@Suite struct KeptOverrideTests {
    private let scratch: ScratchStore
    private var store: Store { scratch.store }

    init() throws {
        scratch = try ScratchStore()
    }

    private func keep(_ text: String, at seconds: Double = 0) throws {
        try store.settings.keep(ConditionOverride(parsing: text), now: .start + seconds)
    }

    @Test func keepsWhatIsSaidUntilItIsCleared() throws {
        #expect(try store.settings.keptOverride() == KeptOverride())
        try keep("power=battery,battery=40,idle=unknown")
        try keep("battery=41,network=offline", at: 5)
        let kept = try store.settings.keptOverride()
        #expect(
            kept.override.description == "power=battery,battery=41,network=offline,idle=unknown")
        #expect(
            kept.since == [
                .power: .start, .battery: .start + 5, .network: .start + 5, .idle: .start,
            ])
        try store.settings.clearOverride()
        #expect(try store.settings.keptOverride() == KeptOverride())
    }

    @Test func namesMayHaveBlanks() throws {
        let text = "network=unmetered:Wired connection 1,mounted=/media/my disk,backup"
        try keep(text)
        let kept = try store.settings.keptOverride()
        #expect(
            kept.override.description == "network=unmetered:Wired connection 1,"
                + "mounted=/media/my disk,backup")
    }

    @Test func networksHaveNames() throws {
        let place = NetworkPlace(gateway: "02:00:00:00:00:01", prefixes: ["192.0.2.0/24"])
        #expect(try store.settings.setNetwork("my home", to: place) == false)
        #expect(try store.settings.setNetwork("office", to: place) == false)
        #expect(try store.settings.networks() == ["my home": place, "office": place])
        #expect(try store.settings.setNetwork("office", to: nil))
        #expect(try store.settings.setNetwork("office", to: nil) == false)
        try store.access {
            try $0.run("INSERT INTO setting VALUES ('network.x', 'damaged')")
        }
        #expect(try store.settings.networks() == ["my home": place])
        try store.settings.clearOverride()
        #expect(try store.settings.networks().count == 1)
    }

    @Test func rowsThatMakeNoSenseSayNothing() throws {
        try keep("idle=yes")
        for (key, value) in [
            ("condition.power", "mains 1"), ("condition.battery", "40"), ("condition.", "1 1"),
            ("condition.network", ""), ("other", "power=battery"),
        ] {
            try store.access { try $0.run("INSERT INTO setting VALUES (?1, ?2)", key, value) }
        }
        #expect(try store.settings.keptOverride().override.description == "idle=yes")
    }

    @Test func otherProcessesSeeIt() throws {
        let other = try Store.open(directory: scratch.directory)
        let version = try other.dataVersion()
        try keep("power=battery")
        #expect(try other.dataVersion() != version)
        #expect(try other.settings.keptOverride().override.power == .some(.battery))
    }
}
