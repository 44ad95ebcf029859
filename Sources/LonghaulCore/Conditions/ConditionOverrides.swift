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
