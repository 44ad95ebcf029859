package import LonghaulCore

/// The machine's conditions, as the engine sees them.
package protocol ConditionsPort: Sendable {
    /// Looks at everything once, within about a second, and from then on reports every change,
    /// always the whole and from any thread, until ``stop()``. What cannot be found out is unknown.
    func listen(_ report: @escaping @Sendable (Conditions) -> Void) -> Conditions

    func stop()
}

/// Conditions that are given and do not change: an override, or a machine that says nothing.
package struct FixedConditions: ConditionsPort {
    private let conditions: Conditions

    package init(_ conditions: Conditions = Conditions()) {
        self.conditions = conditions
    }

    package func listen(_ report: @escaping @Sendable (Conditions) -> Void) -> Conditions {
        conditions
    }

    package func stop() {}
}
