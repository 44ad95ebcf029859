/// What the machine is like now. Each value may be unknown (`nil`), which is a value of its own: a
/// requirement holds only when it is known to hold, a preference is content with unknown, and an
/// unknown network counts as present.
public struct Conditions: Hashable, Sendable {
    /// What the machine is fed by.
    public var power: Reading<PowerSource> = .unknown
    /// Charge of the battery in percent, 0…100.
    public var battery: Reading<Int> = .unknown
    /// Whether there is a way out, and what it costs.
    public var network: Reading<NetworkState> = .unknown
    /// No user is at the machine, and it has nothing else to do.
    public var isIdle: Reading<Bool> = .unknown

    /// All unknown.
    public init() {}
}

/// One condition as it was read: what it is, its source, and since when.
public struct Reading<Value: Hashable & Sendable>: Hashable, Sendable {
    /// `nil` = unknown.
    public var value: Value?
    /// The source: `upower`, `networkmanager`, `logind`, `sysfs`, `rtnetlink`, `proc`,
    /// `environment`, `store`, `none`.
    public var source: String
    /// Since when it has this value, as far as this engine has seen; `nil` = never looked. Of the
    /// network: since when it is this one.
    public var since: Timestamp?
    /// Of the network: which one it is; `nil` = not known, as where the network is overridden.
    package var identity: NetworkIdentity?

    /// A value as a source gives it; `nil` = unknown.
    public init(_ value: Value?, source: String, since: Timestamp?) {
        self.value = value
        self.source = source
        self.since = since
    }

    /// Not read yet, or no source can tell.
    public static var unknown: Reading { Reading(nil, source: "none", since: nil) }
}

extension Reading<NetworkState> {
    /// NetworkManager says that it is connected when addresses, routes and name servers are set;
    /// the kernel, when the first address is.
    package var hasSettled: Bool { source == "networkmanager" }

    /// Of another kind, or of the same and another one. The first look at it is no change, nor is
    /// another look at the same.
    package func isAnother(than old: Self) -> Bool {
        guard let value, let known = old.value else { return false }
        if value != known { return true }
        guard let identity, var before = old.identity else { return false }
        return before.follow(identity)
    }
}

/// What the machine is fed by.
public enum PowerSource: String, Codable, Sendable, CaseIterable {
    /// Mains power.
    case external
    /// The battery.
    case battery
}

/// What the way out costs, if there is one.
public enum NetworkState: String, Codable, Sendable, CaseIterable {
    /// Connected, at no cost by volume.
    case unmetered
    /// Connected, at a cost by volume: a mobile network, a tethered telephone.
    case metered
    /// Not connected.
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
}

extension Reading {
    /// What a source says now. ``since`` goes on as long as the value stays the same, whatever
    /// source says so.
    package mutating func note(_ value: Value?, source: String, now: Timestamp) {
        let isSame = since != nil && self.value == value
        self = Reading(value, source: source, since: isSame ? since : now)
    }
}

/// What has been read: an engine reads what is asked for, and not before it runs.
extension Conditions {
    /// All was looked at, and nothing could be found out.
    package static func unknown(since: Timestamp) -> Conditions {
        var conditions = Conditions()
        conditions.power.since = since
        conditions.battery.since = since
        conditions.network.since = since
        conditions.isIdle.since = since
        return conditions
    }

    /// Whether all that these needs depend on was looked at.
    package func hasSeen(_ needs: ConditionNeeds) -> Bool {
        // External power serves where a charge is asked for.
        if needs.power || needs.battery != nil, power.since == nil { return false }
        if needs.battery != nil, battery.since == nil { return false }
        if needs.network || needs.unmetered, network.since == nil { return false }
        return !needs.idle || isIdle.since != nil
    }

    /// With what other processes have seen where this one has not read yet.
    package func completed(by others: Conditions) -> Conditions {
        var all = self
        if power.since == nil { all.power = others.power }
        if battery.since == nil { all.battery = others.battery }
        if network.since == nil { all.network = others.network }
        if isIdle.since == nil { all.isIdle = others.isIdle }
        return all
    }
}
