import LonghaulCore
import Testing

@Suite struct GateTests {
    private let now = Timestamp(milliseconds: 1_790_000_000_000)

    private func conditions(_ text: String) throws -> Conditions {
        var conditions = Conditions()
        guard !text.isEmpty else { return conditions }
        try ConditionOverride(parsing: text).apply(to: &conditions, source: "test") { _ in
            now + -60
        }
        return conditions
    }

    /// `network` stands for what every URL needs that is not on this machine.
    private func held(
        require: String = "none", prefer: String? = nil, discretionary: Bool = false,
        usesNetwork: Bool = true, by text: String
    ) throws -> [WaitReason.Reason] {
        var schedule = TransferSchedule()
        schedule.requires = try #require(ConditionNeeds(parsing: require))
        if let prefer {
            let wishes: ConditionNeeds = try #require(ConditionNeeds(parsing: prefer))
            schedule.prefers = wishes
        }
        let eligibility = EligibilityKey(
            schedule, isDiscretionary: discretionary, usesNetwork: usesNetwork
        ).eligibility
        let snapshot = ConditionSnapshot(conditions: try conditions(text))
        return eligibility.gate(in: snapshot, now: now).reasons.map(\.reason)
    }

    /// The clock never opens it, and running it now sets it aside.
    @Test func otherTransfersHoldAnEligibility() {
        let snapshot = ConditionSnapshot()
        let waiting = EligibilityKey(waitsForTransfers: true)
        for key in [waiting, waiting.eligibility, waiting.waived] {
            let gate = key.gate(in: snapshot, now: now)
            #expect(gate.reasons.map(\.reason) == [.transfers] && gate.changesAt == nil)
        }
        #expect(waiting.now.gate(in: snapshot, now: now).isOpen)
        let plan = SchedulerPolicy().plan(
            head: [], ready: [waiting], running: [], origins: [:], now: now)
        #expect(!plan.holdsBack)
    }

    struct Row: Sendable {
        var asked: String
        var conditions: String
        /// What is missing when it is required, and when it is preferred.
        var required: [WaitReason.Reason]
        var preferred: [WaitReason.Reason]

        init(
            _ asked: String, _ conditions: String, _ required: WaitReason.Reason...,
            preferred: WaitReason.Reason...
        ) {
            self.asked = asked
            self.conditions = conditions
            self.required = required
            self.preferred = preferred
        }
    }

    static let rows: [Row] = [
        Row("power", "power=external"),
        Row("power", "power=battery", .power, preferred: .power),
        Row("power", "", .power),
        Row("unmetered", "network=unmetered"),
        Row("unmetered", "network=metered", .unmetered, preferred: .unmetered),
        Row("unmetered", "network=unknown", .network),
        Row("unmetered", "network=offline", .network, preferred: .network),
        Row("network,unmetered", "network=offline", .network, preferred: .network),
        Row("network,unmetered", "network=metered", .unmetered, preferred: .unmetered),
        Row("network", "network=metered"),
        Row("network", "network=offline", .network, preferred: .network),
        Row("network", "", .network),
        Row("idle", "idle=yes"),
        Row("idle", "idle=no", .idle, preferred: .idle),
        Row("idle", "", .idle),
        Row("saver=off", "saver=off"),
        Row("saver=off", "saver=on", .saver, preferred: .saver),
        Row("saver=off", "", .saver),
        Row("battery=50", "battery=50"),
        Row("battery=50", "battery=49", .battery, preferred: .battery),
        Row("battery=50", "battery=10,power=external"),
        Row("battery=50", "", .battery),
        Row("power,idle", "power=battery,idle=no", .power, .idle, preferred: .power, .idle),
    ]

    @Test(arguments: rows) func needs(row: Row) throws {
        #expect(try held(require: row.asked, by: row.conditions) == row.required)
        #expect(try held(prefer: row.asked, by: row.conditions) == row.preferred)
    }

    @Test func aNetworkIsNeededUnlessTheURLIsOfThisMachine() throws {
        #expect(try held(by: "network=offline") == [.network])
        #expect(try held(by: "").isEmpty)
        #expect(try held(usesNetwork: false, by: "network=offline").isEmpty)
        // Asked for by name it holds for any URL.
        #expect(
            try held(require: "network", usesNetwork: false, by: "network=offline") == [.network])
    }

    @Test func discretionaryPrefersAGoodMoment() throws {
        let bad = "power=battery,network=metered,idle=no,saver=on"
        #expect(try held(discretionary: true, by: bad) == [.power, .unmetered, .idle, .saver])
        #expect(try held(discretionary: true, by: "").isEmpty)
        #expect(try held(prefer: "none", discretionary: true, by: bad).isEmpty)
        #expect(try held(prefer: "idle", discretionary: true, by: bad) == [.idle])
    }

    @Test func requiredAndPreferredIsSaidOnce() throws {
        #expect(try held(require: "power", prefer: "power", by: "power=battery") == [.power])
    }

    @Test func aNetworkSettlesBeforeAnythingStarts() throws {
        let snapshot = ConditionSnapshot(
            conditions: try conditions("network=unmetered"), networkSettlesAt: now + 3)
        let gate = EligibilityKey.plain.gate(in: snapshot, now: now)
        #expect(gate.reasons.map(\.reason) == [.network])
        #expect(gate.reasons.first?.nextCheck == now + 3)
        #expect(gate.changesAt == now + 3)
        #expect(EligibilityKey.plain.gate(in: snapshot, now: now, isRunning: true).isOpen)
        #expect(EligibilityKey.plain.gate(in: snapshot, now: now + 3).isOpen)
        #expect(EligibilityKey(usesNetwork: false).gate(in: snapshot, now: now).isOpen)
    }

    @Test func aWindowSaysWhenItOpensAndCloses() throws {
        var schedule = TransferSchedule()
        schedule.windows = TimeWindows(parsing: "13:00-14:00")
        let eligibility = EligibilityKey(schedule).eligibility
        let noon = try #require(RFC3339.parse("2026-03-01T12:00:00Z"))
        let gate = eligibility.gate(in: ConditionSnapshot(), now: noon)
        #expect(
            gate.reasons == [
                WaitReason(
                    .window, required: "13:00-14:00", current: "12:00",
                    since: RFC3339.parse("2026-02-28T14:00:00Z"), nextCheck: noon + 3600)
            ])
        let open = eligibility.gate(in: ConditionSnapshot(), now: noon + 3600)
        #expect(open.isOpen && open.changesAt == noon + 7200)
    }

    /// A class is a number and windows, and nothing of it is lost.
    @Test(arguments: 0..<20) func classesRoundTrip(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        func needs() -> ConditionNeeds {
            ConditionNeeds(
                power: .random(using: &random), unmetered: .random(using: &random),
                idle: .random(using: &random), network: .random(using: &random),
                battery: Bool.random(using: &random) ? Int.random(in: 1...100, using: &random) : nil
            )
        }
        var schedule = TransferSchedule()
        schedule.requires = needs()
        if Bool.random(using: &random) { schedule.prefers = needs() }
        if Bool.random(using: &random) {
            schedule.windows = TimeWindows(parsing: "Mon-Fri 22:00-06:00;Sat,Sun")
        }
        let packed = EligibilityKey(
            schedule, isDiscretionary: .random(using: &random), usesNetwork: .random(using: &random)
        )
        let place = Int64.random(in: 1...4_194_303, using: &random)
        let number = packed.stored(place: place)
        let read = EligibilityKey(stored: number, terms: packed.terms)
        #expect(
            EligibilityKey.place(inStored: number) == (schedule.windows == nil ? 0 : place)
                && read == packed)
        // A number without a place has no windows, whatever is read beside it.
        let other = EligibilityKey(stored: packed.now.bits, terms: packed.terms)
        #expect(other == packed.now && other.windows == nil)
        #expect(read.schedule == schedule)
        #expect(read.eligibility.waived.hasPreferences == false)
        #expect(read.eligibility.windows == schedule.windows)
        #expect(
            read.eligibility.hasPreferences
                == !schedule.preferences(isDiscretionary: packed.isDiscretionary).isEmpty)
        #expect(EligibilityKey.plain.bits == 1 && EligibilityKey.plain.eligibility == .plain)
    }

    @Test(arguments: [
        ("http://127.0.0.1:80", true), ("http://127.255.0.3:8080", true), ("http://[::1]:80", true),
        ("ftp://localhost:21", true), ("http://a.localhost:80", true),
        ("http://localhost.example:80", false), ("http://128.0.0.1:80", false),
        ("http://127.0.0.1.example:80", false), ("http://[::2]:80", false),
        ("https://example.com:443", false), ("http://127.0.0:80", false),
    ])
    func loopback(origin: String, isLoopback: Bool) {
        #expect(Loopback.isLoopback(origin: origin) == isLoopback)
    }

    @Test(arguments: [
        "power", "power=mains", "battery=101", "battery=-1", "network=yes", "idle=maybe",
        "light=on",
        "power=external battery=3",
    ])
    func conditionsThatAreNotUnderstood(text: String) {
        #expect(throws: LonghaulError.self) { try ConditionOverride(parsing: text) }
    }

    @Test(arguments: ["powers", "power,,idle", "battery", "battery=0", "battery=101", "Power"])
    func needsThatAreNotUnderstood(text: String) {
        #expect(ConditionNeeds(parsing: text) == nil)
    }
}
