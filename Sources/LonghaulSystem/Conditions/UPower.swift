internal import LonghaulCore

/// UPower: whether the machine runs on its battery, and the charge of all batteries together, which
/// UPower shows as one "display device".
struct UPower {
    static let source = "upower"

    let service: BusService
    private let daemon: BusObject
    private let display: BusObject

    init() {
        let name = "org.freedesktop.UPower"
        // The bus starts it for whoever asks; that is how it is meant to be run.
        daemon = BusObject(
            service: name, path: "/org/freedesktop/UPower", interface: name, startsService: true)
        display = BusObject(
            service: name, path: "/org/freedesktop/UPower/devices/DisplayDevice",
            interface: "org.freedesktop.UPower.Device", startsService: true)
        service = BusService(name: name, objects: [daemon, display])
    }

    /// `nil` = not there, or without a word on it.
    var power: PowerSource? {
        daemon.properties?["OnBattery"]?.flag.map { $0 ? .battery : .external }
    }

    /// The inner `nil` = there is no battery; the outer = UPower is not there.
    var battery: Int?? {
        guard let properties = display.properties, let isPresent = properties["IsPresent"]?.flag
        else { return nil }
        guard isPresent, let percentage = properties["Percentage"]?.fraction, percentage.isFinite
        else { return .some(nil) }
        return .some(Int(min(max(percentage, 0), 100).rounded()))
    }
}
