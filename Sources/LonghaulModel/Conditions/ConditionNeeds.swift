/// Conditions that are asked for together.
public struct ConditionNeeds: Hashable, Sendable {
    /// External power.
    public var power = false
    /// A network that is known to cost nothing by volume.
    public var unmetered = false
    /// A machine without a user at it.
    public var idle = false
    /// A network that is known to be there; also for a loopback URL, which needs none by itself.
    public var network = false
    /// Charge in percent, 1…100, from which on the battery may be drained; external power serves
    /// too.
    public var battery: Int?
    /// A machine that is not told to save power. Its user tells it by a power profile.
    public var fullPower = false

    /// No needs by default.
    public init(
        power: Bool = false, unmetered: Bool = false, idle: Bool = false, network: Bool = false,
        battery: Int? = nil, fullPower: Bool = false
    ) {
        self.power = power
        self.unmetered = unmetered
        self.idle = idle
        self.network = network
        self.battery = battery
        self.fullPower = fullPower
    }

    /// True if nothing is needed.
    public var isEmpty: Bool { self == ConditionNeeds() }

    /// The defect in a sentence; `nil` = none.
    package var defect: String? {
        guard let battery, !(1...100).contains(battery) else { return nil }
        return "a battery's charge is 1 to 100 percent"
    }

    /// Everything that there is to need.
    package static let all = ConditionNeeds(
        power: true, unmetered: true, idle: true, network: true, battery: 100, fullPower: true)

    /// Either's needs; of two charges the higher.
    package func union(_ other: ConditionNeeds) -> ConditionNeeds {
        ConditionNeeds(
            power: power || other.power, unmetered: unmetered || other.unmetered,
            idle: idle || other.idle, network: network || other.network,
            battery: [battery, other.battery].compactMap { $0 }.max(),
            fullPower: fullPower || other.fullPower)
    }

    /// True if these kinds of conditions are all among the others.
    package func isWithin(_ other: ConditionNeeds) -> Bool {
        (!power || other.power) && (!unmetered || other.unmetered) && (!idle || other.idle)
            && (!network || other.network) && (battery == nil || other.battery != nil)
            && (!fullPower || other.fullPower)
    }

    static let discretionary = ConditionNeeds(
        power: true, unmetered: true, idle: true, fullPower: true)

    /// The names as they are typed, one by one: `power`, `unmetered`, `idle`, `network`,
    /// `battery=50`, `saver=off`.
    public var names: [String] {
        [
            power ? "power" : nil, unmetered ? "unmetered" : nil, idle ? "idle" : nil,
            network ? "network" : nil, battery.map { "battery=\($0)" },
            fullPower ? "saver=off" : nil,
        ].compactMap { $0 }
    }

    /// Names with commas between; `none` and the empty text are no needs. `nil` for anything else.
    public init?(parsing text: some StringProtocol) {
        self.init()
        if text.isEmpty || text == "none" { return }
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard add(name) else { return nil }
        }
    }

    /// Adds a need by its name; `false` when it is none.
    public mutating func add(_ name: some StringProtocol) -> Bool {
        switch name {
        case "power": power = true
        case "unmetered": unmetered = true
        case "idle": idle = true
        case "network": network = true
        case "saver=off": fullPower = true
        default:
            guard name.hasPrefix("battery="),
                let percent = name.dropFirst("battery=".count).decimalValue,
                (1...100).contains(percent)
            else { return false }
            battery = Int(percent)
        }
        return true
    }
}
