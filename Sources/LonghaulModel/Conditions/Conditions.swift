/// State of the machine now. Each value may be unknown (`nil`), which is a value of its own: a
/// requirement holds only when it is known to hold, a preference is content with unknown, and an
/// unknown network counts as present.
public struct Conditions: Hashable, Sendable {
    /// Source of the machine's power.
    public var power: Reading<PowerSource> = .unknown
    /// Charge of the battery in percent, 0…100.
    public var battery: Reading<Int> = .unknown
    /// Connection to the outside, and whether its volume costs.
    public var network: Reading<NetworkState> = .unknown
    /// No user is at the machine, and it has nothing else to do.
    public var isIdle: Reading<Bool> = .unknown
    /// The machine is told to save power, by the power profile `power-saver`.
    public var savesPower: Reading<Bool> = .unknown
    /// The file systems that requests name, as far as they are mounted.
    public var mounted: Reading<MountedFileSystems> = .unknown

    /// All unknown.
    public init() {}
}

/// A condition as it was read: its value, its source, and the moment from which it holds.
public struct Reading<Value: Hashable & Sendable>: Hashable, Sendable {
    /// `nil` = unknown.
    public var value: Value?
    /// The source: `upower`, `networkmanager`, `logind`, `powerprofiles`, `sysfs`, `rtnetlink`,
    /// `proc`, `mountinfo`, `environment`, `store`, `none`.
    public var source: String
    /// First moment at which this engine saw the value; `nil` = never looked. For the network: the
    /// first moment on this network.
    public var since: Timestamp?
    /// Identity of the network, for readings of the network only; `nil` = not known, for example
    /// because the network is overridden.
    package var identity: NetworkIdentity?
    /// Names of the network, for readings of the network only; `nil` = they were not read.
    package var names: NetworkNames?

    /// A value as a source gives it; `nil` = unknown.
    public init(_ value: Value?, source: String, since: Timestamp?) {
        self.value = value
        self.source = source
        self.since = since
    }

    /// A reading without a value: nothing was read yet, or no source can tell.
    public static var unknown: Reading { Reading(nil, source: "none", since: nil) }
}

extension Reading<NetworkState> {
    /// Name of the network: the one that `longhaul network name` gave it, else NetworkManager's;
    /// `nil` = it has none, or was not asked for.
    public var name: String? { value == .offline ? nil : names?.shown }

    /// NetworkManager says that it is connected when addresses, routes and name servers are set;
    /// the kernel, when the first address is.
    package var hasSettled: Bool { source == "networkmanager" }

    /// The network has another state, or the same state and another identity. The first reading is
    /// no change, nor is a second reading of the same network.
    package func isAnother(than old: Self) -> Bool {
        guard let value, let known = old.value else { return false }
        if value != known { return true }
        guard let identity, var before = old.identity else { return false }
        return before.follow(identity)
    }
}

/// Source of the machine's power.
public enum PowerSource: String, Codable, Sendable, CaseIterable {
    /// Mains power.
    case external
    /// The battery.
    case battery
}

/// Cost of the connection to the outside, if there is one.
public enum NetworkState: String, Codable, Sendable, CaseIterable {
    /// Connected, at no cost by volume.
    case unmetered
    /// Connected, at a cost by volume: a mobile network, a tethered telephone.
    case metered
    /// No connection.
    case offline
}

/// The conditions that a machine can be asked for, by the names that commands and overrides use.
public enum ConditionKind: String, Codable, Sendable, CaseIterable {
    /// ``Conditions/power``.
    case power
    /// ``Conditions/battery``.
    case battery
    /// ``Conditions/network``.
    case network
    /// ``Conditions/isIdle``.
    case idle
    /// ``Conditions/savesPower``.
    case saver
    /// ``Conditions/mounted``.
    case mounted
}

extension Reading {
    /// Records what a source says now. ``since`` stays as long as the value stays the same, even if
    /// another source reports it.
    package mutating func note(_ value: Value?, source: String, now: Timestamp) {
        let isSame = since != nil && self.value == value
        self = Reading(value, source: source, since: isSame ? since : now)
    }
}

/// Readings so far: an engine reads only the conditions that transfers need, and not before it
/// runs.
extension Conditions {
    /// All was looked at, and nothing could be found out.
    package static func unknown(since: Timestamp) -> Conditions {
        var conditions = Conditions()
        for kind in ConditionKind.allCases { conditions[kind].since = since }
        conditions.network.names = .unknown
        return conditions
    }

    /// All conditions on which these needs depend were read.
    package func hasSeen(_ needs: ConditionNeeds) -> Bool {
        needs.kinds.allSatisfy { self[$0].since != nil }
            && (needs.networks.isEmpty || network.names != nil)
            && needs.mounts.allSatisfy { mounted.value?.isMounted($0) != nil || isUnreadable }
    }

    /// No source tells what is mounted.
    private var isUnreadable: Bool { mounted.value == nil && mounted.since != nil }

    /// Fills conditions that this process has not read yet with the readings of other processes.
    package func completed(by others: Conditions) -> Conditions {
        let unread = ConditionKind.allCases.filter { self[$0].since == nil }
        return others.only(Set(unread), else: self)
    }

    /// The conditions of some kinds, and of all other kinds those of `rest`.
    package func only(
        _ kinds: Set<ConditionKind>, else rest: Conditions = Conditions()
    ) -> Conditions {
        var result = rest
        for kind in kinds { kind.entry.copy(self, &result) }
        return result
    }

    /// Replaces a reading by that of others, from another source.
    package mutating func replace(
        _ kind: ConditionKind, by others: Conditions, source: String, since: Timestamp?
    ) {
        kind.entry.copy(others, &self)
        self[kind].source = source
        self[kind].since = since
    }

    /// The reading of a condition, with its value as a text.
    package subscript(kind: ConditionKind) -> Reading<String> {
        get { kind.entry.get(self) }
        set { kind.entry.set(&self, newValue) }
    }
}

/// A condition: its reading, and the texts of its values.
struct ConditionEntry: Sendable {
    /// The values in words, for a refusal.
    let values: String
    let form: ConditionKind.Form
    let get: @Sendable (Conditions) -> Reading<String>
    let set: @Sendable (inout Conditions, Reading<String>) -> Void
    let copy: @Sendable (Conditions, inout Conditions) -> Void

    init<Value>(
        _ path: any WritableKeyPath<Conditions, Reading<Value>> & Sendable, _ values: String,
        _ form: ConditionKind.Form, text: @escaping @Sendable (Value) -> String,
        parse: @escaping @Sendable (String) -> Value?
    ) {
        self.values = values
        self.form = form
        get = { $0[keyPath: path].map(text) }
        set = { conditions, reading in
            // A text may say less than the value.
            let old = conditions[keyPath: path].value
            let isSame = old.map(text) == reading.value
            conditions[keyPath: path] = reading.map(isSame ? { _ in old } : parse)
        }
        copy = { $1[keyPath: path] = $0[keyPath: path] }
    }
}

extension ConditionKind {
    /// How a value is shown.
    package enum Form: Sendable {
        case word, percent, yesNo, list
    }

    package var form: Form { entry.form }

    /// The values in words, for a refusal.
    var values: String { entry.values }

    /// A new condition is an entry here, its property of ``Conditions``, and its sensor.
    fileprivate var entry: ConditionEntry {
        switch self {
        case .power: Self.powerEntry
        case .battery: Self.batteryEntry
        case .network: Self.networkEntry
        case .idle: Self.idleEntry
        case .saver: Self.saverEntry
        case .mounted: Self.mountedEntry
        }
    }

    private static let powerEntry = ConditionEntry(
        \.power, "external, battery or unknown", .word, text: \.rawValue,
        parse: { PowerSource(rawValue: $0) })
    private static let batteryEntry = ConditionEntry(
        \.battery, "0 to 100 or unknown", .percent, text: { "\($0)" }, parse: percent)
    private static let networkEntry = ConditionEntry(
        \.network, "unmetered, metered, each with a name as in unmetered:home, offline or unknown",
        .word, text: \.rawValue,
        parse: { NetworkState(rawValue: $0) })
    private static let idleEntry = ConditionEntry(
        \.isIdle, "yes, no or unknown", .yesNo, text: { $0 ? "yes" : "no" },
        parse: { ["yes": true, "no": false][$0] })
    private static let saverEntry = ConditionEntry(
        \.savesPower, "on, off or unknown", .word, text: { $0 ? "on" : "off" },
        parse: { ["on": true, "off": false][$0] })
    private static let mountedEntry = ConditionEntry(
        \.mounted, "names of file systems with commas between, none or unknown", .list,
        text: \.text, parse: { MountedFileSystems(parsing: $0) })

    @Sendable private static func percent(_ text: String) -> Int? {
        guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit),
            let value = Int(text), value <= 100
        else { return nil }
        return value
    }
}

extension Reading {
    /// The same reading with another form of its value.
    fileprivate func map<Other>(_ change: (Value) -> Other?) -> Reading<Other> {
        var reading = Reading<Other>(value.flatMap(change), source: source, since: since)
        reading.identity = identity
        reading.names = names
        return reading
    }
}
