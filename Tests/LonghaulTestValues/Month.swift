package import LonghaulCore

/// A random month of a machine, for simulations of the policy alone and of the whole engine:
/// transfers of all kinds, and changing conditions.
package enum Month {
    package static let start = Timestamp(milliseconds: 1_773_100_800_000)  // 2026-03-10T00:00:00Z
    package static let length = 30 * 86_400.0

    /// Origins, and the bytes per second of each connection to them.
    package static let rates: [OriginID: Double] = [
        OriginID(rawValue: "http://a:80"): 4e6, OriginID(rawValue: "http://b:80"): 1e6,
        OriginID(rawValue: "http://c:80"): 3e5,
    ]

    /// Central Europe: an hour forward on 29 March at 01:00 UTC.
    package static let time = LocalTime { $0.milliseconds >= 1_774_746_000_000 ? 7200 : 3600 }

    /// One transfer of the month.
    package struct Plan {
        package var request: TransferRequest
        package var origin: OriginID
        package var usesNetwork: Bool
        package var begin: Timestamp
        package var deadline: Timestamp
        package var bytes: Int64
    }

    package static func chance(
        _ part: Double, _ random: inout some RandomNumberGenerator
    ) -> Bool {
        Double.random(in: 0..<1, using: &random) < part
    }

    package static func plan(_ random: inout some RandomNumberGenerator) -> Plan {
        var request = TransferRequest(url: "http://x/", destination: .file("/f"))
        request.session = ["s", "t", "u"].randomElement(using: &random)!
        request.priority = Priority.allCases.randomElement(using: &random)!
        request.isDiscretionary = Bool.random(using: &random)
        request.schedule.requires = ConditionNeeds(
            power: chance(0.2, &random), unmetered: chance(0.2, &random),
            idle: chance(0.1, &random), battery: chance(0.1, &random) ? 40 : nil)
        if chance(0.2, &random) {
            request.schedule.prefers = ConditionNeeds(
                power: Bool.random(using: &random), idle: Bool.random(using: &random))
        }
        if chance(0.3, &random) {
            request.schedule.windows = TimeWindows(
                parsing: ["01:00-06:00", "22:00-06:30", "12:00-13:00", "08:00-20:00"]
                    .randomElement(using: &random)!)
        }
        // Bursts and loners.
        let burst = Double(Int.random(in: 0..<12, using: &random)) * 2.4 * 86_400
        let begin =
            start
            + (chance(0.5, &random)
                ? burst : Double.random(in: 0..<length, using: &random))
        let life = [7200, 21_600, 86_400, 3 * 86_400, 7 * 86_400].randomElement(using: &random)!
        let bytes = Int64(Double.random(in: 1e5...4e8, using: &random))
        if chance(0.8, &random) { request.expectedBytes = bytes }
        let usesNetwork = chance(0.9, &random)
        let origin = rates.keys.sorted { $0.rawValue < $1.rawValue }
            .randomElement(using: &random)!
        return Plan(
            request: request, origin: origin, usesNetwork: usesNetwork, begin: begin,
            deadline: begin + Double(life), bytes: bytes)
    }

    /// Changes power, network or the presence of users.
    package static func change(
        _ conditions: inout Conditions, at now: Timestamp,
        _ random: inout some RandomNumberGenerator
    ) {
        func reading<Value>(_ value: Value?) -> Reading<Value> {
            Reading(value, source: "test", since: now)
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1:
            conditions.power = reading(
                chance(0.1, &random) ? nil : chance(0.6, &random) ? .external : .battery)
            conditions.battery = reading(
                chance(0.1, &random) ? nil : Int.random(in: 5...100, using: &random))
        case 2, 3:
            conditions.network = reading(
                chance(0.1, &random)
                    ? nil
                    : [.unmetered, .unmetered, .metered, .offline].randomElement(using: &random)!)
        default:
            conditions.isIdle = reading(chance(0.1, &random) ? nil : Bool.random(using: &random))
        }
    }
}
