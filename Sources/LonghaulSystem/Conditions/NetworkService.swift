internal import LonghaulCore

/// NetworkManager: whether there is a network, and whether it is metered.
struct NetworkService {
    static let source = "networkmanager"

    let service: BusService
    private let object: BusObject

    init() {
        let name = "org.freedesktop.NetworkManager"
        object = BusObject(
            service: name, path: "/org/freedesktop/NetworkManager", interface: name)
        service = BusService(name: name, objects: [object])
    }

    /// `nil` = not there, or does not know.
    var state: NetworkState? {
        guard let properties = object.properties, let state = properties["State"]?.number
        else { return nil }
        return NetworkState(
            managerState: state, connectivity: properties["Connectivity"]?.number ?? 0,
            metered: properties["Metered"]?.number ?? 0)
    }
}
