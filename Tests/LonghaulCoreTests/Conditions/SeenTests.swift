import LonghaulCore
import Testing

/// An engine that has only begun has looked at nothing.
@Suite struct SeenTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)

    @Test(arguments: [
        ConditionNeeds(power: true), ConditionNeeds(unmetered: true), ConditionNeeds(idle: true),
        ConditionNeeds(network: true), ConditionNeeds(battery: 50),
    ])
    func eachNeedIsLookedAtByItself(_ needs: ConditionNeeds) {
        #expect(!Conditions().hasSeen(needs))
        #expect(Conditions.unknown(since: now).hasSeen(needs))
        #expect(Conditions().hasSeen(ConditionNeeds()))
    }

    /// A network may be watched before a request names one.
    @Test func namesOfTheNetworkAreLookedAtByThemselves() throws {
        var needs = ConditionNeeds()
        needs.networks = ["home"]
        var known = Conditions()
        known.network = Reading(.unmetered, source: "rtnetlink", since: now)
        #expect(known.hasSeen(ConditionNeeds(network: true)))
        #expect(!known.hasSeen(needs))
        known.network.names = NetworkNames(given: [])
        #expect(known.hasSeen(needs))
        #expect(Conditions.unknown(since: now).hasSeen(needs))
        var overrides = ConditionOverrides()
        overrides.environment = try ConditionOverride(parsing: "network=unmetered")
        overrides.environmentSince = now
        #expect(overrides.apply(to: Conditions()).hasSeen(needs))
    }

    @Test func whatWasSeenStays() {
        var known = Conditions()
        known.power = Reading(.battery, source: "upower", since: now)
        #expect(known.hasSeen(ConditionNeeds(power: true)))
        // External power serves as well.
        #expect(!known.hasSeen(ConditionNeeds(battery: 20)))
        var others = Conditions.unknown(since: now + 1)
        others.power.value = .external
        others.network.value = .metered
        let all = known.completed(by: others)
        #expect(all.power == known.power)
        #expect(all.network == others.network && all.isIdle == others.isIdle)
    }
}
