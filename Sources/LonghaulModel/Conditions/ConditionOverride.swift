/// Conditions that are said to be so, whatever the machine itself says: for containers, servers and
/// tests.
///
/// Its text is `power=battery,battery=40,network=metered,idle=no`, in any order and with as many of
/// them as wanted; each may be `unknown`. A network may have a name, `network=unmetered:home`, and
/// several file systems may be mounted: `mounted=backup,/media/disk`.
public struct ConditionOverride: Hashable, Sendable {
    /// `nil` = not overridden; `.some(nil)` = said to be unknown. The same for the others.
    public var power: PowerSource?? {
        get { said(\.power, .power) }
        set { say(\.power, .power, newValue) }
    }
    /// Battery level in percent, 0…100.
    public var battery: Int?? {
        get { said(\.battery, .battery) }
        set { say(\.battery, .battery, newValue) }
    }
    /// The state of the network, and what it costs.
    public var network: NetworkState?? {
        get { said(\.network, .network) }
        set { say(\.network, .network, newValue) }
    }
    /// Name of the network, beside ``network``; `nil` = unknown.
    public var networkName: String? {
        get { conditions.network.names?.shown }
        set { conditions.network.names = newValue.map { NetworkNames(given: [$0]) } }
    }
    /// True if no user is at the machine.
    public var isIdle: Bool?? {
        get { said(\.isIdle, .idle) }
        set { say(\.isIdle, .idle, newValue) }
    }
    /// True if the machine is told to save power.
    public var savesPower: Bool?? {
        get { said(\.savesPower, .saver) }
        set { say(\.savesPower, .saver, newValue) }
    }
    /// The mounted file systems, by the names that requests use.
    public var mounted: MountedFileSystems?? {
        get { said(\.mounted, .mounted) }
        set { say(\.mounted, .mounted, newValue) }
    }
    /// The conditions that it overrides.
    public private(set) var kinds: Set<ConditionKind> = []
    /// The values of those; all else is unknown.
    private var conditions = Conditions()

    /// Overrides nothing.
    public init() {}

    /// - Throws: `invalidRequest` for an unknown name or value, a name that comes twice, and for
    ///   text that says nothing.
    public init(parsing text: some StringProtocol) throws(LonghaulError) {
        for item in Self.items(text) {
            let parts = item.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false
            ).map { Substring($0).trimmingBlanks }
            guard parts.count == 2, let kind = ConditionKind(rawValue: String(parts[0])) else {
                throw Self.refusal(
                    item, "a condition is power, battery, network, idle, saver or mounted")
            }
            guard !kinds.contains(kind) else { throw Self.refusal(item, "\(kind) comes twice") }
            guard set(kind, to: parts[1]) else {
                throw Self.refusal(item, "\(kind) is \(kind.values)")
            }
        }
    }

    /// The override of one condition, as its text has it; `nil` = none.
    public func text(of kind: ConditionKind) -> String? {
        guard kinds.contains(kind) else { return nil }
        let name = kind == .network ? networkName.map { ":" + $0 } ?? "" : ""
        return (conditions[kind].value ?? Self.unknown) + name
    }

    /// Says `text` about one condition; `false`, and nothing changed, when that is no value of it.
    package mutating func set(_ kind: ConditionKind, to text: some StringProtocol) -> Bool {
        var new = Conditions()
        var value = String(text)
        if kind == .network, let mark = value.firstIndex(of: ":") {
            guard let name = MachineName.network(value[value.index(after: mark)...]) else {
                return false
            }
            value = String(value[..<mark])
            if value == NetworkState.offline.rawValue || value == Self.unknown { return false }
            new.network.names = NetworkNames(given: [name])
        }
        new[kind].value = value
        if new[kind].value == nil, value != Self.unknown { return false }
        conditions = new.only([kind], else: conditions)
        kinds.insert(kind)
        return true
    }

    /// Replaces the readings of the conditions that it says something about.
    package func apply(
        to conditions: inout Conditions, source: String, since: (ConditionKind) -> Timestamp?
    ) {
        for kind in kinds {
            conditions.replace(kind, by: self.conditions, source: source, since: since(kind))
        }
        // A network without a name is not one whose names have yet to be read.
        if kinds.contains(.network), conditions.network.names == nil {
            conditions.network.names = .unknown
        }
    }

    // MARK: -

    /// The parts between commas; one without `=` continues the list of the one before.
    private static func items(_ text: some StringProtocol) -> [String] {
        var items: [String] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            if let last = items.last, last.hasPrefix("mounted="), !part.contains("=") {
                items[items.count - 1] += "," + part
            } else {
                items.append(String(part))
            }
        }
        return items
    }

    private static let unknown = "unknown"

    private func said<Value>(
        _ path: KeyPath<Conditions, Reading<Value>>, _ kind: ConditionKind
    ) -> Value?? {
        kinds.contains(kind) ? .some(conditions[keyPath: path].value) : nil
    }

    private mutating func say<Value>(
        _ path: WritableKeyPath<Conditions, Reading<Value>>, _ kind: ConditionKind, _ value: Value??
    ) {
        if value == nil { kinds.remove(kind) } else { kinds.insert(kind) }
        conditions[keyPath: path].value = value ?? nil
    }

    private static func refusal(_ item: some StringProtocol, _ why: String) -> LonghaulError {
        LonghaulError(.invalidRequest, "\"\(item)\" is no condition: \(why)")
    }
}

extension ConditionOverride: CustomStringConvertible {
    /// The text that it is parsed from.
    public var description: String {
        ConditionKind.allCases.compactMap { kind in text(of: kind).map { "\(kind)=\($0)" } }
            .joined(separator: ",")
    }
}

/// The overrides that hold: that of the environment before the one kept in the store, both before
/// what the machine says.
package struct ConditionOverrides: Hashable, Sendable {
    package var environment = ConditionOverride()
    /// When the process was told: an environment does not change.
    package var environmentSince: Timestamp?
    package var kept = KeptOverride()
    /// The networks that were given names.
    package var networks: [String: NetworkPlace] = [:]

    package init() {}

    /// Conditions whose source need not be looked at.
    package var kinds: Set<ConditionKind> { environment.kinds.union(kept.override.kinds) }

    package func apply(to conditions: Conditions) -> Conditions {
        var result = conditions
        kept.override.apply(to: &result, source: "store") { kept.since[$0] }
        environment.apply(to: &result, source: "environment") { _ in environmentSince }
        return result
    }
}

/// The override in the store, with the time at which each part of it was set.
package struct KeptOverride: Hashable, Sendable {
    package var override = ConditionOverride()
    package var since: [ConditionKind: Timestamp] = [:]

    package init() {}
}
