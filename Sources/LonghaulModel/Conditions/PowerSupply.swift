/// A power supply as the kernel describes it (sysfs-class-power in its documentation).
package struct PowerSupply: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Anything that brings power from outside: `Mains`, `USB`, `Wireless`.
        case external
        case battery
        case ups
    }

    package enum Status: String, Hashable, Sendable {
        case charging = "Charging"
        case discharging = "Discharging"
        case notCharging = "Not charging"
        case full = "Full"
    }

    package var kind: Kind
    /// True if power comes in, for external supplies.
    package var isOnline = false
    /// The status of a battery; `nil` = unknown.
    package var status: Status?
    /// Charge in percent.
    package var capacity: Int?
    /// The charge of a full battery, in a unit that the batteries of one machine share; the weight
    /// of its capacity among others.
    package var size: Int64?

    package init(_ kind: Kind) {
        self.kind = kind
    }
}

/// The facts that follow from the power supplies of a machine.
package struct PowerFacts: Hashable, Sendable {
    package var power: PowerSource?
    /// `nil` also where there is no battery.
    package var battery: Int?

    /// A machine without a battery is on external power: whatever feeds it, nothing is used up.
    package init(_ supplies: [PowerSupply]) {
        let stores = supplies.filter { $0.kind != .external }
        battery = Self.charge(of: supplies.filter { $0.kind == .battery })
        if stores.isEmpty || supplies.contains(where: { $0.kind == .external && $0.isOnline }) {
            power = .external
        } else if stores.contains(where: { $0.status == .discharging }) {
            power = .battery
        } else if supplies.contains(where: { $0.kind == .external }) {
            // Nothing comes in, and the battery does not say what it does.
            power = .battery
        } else {
            power = stores.contains { $0.status != nil } ? .external : nil
        }
    }

    private static func charge(of batteries: [PowerSupply]) -> Int? {
        let known = batteries.compactMap { battery in
            battery.capacity.map { (capacity: min(max($0, 0), 100), size: battery.size) }
        }
        guard !known.isEmpty else { return nil }
        let isWeighted = known.allSatisfy { ($0.size ?? 0) > 0 }
        let weights = known.map { isWeighted ? Double($0.size ?? 1) : 1 }
        let sum = zip(known, weights).reduce(0.0) { $0 + Double($1.0.capacity) * $1.1 }
        return Int((sum / weights.reduce(0, +)).rounded())
    }
}
