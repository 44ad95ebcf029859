/// Conditions that are asked for together.
public struct ConditionNeeds: Hashable, Sendable {
    /// Charge in percent, 1…100, from which on the battery may be drained; external power serves
    /// too.
    public var battery: Int?
    /// The needs without ``battery``.
    private var words: NeedSet = []

    /// External power.
    public var power: Bool {
        get { words.contains(.power) }
        set { words.set(.power, newValue) }
    }
    /// A network that is known to cost nothing by volume.
    public var unmetered: Bool {
        get { words.contains(.unmetered) }
        set { words.set(.unmetered, newValue) }
    }
    /// A machine without a user at it.
    public var idle: Bool {
        get { words.contains(.idle) }
        set { words.set(.idle, newValue) }
    }
    /// A network that is known to be there; also for a loopback URL, which needs none by itself.
    public var network: Bool {
        get { words.contains(.network) }
        set { words.set(.network, newValue) }
    }
    /// A machine that is not told to save power. Its user tells it by a power profile.
    public var fullPower: Bool {
        get { words.contains(.fullPower) }
        set { words.set(.fullPower, newValue) }
    }

    /// No needs by default.
    public init(
        power: Bool = false, unmetered: Bool = false, idle: Bool = false, network: Bool = false,
        battery: Int? = nil, fullPower: Bool = false
    ) {
        self.battery = battery
        self.power = power
        self.unmetered = unmetered
        self.idle = idle
        self.network = network
        self.fullPower = fullPower
    }

    package init(_ words: NeedSet, battery: Int? = nil) {
        self.words = words.subtracting(.battery)
        self.battery = battery
    }

    /// True if nothing is needed.
    public var isEmpty: Bool { self == ConditionNeeds() }

    /// The defect in a sentence; `nil` = none.
    package var defect: String? {
        guard let battery, !(1...100).contains(battery) else { return nil }
        return "a battery's charge is 1 to 100 percent"
    }

    /// Everything that there is to need.
    package static let all = ConditionNeeds(NeedSet(NeedSet.table.map(\.need)), battery: 100)

    static let discretionary = ConditionNeeds([.power, .unmetered, .idle, .fullPower])

    package var flags: NeedSet { battery == nil ? words : words.union(.battery) }

    /// The conditions that are read for the needs.
    package var kinds: Set<ConditionKind> { Set(flags.entries.flatMap(\.kinds)) }

    /// Either's needs; of two charges the higher.
    package func union(_ other: ConditionNeeds) -> ConditionNeeds {
        ConditionNeeds(
            words.union(other.words), battery: [battery, other.battery].compactMap { $0 }.max())
    }

    /// True if these kinds of conditions are all among the others.
    package func isWithin(_ other: ConditionNeeds) -> Bool { flags.isSubset(of: other.flags) }

    /// The names as they are typed, one by one: `power`, `unmetered`, `idle`, `network`,
    /// `battery=50`, `saver=off`.
    public var names: [String] {
        flags.entries.map { $0.need == .battery ? $0.name + "\(battery ?? 0)" : $0.name }
    }

    /// Names with commas between; `none` and the empty text are no needs. `nil` for anything else.
    public init?(parsing text: some StringProtocol) {
        self.init()
        if text.isEmpty || text == "none" { return }
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard add(name) else { return nil }
        }
    }

    /// Adds a need by its name; `false` when it is none.
    public mutating func add(_ name: some StringProtocol) -> Bool {
        if let entry = NeedSet.table.first(where: { $0.name == name && $0.need != .battery }) {
            words.insert(entry.need)
            return true
        }
        let mark = "battery="
        guard name.hasPrefix(mark), let percent = name.dropFirst(mark.count).decimalValue,
            (1...100).contains(percent)
        else { return false }
        battery = Int(percent)
        return true
    }
}

/// The kinds of needs.
package struct NeedSet: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let power = NeedSet(rawValue: 1)
    package static let unmetered = NeedSet(rawValue: 2)
    package static let idle = NeedSet(rawValue: 4)
    package static let network = NeedSet(rawValue: 8)
    package static let battery = NeedSet(rawValue: 16)
    package static let fullPower = NeedSet(rawValue: 32)

    struct Entry: Sendable {
        let need: NeedSet
        /// As it is typed; `battery=` is followed by a number.
        let name: String
        /// The conditions that are read for it.
        let kinds: [ConditionKind]
        /// Places in ``EligibilityKey`` of a need that is required, and of one that is preferred;
        /// that of the charge is the lowest of seven. Stored: never renumber.
        let bits: (required: Int64, preferred: Int64)
    }

    /// A new need is an entry here, and a gate in `ConditionCheck`.
    static let table: [Entry] = [
        Entry(need: .power, name: "power", kinds: [.power], bits: (2, 6)),
        Entry(need: .unmetered, name: "unmetered", kinds: [.network], bits: (3, 7)),
        Entry(need: .idle, name: "idle", kinds: [.idle], bits: (4, 8)),
        Entry(need: .network, name: "network", kinds: [.network], bits: (5, 9)),
        // External power serves where a charge is asked for.
        Entry(need: .battery, name: "battery=", kinds: [.battery, .power], bits: (10, 17)),
        Entry(need: .fullPower, name: "saver=off", kinds: [.saver], bits: (50, 51)),
    ]

    var entries: [Entry] { NeedSet.table.filter { contains($0.need) } }

    fileprivate mutating func set(_ need: NeedSet, _ isNeeded: Bool) {
        if isNeeded { insert(need) } else { remove(need) }
    }
}
