/// The conditions that a machine can be asked for, by the names that commands and overrides use.
public enum ConditionKind: String, Codable, Sendable, CaseIterable {
    case power, battery, network, idle
}

extension Reading {
    /// What a source says now. ``since`` goes on as long as the value stays the same, whoever says
    /// so.
    package mutating func note(_ value: Value?, source: String, now: Timestamp) {
        let isSame = since != nil && self.value == value
        self = Reading(value, source: source, since: isSame ? since : now)
    }
}
