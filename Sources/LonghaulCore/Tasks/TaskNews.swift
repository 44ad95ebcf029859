package import LonghaulModel

/// The present machine, and its changes since the last decision.
package struct TaskNews: Sendable {
    /// `nil` = triggers are not looked at.
    package var world: WorldFacts?
    /// What is at the paths that triggers watch.
    package var paths: [TaskTrigger: PathFacts] = [:]
    /// The first decision of this engine.
    package var isFirst = false
    package var clockWentBack = false
    /// Times of day may mean other moments.
    package var hasOtherZones = false
    /// Conditions with another value.
    package var changed: Set<ConditionKind> = []
    /// Conditions with another value, until they have settled.
    package var settling: [(kinds: Set<ConditionKind>, until: Timestamp)] = []
    /// The machine has something else to do: requests whose window is open go along.
    package var isAwake = false

    package init() {}
}
