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

    /// All unknown.
    public init() {}
}

/// A condition as it was read: its value, its source, and the moment from which it holds.
public struct Reading<Value: Hashable & Sendable>: Hashable, Sendable {
    /// `nil` = unknown.
    public var value: Value?
    /// The source: `upower`, `networkmanager`, `logind`, `powerprofiles`, `sysfs`, `rtnetlink`,
    /// `proc`, `environment`, `store`, `none`.
    public var source: String
    /// First moment at which this engine saw the value; `nil` = never looked. For the network: the
    /// first moment on this network.
    public var since: Timestamp?
    /// Identity of the network, for readings of the network only; `nil` = not known, for example
    /// because the network is overridden.
    package var identity: NetworkIdentity?

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
        conditions.power.since = since
        conditions.battery.since = since
        conditions.network.since = since
        conditions.isIdle.since = since
        conditions.savesPower.since = since
        return conditions
    }

    /// All conditions on which these needs depend were read.
    package func hasSeen(_ needs: ConditionNeeds) -> Bool {
        // External power serves where a charge is asked for.
        if needs.power || needs.battery != nil, power.since == nil { return false }
        if needs.battery != nil, battery.since == nil { return false }
        if needs.network || needs.unmetered, network.since == nil { return false }
        if needs.fullPower, savesPower.since == nil { return false }
        return !needs.idle || isIdle.since != nil
    }

    /// Fills conditions that this process has not read yet with the readings of other processes.
    package func completed(by others: Conditions) -> Conditions {
        var all = self
        if power.since == nil { all.power = others.power }
        if battery.since == nil { all.battery = others.battery }
        if network.since == nil { all.network = others.network }
        if isIdle.since == nil { all.isIdle = others.isIdle }
        if savesPower.since == nil { all.savesPower = others.savesPower }
        return all
    }
}
