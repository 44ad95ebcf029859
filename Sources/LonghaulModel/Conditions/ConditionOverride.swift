/// Conditions that are said to be so, whatever the machine itself says: for containers, servers and
/// tests.
///
/// Its text is `power=battery,battery=40,network=metered,idle=no`, in any order and with as many of
/// them as wanted; each may be `unknown`.
public struct ConditionOverride: Hashable, Sendable {
    /// `nil` = not overridden; `.some(nil)` = said to be unknown. The same for the others.
    public var power: PowerSource??
    /// Battery level in percent, 0…100.
    public var battery: Int??
    /// The state of the network, and what it costs.
    public var network: NetworkState??
    /// True if no user is at the machine.
    public var isIdle: Bool??
    /// True if the machine is told to save power.
    public var savesPower: Bool??

    /// Overrides nothing.
    public init() {}

    /// - Throws: `invalidRequest` for an unknown name or value, a name that comes twice, and for
    ///   text that says nothing.
    public init(parsing text: some StringProtocol) throws(LonghaulError) {
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = item.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false
            ).map { Substring($0).trimmingBlanks }
            guard parts.count == 2, let kind = ConditionKind(rawValue: String(parts[0])) else {
                throw Self.refusal(item, "a condition is power, battery, network, idle or saver")
            }
            guard !kinds.contains(kind) else { throw Self.refusal(item, "\(kind) comes twice") }
            guard set(kind, to: parts[1]) else {
                throw Self.refusal(item, "\(kind) is \(kind.values)")
            }
        }
    }

    /// The conditions that it overrides.
    public var kinds: Set<ConditionKind> {
        Set(ConditionKind.allCases.filter { text(of: $0) != nil })
    }

    /// The override of one condition, as its text has it; `nil` = none.
    public func text(of kind: ConditionKind) -> String? {
        switch kind {
        case .power: power.map { $0?.rawValue ?? Self.unknown }
        case .battery: battery.map { $0.map(String.init) ?? Self.unknown }
        case .network: network.map { $0?.rawValue ?? Self.unknown }
        case .idle: isIdle.map { $0.map { $0 ? "yes" : "no" } ?? Self.unknown }
        case .saver: savesPower.map { $0.map { $0 ? "on" : "off" } ?? Self.unknown }
        }
    }

    /// Says `text` about one condition; `false`, and nothing changed, when that is no value of it.
    package mutating func set(_ kind: ConditionKind, to text: some StringProtocol) -> Bool {
        let text = String(text)
        let isUnknown = text == Self.unknown
        switch kind {
        case .power:
            let value = PowerSource(rawValue: text)
            guard value != nil || isUnknown else { return false }
            power = .some(value)
        case .battery:
            let value = Self.percent(text)
            guard value != nil || isUnknown else { return false }
            battery = .some(value)
        case .network:
            let value = NetworkState(rawValue: text)
            guard value != nil || isUnknown else { return false }
            network = .some(value)
        case .idle:
            guard text == "yes" || text == "no" || isUnknown else { return false }
            isIdle = .some(isUnknown ? nil : text == "yes")
        case .saver:
            guard text == "on" || text == "off" || isUnknown else { return false }
            savesPower = .some(isUnknown ? nil : text == "on")
        }
        return true
    }

    /// Replaces the readings of the conditions that it says something about.
    package func apply(
        to conditions: inout Conditions, source: String, since: (ConditionKind) -> Timestamp?
    ) {
        if let power {
            conditions.power = Reading(power, source: source, since: since(.power))
        }
        if let battery {
            conditions.battery = Reading(battery, source: source, since: since(.battery))
        }
        if let network {
            conditions.network = Reading(network, source: source, since: since(.network))
        }
        if let isIdle {
            conditions.isIdle = Reading(isIdle, source: source, since: since(.idle))
        }
        if let savesPower {
            conditions.savesPower = Reading(savesPower, source: source, since: since(.saver))
        }
    }

    // MARK: -

    private static let unknown = "unknown"

    private static func percent(_ text: String) -> Int? {
        guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit),
            let value = Int(text), value <= 100
        else { return nil }
        return value
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

extension ConditionKind {
    fileprivate var values: String {
        switch self {
        case .power: "external, battery or unknown"
        case .battery: "0 to 100 or unknown"
        case .network: "unmetered, metered, offline or unknown"
        case .idle: "yes, no or unknown"
        case .saver: "on, off or unknown"
        }
    }
}

/// The overrides that hold: that of the environment before the one kept in the store, both before
/// what the machine says.
package struct ConditionOverrides: Hashable, Sendable {
    package var environment = ConditionOverride()
    /// When the process was told: an environment does not change.
    package var environmentSince: Timestamp?
    package var kept = KeptOverride()

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
