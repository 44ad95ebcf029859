extension Conditions {
    /// Conditions as they are given by hand: `power=external,battery=80,network=unmetered,idle=yes`
    /// in any order, each of which may be `unknown`; one that is not named is unknown. `nil` for
    /// anything else.
    package init?(overriding text: String, source: String, since: Timestamp) {
        self.init()
        for pair in text.split(separator: ",", omittingEmptySubsequences: true) {
            let parts = pair.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2 else { return nil }
            let value = parts[1] == "unknown" ? nil : String(parts[1])
            func reading<Value>(_ parse: (String) -> Value?) -> Reading<Value>?? {
                guard let value else { return .some(Reading(nil, source: source, since: since)) }
                return parse(value).map { Reading($0, source: source, since: since) }
            }
            switch parts[0] {
            case "power":
                guard let found = reading(PowerSource.init(rawValue:)) ?? nil else { return nil }
                power = found
            case "battery":
                let percent: (String) -> Int? = { text in
                    text.decimalValue.flatMap { $0 <= 100 ? Int($0) : nil }
                }
                guard let found = reading(percent) ?? nil else { return nil }
                battery = found
            case "network":
                guard let found = reading(NetworkState.init(rawValue:)) ?? nil else { return nil }
                network = found
            case "idle":
                guard let found = reading({ ["yes": true, "no": false][$0] }) ?? nil
                else { return nil }
                isIdle = found
            default: return nil
            }
        }
    }
}
