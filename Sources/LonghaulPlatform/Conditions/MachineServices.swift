internal import LonghaulCore

/// NetworkManager: whether there is a network, and whether it is metered.
final class NetworkService {
    static let source = "networkmanager"

    let service: BusService
    private let object: BusObject
    /// The interface that it was asked about last, and whether it leaves that one alone.
    private var asked: String?
    private var isUnmanaged = false

    init() {
        object = BusObject(service: Self.name, path: Self.path, interface: Self.name)
        service = BusService(name: Self.name, objects: [object])
        service.onVanish = { [unowned self] in forget() }
    }

    /// `nil` = not there, does not know, or has nothing to do with the network that there is.
    var state: NetworkState? {
        let said = said
        return said == .offline && isUnmanaged ? nil : said
    }

    /// It says offline where all its own interfaces are, also when the machine is on line through
    /// one that it was told to leave alone (ifupdown's, on Debian). So it is asked whether the one
    /// that the kernel's default route goes through is its own.
    func consult(_ bus: BusConnection, about interface: String?) {
        guard said == .offline, let interface else { return forget() }
        guard asked != interface else { return }
        forget()
        asked = interface
        var call = BusConnection.Call(
            destination: Self.name, path: Self.path, interface: Self.name,
            member: "GetDeviceByIpIface")
        call.texts = [interface]
        // Should that fail, the connection is going; the same below.
        try? bus.call(call) { [unowned self, unowned bus] reply in
            guard asked == interface else { return }
            isUnmanaged = reply.errorName == Self.name + ".UnknownDevice"
            if let device = reply.path() { consult(bus, device, of: interface) }
        }
    }

    // MARK: -

    private static let name = "org.freedesktop.NetworkManager"
    private static let path = "/org/freedesktop/NetworkManager"

    private var said: NetworkState? {
        guard let properties = object.properties, let state = properties["State"]?.number
        else { return nil }
        return NetworkState(
            managerState: state, connectivity: properties["Connectivity"]?.number ?? 0,
            metered: properties["Metered"]?.number ?? 0)
    }

    private func consult(_ bus: BusConnection, _ device: String, of interface: String) {
        var call = BusConnection.Call(
            destination: Self.name, path: device, interface: "org.freedesktop.DBus.Properties",
            member: "Get")
        call.texts = [Self.name + ".Device", "Managed"]
        try? bus.call(call) { [unowned self] reply in
            guard asked == interface, reply.errorName == nil else { return }
            isUnmanaged = reply.variant()?.flag == false
        }
    }

    private func forget() {
        asked = nil
        isUnmanaged = false
    }
}

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
