package import LonghaulCore

extension JSONText {
    /// One condition: `{condition, value, source, since}`.
    package mutating func condition(_ kind: ConditionKind, of conditions: Conditions) {
        object {
            $0.field("condition", kind.rawValue)
            switch kind {
            case .power:
                $0.field("value", conditions.power.value?.rawValue)
                $0.origin(of: conditions.power)
            case .battery:
                $0.field("value", conditions.battery.value)
                $0.origin(of: conditions.battery)
            case .network:
                $0.field("value", conditions.network.value?.rawValue)
                $0.origin(of: conditions.network)
            case .idle:
                if let isIdle = conditions.isIdle.value {
                    $0.field("value", isIdle)
                } else {
                    $0.field("value", String?.none)
                }
                $0.origin(of: conditions.isIdle)
            }
        }
    }

    private mutating func origin<Value>(of reading: Reading<Value>) {
        field("source", reading.source)
        field("since", reading.since)
    }
}
