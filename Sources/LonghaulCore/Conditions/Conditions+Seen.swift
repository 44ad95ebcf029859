/// Who has looked at what: an engine looks at what somebody asks for, and not before it runs.
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

    /// With what others have seen where nobody has looked yet.
    package func completed(by others: Conditions) -> Conditions {
        var all = self
        if power.since == nil { all.power = others.power }
        if battery.since == nil { all.battery = others.battery }
        if network.since == nil { all.network = others.network }
        if isIdle.since == nil { all.isIdle = others.isIdle }
        return all
    }
}
