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
