package import LonghaulCore

extension ConditionSnapshot {
    /// Conditions that let everything run.
    package static var favourable: ConditionSnapshot {
        func known<Value>(_ value: Value) -> Reading<Value> {
            Reading(value, source: "test", since: Timestamp(milliseconds: 0))
        }
        var conditions = Conditions()
        conditions.power = known(.external)
        conditions.battery = known(100)
        conditions.network = known(.unmetered)
        conditions.isIdle = known(true)
        conditions.savesPower = known(false)
        return ConditionSnapshot(conditions: conditions)
    }
}
