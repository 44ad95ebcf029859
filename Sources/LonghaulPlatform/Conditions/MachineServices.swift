internal import LonghaulModel

/// NetworkManager: whether there is a network, and whether it is metered.
final class NetworkService {
    static let source = "networkmanager"

    let service: BusService
    private let object: BusObject
    /// The interface of the last query, and whether NetworkManager leaves it unmanaged.
    private var requested: String?
    private var isUnmanaged = false
    /// The active connection that was asked last for its UUID, which stays the same from one
    /// activation to the next.
    private var active: String?
    /// `nil` = NetworkManager is not running, has no connection, or has not answered yet.
    private(set) var connection: String?
    /// Id and UUID of the connection, as far as they are known.
    private var found: [String] = []
    private var answers = 0

    init() {
        object = BusObject(service: Self.name, path: Self.path, interface: Self.name)
        service = BusService(name: Self.name, objects: [object])
        service.onVanish = { [unowned self] in
            forget()
            (active, connection) = (nil, nil)
            (found, answers) = ([], 0)
        }
    }

    /// Asks which connection the primary one is.
    func followConnection(_ bus: BusConnection) {
        let primary = object.properties?["PrimaryConnection"]?.text
        if primary == active { return }
        (active, connection) = (primary, nil)
        (found, answers) = ([], 0)
        guard let primary, primary != "/" else { return }
        for property in ["Id", "Uuid"] {
            get(property, of: primary, Self.name + ".Connection.Active", bus) {
                [unowned self] reply in
                guard active == primary else { return }
                answers += 1
                guard let text = reply.variant()?.text else { return }
                found.append(text)
                if property == "Uuid" { connection = text }
            }
        }
    }

    /// Id and UUID of the connection; empty = there is none, `nil` = not answered yet.
    var names: [String]? {
        guard service.isSettled else { return nil }
        guard let primary = object.properties?["PrimaryConnection"]?.text, primary != "/" else {
            return []
        }
        return active == primary && answers == 2 ? found : nil
    }

    /// `nil` = NetworkManager is not running, does not know, or does not manage the active network.
    var state: NetworkState? {
        let said = said
        return said == .offline && isUnmanaged ? nil : said
    }

    /// NetworkManager reports offline if all its own interfaces are, also when the machine is
    /// online through an interface that it leaves unmanaged (ifupdown's, on Debian). So this asks
    /// whether it manages the interface of the kernel's default route.
    func consult(_ bus: BusConnection, about interface: String?) {
        guard said == .offline, let interface else { return forget() }
        guard requested != interface else { return }
        forget()
        requested = interface
        var call = BusConnection.Call(
            destination: Self.name, path: Self.path, interface: Self.name,
            member: "GetDeviceByIpIface")
        call.arguments = .texts(interface)
        // If the call fails, the connection is about to end; the same below.
        try? bus.call(call) { [unowned self, unowned bus] reply in
            guard requested == interface else { return }
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
        get("Managed", of: device, Self.name + ".Device", bus) { [unowned self] reply in
            guard requested == interface, reply.errorName == nil else { return }
            isUnmanaged = reply.variant()?.flag == false
        }
    }

    private func get(
        _ property: String, of path: String, _ interface: String, _ bus: BusConnection,
        _ handle: @escaping BusConnection.Handler
    ) {
        var call = BusConnection.Call(
            destination: Self.name, path: path, interface: "org.freedesktop.DBus.Properties",
            member: "Get")
        call.arguments = .texts(interface, property)
        try? bus.call(call, onReply: handle)
    }

    private func forget() {
        requested = nil
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
        // UPower is made to be started by the bus on demand.
        daemon = BusObject(
            service: name, path: "/org/freedesktop/UPower", interface: name, startsService: true)
        display = BusObject(
            service: name, path: "/org/freedesktop/UPower/devices/DisplayDevice",
            interface: "org.freedesktop.UPower.Device", startsService: true)
        service = BusService(name: name, objects: [daemon, display])
    }

    /// `nil` = UPower is not running, or does not report the property.
    var power: PowerSource? {
        daemon.properties?["OnBattery"]?.flag.map { $0 ? .battery : .external }
    }

    /// The inner `nil` = there is no battery; the outer = UPower is not running.
    var battery: Int?? {
        guard let properties = display.properties, let isPresent = properties["IsPresent"]?.flag
        else { return nil }
        guard isPresent, let percentage = properties["Percentage"]?.fraction, percentage.isFinite
        else { return .some(nil) }
        return .some(Int(min(max(percentage, 0), 100).rounded()))
    }
}

/// power-profiles-daemon: whether the user has told the machine to save power. It has two names on
/// the bus: since version 0.20 it belongs to UPower's family. It is not started for the question.
struct PowerProfiles {
    static let source = "powerprofiles"

    let services: [BusService]
    private let objects: [BusObject]

    init() {
        let places = [
            ("org.freedesktop.UPower.PowerProfiles", "/org/freedesktop/UPower/PowerProfiles"),
            ("net.hadess.PowerProfiles", "/net/hadess/PowerProfiles"),
        ]
        let objects = places.map { BusObject(service: $0.0, path: $0.1, interface: $0.0) }
        self.objects = objects
        services = zip(places, objects).map { place, object in
            BusService(name: place.0, objects: [object])
        }
    }

    func attach(to bus: BusConnection) throws(SystemFailure) {
        for service in services { try service.attach(to: bus) }
    }

    func detach() {
        for service in services { service.detach() }
    }

    var isSettled: Bool { services.allSatisfy(\.isSettled) }

    /// `nil` = it is not running.
    var savesPower: Bool? {
        objects.lazy.compactMap { $0.properties?["ActiveProfile"]?.text }.first
            .map { $0 == "power-saver" }
    }
}
