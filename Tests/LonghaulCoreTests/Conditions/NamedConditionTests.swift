import LonghaulCore
import Testing

/// Networks and file systems by name: their texts, and what holds.
@Suite struct NamedConditionTests {
    private let now = Timestamp(milliseconds: 1_790_000_000_000)

    // MARK: - Texts

    @Test(arguments: [
        ("network=home", nil), ("network=home|office", nil), ("network=!hotspot", nil),
        ("network=Wired connection 1", nil), ("mounted=backup", nil),
        ("mounted=/media/disk,mounted=backup", nil), ("power,network,battery=50,network=home", nil),
        ("network=office|home", "network=home|office"),
        ("network=!b,network=!a", "network=!a|!b"), ("network=home,network=!x", "network=!x|home"),
        ("mounted=/media//disk/", "mounted=/media/disk"),
        ("mounted=backup,mounted=backup", "mounted=backup"),
    ])
    func aNeedIsReadAndWritten(text: String, written: String?) throws {
        let needs = try #require(ConditionNeeds(parsing: text))
        let names = Set((written ?? text).split(separator: ",").map(String.init))
        #expect(Set(needs.names) == names && needs.names.count == names.count)
        #expect(needs.defect == nil && !needs.isEmpty)
    }

    @Test(arguments: [
        "network=", "network=|", "network=home|", "network=!", "network=!!a", "network=a:b",
        "network=home,network=office", "mounted=", "mounted=media/disk", "mounted=../disk",
        "mounted=/a/../b", "mounted=A,B", "mounted", "network=a\u{7}", "mounted=none",
    ])
    func noNeed(text: String) { #expect(ConditionNeeds(parsing: text) == nil) }

    @Test func aProgramsNamesAreChecked() {
        for edit: @Sendable (inout ConditionNeeds) -> Void in [
            { $0.mounts = ["a,b"] }, { $0.mounts = ["x/y"] }, { $0.mounts = ["/x/"] },
            { $0.networks = ["a|b"] }, { $0.networks = [""] }, { $0.networks = ["!"] },
        ] {
            var needs = ConditionNeeds()
            edit(&needs)
            #expect(needs.defect != nil, "\(needs)")
        }
    }

    @Test(arguments: [
        "network=unmetered:home", "network=metered:Wired connection 1", "mounted=A,B",
        "mounted=none", "mounted=unknown", "power=battery,network=unmetered:home,mounted=/a,B",
    ])
    func anOverrideIsReadAndWritten(text: String) throws {
        #expect(try ConditionOverride(parsing: text).description == text)
    }

    @Test(arguments: [
        "network=unmetered:", "network=offline:home", "network=unknown:home", "network=:home",
        "mounted=", "mounted=A,", "mounted=a/b", "power=battery,B", "mounted=A,B=",
    ])
    func noOverride(text: String) {
        #expect(throws: LonghaulError.self) { try ConditionOverride(parsing: text) }
    }

    // MARK: - Gates

    private static let home = NetworkPlace(gateway: "02:00:00:00:00:01", prefixes: ["10.0.0.0/8"])

    private static func network(
        _ place: NetworkPlace?, _ connection: [String]? = [], state: NetworkState = .unmetered
    ) -> Conditions {
        var conditions = Conditions()
        conditions.network = Reading(state, source: "test", since: Timestamp(milliseconds: 0))
        conditions.network.names = NetworkNames(
            place: place, connection: connection, known: ["home": home])
        conditions.mounted = Reading(
            MountedFileSystems(["backup": "/media/b"], among: ["backup", "other"]),
            source: "test", since: Timestamp(milliseconds: 0))
        return conditions
    }

    struct Row: Sendable {
        var need: String
        var conditions: Conditions
        /// `nil` = it holds.
        var required: WaitReason?
        /// Preferred, it holds also where it is not known.
        var preferred: Bool
    }

    private static func missing(
        _ required: String, _ current: String, _ reason: WaitReason.Reason = .network
    ) -> WaitReason {
        WaitReason(
            reason, required: required, current: current, since: Timestamp(milliseconds: 0))
    }

    private static let elsewhere = NetworkPlace(gateway: "02::2", prefixes: ["10.0.0.0/8"])
    private static let unnamed = WaitReason.unnamedNetwork
    private static let rows: [Row] = [
        Row(need: "network=home", conditions: network(home), preferred: true),
        Row(need: "network=home|office", conditions: network(home), preferred: true),
        Row(
            need: "network=home", conditions: network(elsewhere),
            required: missing("home", unnamed), preferred: false),
        Row(
            need: "network=home", conditions: network(elsewhere, ["hotspot", "8d2f"]),
            required: missing("home", "hotspot"), preferred: false),
        Row(
            need: "network=8d2f", conditions: network(elsewhere, ["hot", "8d2f"]), preferred: true),
        // The gateway is not known: it may be at home.
        Row(
            need: "network=home", conditions: network(nil), required: missing("home", "unknown"),
            preferred: true),
        Row(need: "network=vpn", conditions: network(nil, ["vpn", "1"]), preferred: true),
        Row(
            need: "network=home", conditions: network(home, state: .offline),
            required: missing("home", "offline"), preferred: false),
        Row(need: "network=!hotspot", conditions: network(home), preferred: true),
        Row(need: "network=!hotspot", conditions: network(elsewhere), preferred: true),
        Row(
            need: "network=!home", conditions: network(home), required: missing("!home", "home"),
            preferred: false),
        Row(
            need: "network=!hotspot", conditions: network(elsewhere, ["hotspot", "1"]),
            required: missing("!hotspot", "hotspot"), preferred: false),
        Row(
            need: "network=!hotspot", conditions: network(nil, ["vpn", "1"]),
            required: missing("!hotspot", "vpn"), preferred: true),
        Row(
            need: "network=!hotspot", conditions: network(elsewhere, state: .offline),
            required: missing("!hotspot", "offline"), preferred: false),
        Row(need: "mounted=backup", conditions: network(home), preferred: true),
        Row(
            need: "mounted=backup,mounted=other", conditions: network(home),
            required: missing("other", "not mounted", .mounted), preferred: false),
        // It was not looked for yet.
        Row(
            need: "mounted=new", conditions: network(home),
            required: missing("new", "unknown", .mounted), preferred: true),
    ]

    @Test(arguments: rows) func aNameHolds(_ row: Row) throws {
        func reasons(_ edit: (inout TransferSchedule, ConditionNeeds) -> Void) throws
            -> [WaitReason]
        {
            var schedule = TransferSchedule()
            edit(&schedule, try #require(ConditionNeeds(parsing: row.need)))
            return EligibilityKey(schedule, usesNetwork: false).eligibility.gate(
                in: ConditionSnapshot(conditions: row.conditions), now: now
            ).reasons
        }
        #expect(try reasons { $0.requires = $1 } == [row.required].compactMap { $0 })
        #expect(try reasons { $0.prefers = $1 }.isEmpty == row.preferred)
    }

    /// An override names the network, and knows all that is mounted.
    @Test func anOverrideHasNames() throws {
        var conditions = Self.network(Self.home)
        try ConditionOverride(parsing: "network=metered:office,mounted=/x")
            .apply(to: &conditions, source: "test") { _ in now }
        #expect(conditions.network.name == "office")
        #expect(conditions.network.names?.isOne(of: ["home"]) == false)
        #expect(conditions.network.names?.isOne(of: ["!home"]) == true)
        #expect(conditions.mounted.value?.isMounted("backup") == false)
        #expect(conditions.mounted.value?.isMounted("/x") == true)
        // Without a name it is not known which one it is.
        try ConditionOverride(parsing: "network=metered").apply(
            to: &conditions, source: "test"
        ) { _ in now }
        #expect(conditions.network.value == .metered)
        #expect(conditions.network.names?.isOne(of: ["home"]) == nil)
        #expect(conditions.network.names?.isOne(of: ["!home"]) == nil)
    }

    /// A condition is as little read as one of its names.
    @Test func aFileSystemThatWasNotLookedForIsNotSeen() throws {
        let conditions = Self.network(Self.home)
        let needs: (String) -> ConditionNeeds = { ConditionNeeds(parsing: $0) ?? ConditionNeeds() }
        #expect(conditions.hasSeen(needs("mounted=backup")))
        #expect(!conditions.hasSeen(needs("mounted=new")))
        #expect(needs("mounted=a").isWithin(needs("mounted=a,mounted=b")))
        #expect(!needs("mounted=c").isWithin(needs("mounted=a,mounted=b")))
        #expect(needs("mounted=c,network=x").isWithin(.all))
    }

    // MARK: - Stored

    @Test(
        arguments: [
            ("22:00-06:00+60@Europe/Berlin", "power", nil), (nil, "network=home|!x", "mounted=a"),
            ("Sat,Sun", "mounted=/a b,network=home", nil), (nil, nil, "network=!x,battery=40"),
        ] as [(String?, String?, String?)])
    func aKeyKeepsItsTerms(windows: String?, required: String?, preferred: String?) throws {
        var schedule = TransferSchedule()
        schedule.windows = windows.flatMap { TimeWindows(stored: $0) }
        schedule.requires = try #require(ConditionNeeds(parsing: required ?? ""))
        schedule.prefers = preferred.flatMap { ConditionNeeds(parsing: $0) }
        let key = EligibilityKey(schedule)
        let terms = try #require(EligibilityTerms(stored: key.terms.stored))
        let read = EligibilityKey(stored: key.stored(place: 7), terms: terms)
        #expect(read == key && read.schedule == schedule)
        // As before there were names.
        if required == "power" { #expect(key.terms.stored == windows) }
        #expect(read.eligibility.waived.conditionNeeds.required == schedule.requires)
    }

    @Test(arguments: ["x", "\nmounted=a", "\nmounted=a\n\n", "25:00-26:00\n\n", "\npowr\n"])
    func termsOfALaterVersionAreNotRead(text: String) {
        #expect(EligibilityTerms(stored: text) == nil)
    }
}
