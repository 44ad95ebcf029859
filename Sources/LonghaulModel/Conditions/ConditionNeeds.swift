/// Conditions that are asked for together.
public struct ConditionNeeds: Hashable, Sendable {
    /// Charge in percent, 1…100, from which on the battery may be drained; external power serves
    /// too.
    public var battery: Int?
    /// Networks, one of which the machine must be on: connections of NetworkManager by id or UUID,
    /// or names given by `longhaul network name`. `!NAME` is any other network than that one.
    /// Empty = any.
    public var networks: Set<String> = []
    /// File systems that must all be mounted, each by its mount point, its label or its UUID.
    public var mounts: Set<String> = []
    /// The needs without a parameter.
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
        self.words = words.subtracting(.withParameter)
        self.battery = battery
    }

    /// True if nothing is needed.
    public var isEmpty: Bool { self == ConditionNeeds() }

    /// The defect in a sentence; `nil` = none.
    package var defect: String? {
        if let battery, !(1...100).contains(battery) {
            return "a battery's charge is 1 to 100 percent"
        }
        let isNetwork = { (name: String) in
            MachineName.network(name.hasPrefix("!") ? name.dropFirst() : name[...]) != nil
        }
        if !networks.allSatisfy(isNetwork) {
            return "the name of a network has no comma, bar or colon"
        }
        if !mounts.allSatisfy({ MachineName.fileSystem($0) == $0 }) {
            return "a file system is named by its label, its UUID or the absolute path of its mount"
                + " point, without commas"
        }
        return nil
    }

    /// Everything that there is to need.
    package static let all: ConditionNeeds = {
        var all = ConditionNeeds(NeedSet(NeedSet.table.map(\.need)), battery: 100)
        all.networks = [anyName]
        all.mounts = [anyName]
        return all
    }()

    /// Stands for all names in ``all``.
    private static let anyName = "*"

    /// Of plain wake-ups.
    static let polite = ConditionNeeds([.power, .fullPower])
    static let discretionary = ConditionNeeds([.power, .unmetered, .idle, .fullPower])

    package var flags: NeedSet {
        var flags = words
        if battery != nil { flags.insert(.battery) }
        if !networks.isEmpty { flags.insert(.networks) }
        if !mounts.isEmpty { flags.insert(.mounts) }
        return flags
    }

    /// The needs that have names.
    package var named: ConditionNeeds {
        var named = ConditionNeeds()
        (named.networks, named.mounts) = (networks, mounts)
        return named
    }

    /// The conditions that are read for the needs.
    package var kinds: Set<ConditionKind> { Set(flags.entries.flatMap(\.kinds)) }

    /// Either's needs; of two charges the higher.
    package func union(_ other: ConditionNeeds) -> ConditionNeeds {
        var all = ConditionNeeds(
            words.union(other.words), battery: [battery, other.battery].compactMap { $0 }.max())
        all.networks = networks.union(other.networks)
        all.mounts = mounts.union(other.mounts)
        return all
    }

    /// True if these kinds of conditions, and the file systems, are all among the others.
    package func isWithin(_ other: ConditionNeeds) -> Bool {
        flags.isSubset(of: other.flags)
            && (mounts.isSubset(of: other.mounts) || other.mounts.contains(Self.anyName))
    }

    /// The names as they are typed, one by one: `power`, `unmetered`, `idle`, `network`,
    /// `battery=50`, `saver=off`, `network=home|office`, `mounted=backup`.
    public var names: [String] {
        flags.entries.flatMap { entry -> [String] in
            switch entry.need {
            case .battery: [entry.name + "\(battery ?? 0)"]
            case .networks: [entry.name + networkText]
            case .mounts: mounts.sorted().map { entry.name + $0 }
            default: [entry.name]
            }
        }
    }

    /// The networks as they are typed.
    package var networkText: String { networks.sorted().joined(separator: "|") }

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
        guard let mark = name.firstIndex(of: "=") else { return addWord(name) }
        let value = name[name.index(after: mark)...]
        switch name[..<mark] {
        case "battery":
            guard let percent = value.decimalValue, (1...100).contains(percent) else {
                return false
            }
            battery = Int(percent)
        case "network": return addNetworks(value)
        case "mounted":
            guard let mount = MachineName.fileSystem(value) else { return false }
            mounts.insert(mount)
        default: return addWord(name)
        }
        return true
    }

    private mutating func addWord(_ name: some StringProtocol) -> Bool {
        let entry = NeedSet.table.first {
            $0.name == name && $0.need.isDisjoint(with: .withParameter)
        }
        if let entry { words.insert(entry.need) }
        return entry != nil
    }

    /// A second list may exclude networks; two lists of networks to be on are none.
    private mutating func addNetworks(_ text: some StringProtocol) -> Bool {
        var added: Set<String> = []
        for name in text.split(separator: "|", omittingEmptySubsequences: false) {
            let isExcluded = name.hasPrefix("!")
            guard let plain = MachineName.network(isExcluded ? name.dropFirst() : name[...])
            else { return false }
            added.insert(isExcluded ? "!" + plain : plain)
        }
        let isOn = { (names: Set<String>) in names.contains { !$0.hasPrefix("!") } }
        if isOn(networks), isOn(added) { return false }
        networks.formUnion(added)
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
    package static let networks = NeedSet(rawValue: 64)
    package static let mounts = NeedSet(rawValue: 128)

    fileprivate static let withParameter: NeedSet = [.battery, .networks, .mounts]

    struct Entry: Sendable {
        let need: NeedSet
        /// As it is typed; a parameter follows `=` at its end.
        let name: String
        /// The conditions that are read for it.
        let kinds: [ConditionKind]
        /// Places in ``EligibilityKey`` of a need that is required, and of one that is preferred;
        /// that of the charge is the lowest of seven; `nil`: needs with names have none there, see
        /// ``EligibilityTerms``. Stored: never renumber.
        let bits: (required: Int64, preferred: Int64)?
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
        Entry(need: .networks, name: "network=", kinds: [.network], bits: nil),
        Entry(need: .mounts, name: "mounted=", kinds: [.mounted], bits: nil),
    ]

    var entries: [Entry] { NeedSet.table.filter { contains($0.need) } }

    fileprivate mutating func set(_ need: NeedSet, _ isNeeded: Bool) {
        if isNeeded { insert(need) } else { remove(need) }
    }
}
