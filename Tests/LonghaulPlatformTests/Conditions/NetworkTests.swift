import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulPlatform

@Suite(.enabled(if: OwnNetwork.isPossible, "skipped: needs root, ip and network namespaces"))
struct KernelNetworkTests {
    private let network: OwnNetwork
    private var snapshot = ConditionContext.empty()

    init() throws {
        network = try OwnNetwork()
        snapshot.readsNetwork = true
    }

    /// A cable with both ends here, the far one unused.
    private func cable(_ name: String) throws {
        try network.ip("link", "add", name, "type", "veth", "peer", "name", "far-\(name)")
        try network.ip("link", "set", "far-\(name)", "up")
    }

    private func link(_ name: String, _ address: String) throws {
        try cable(name)
        try network.ip("address", "add", address, "dev", name)
        try network.ip("link", "set", name, "up")
    }

    @Test func noticesGoingOfflineAndComingBack() throws {
        let watched = try Watched(snapshot, .network)
        watched.becomes(\.network, .offline, "rtnetlink")
        try link("eth0", "192.0.2.5/24")
        watched.becomes(\.network, .unmetered, "rtnetlink")
        try network.ip("link", "set", "eth0", "down")
        watched.becomes(\.network, .offline, "rtnetlink")
        try network.ip("link", "set", "eth0", "up")
        watched.becomes(\.network, .unmetered, "rtnetlink")
        // The cable is pulled at its far end: no carrier.
        try network.ip("link", "set", "far-eth0", "down")
        watched.becomes(\.network, .offline, "rtnetlink")
        try network.ip("link", "set", "far-eth0", "up")
        watched.becomes(\.network, .unmetered, "rtnetlink")
    }

    @Test func theBestDefaultRouteTells() throws {
        try link("wwan0", "192.0.2.5/24")
        let watched = try Watched(snapshot, .network)
        watched.becomes(\.network, .metered, "rtnetlink")
        try network.ip("route", "add", "default", "dev", "wwan0", "metric", "700")
        try link("lan0", "198.51.100.5/24")
        try network.ip("route", "add", "default", "dev", "lan0", "metric", "100")
        watched.becomes(\.network, .unmetered, "rtnetlink")
        try network.ip("link", "set", "lan0", "down")
        watched.becomes(\.network, .metered, "rtnetlink")
    }

    /// The same kind of network, by another cable.
    @Test func anotherLinkIsAnotherNetwork() throws {
        for (name, address, metric) in [
            ("lan0", "192.0.2.5/24", "100"), ("lan1", "198.51.100.5/24", "200"),
        ] {
            try link(name, address)
            try network.ip("route", "add", "default", "dev", name, "metric", metric)
        }
        let watched = try Watched(snapshot, .network)
        watched.becomes(\.network, .unmetered, "rtnetlink")
        let first = watched.watch.current.network
        try network.ip("link", "set", "lan0", "down")
        eventually("another network") { watched.watch.current.network.isAnother(than: first) }
        #expect(watched.watch.current.network.value == .unmetered)
    }

    /// IPv4 goes by another cable, and IPv6 stays.
    @Test func eachFamilyHasALinkOfItsOwn() throws {
        try link("lan0", "192.0.2.5/24")
        try link("lan1", "198.51.100.5/24")
        try network.ip("-6", "route", "add", "default", "dev", "lan0", "metric", "10")
        try network.ip("route", "add", "default", "dev", "lan0", "metric", "100")
        try network.ip("route", "add", "default", "dev", "lan1", "metric", "200")
        let watched = try Watched(snapshot, .network)
        watched.becomes(\.network, .unmetered, "rtnetlink")
        let first = watched.watch.current.network
        try network.ip("route", "delete", "default", "dev", "lan0")
        eventually("another network") { watched.watch.current.network.isAnother(than: first) }
    }

    /// On the same link, or over a tunnel that leaves the default route alone.
    @Test(
        arguments: [
            ["route replace default via 192.0.2.254 dev lan0"],
            ["-6 route replace default via fe80::9 dev lan0"],
            [
                "address add 198.51.100.5/24 dev lan0", "address delete 192.0.2.5/24 dev lan0",
                "route replace default via 198.51.100.1 dev lan0",
            ],
            [
                "address add 198.51.100.5/24 dev lan0", "route delete default",
                "address delete 192.0.2.5/24 dev lan0",
            ],
            ["route add 0.0.0.0/1 dev tun0", "route add 128.0.0.0/1 dev tun0"],
            ["-6 route add ::/1 dev tun0", "-6 route add 8000::/1 dev tun0"],
            [
                "route add default dev tun0 table 51820",
                "rule add not fwmark 51820 table 51820",
            ],
        ] as [[String]])
    func anotherGatewaySubnetOrTunnelIsAnotherNetwork(changes: [String]) throws {
        try link("lan0", "192.0.2.5/24")
        try network.ip("-6", "address", "add", "2001:db8::5/64", "dev", "lan0", "nodad")
        try link("tun0", "203.0.113.5/24")
        try network.ip("-6", "address", "add", "2001:db8:9::5/64", "dev", "tun0", "nodad")
        try network.ip("route", "add", "default", "via", "192.0.2.1", "dev", "lan0")
        try network.ip("-6", "route", "add", "default", "via", "fe80::1", "dev", "lan0")
        let watched = try Watched(snapshot, .network)
        watched.becomes(\.network, .unmetered, "rtnetlink")
        let first = watched.watch.current.network
        for change in changes {
            try OwnNetwork.ip(change.split(separator: " ").map(String.init))
        }
        eventually("another network") { watched.watch.current.network.isAnother(than: first) }
        #expect(watched.watch.current.network.value == .unmetered)
    }

    /// Another address of the same network, the cable out and in again, other interfaces.
    @Test func theSameNetworkAgainIsNoOther() throws {
        try link("lan0", "192.0.2.5/24")
        try network.ip("route", "add", "default", "via", "192.0.2.1", "dev", "lan0")
        let watched = try Watched(snapshot, .network)
        watched.becomes(\.network, .unmetered, "rtnetlink")
        let first = watched.watch.current.network
        try link("lan1", "198.51.100.5/24")
        try network.ip("address", "add", "192.0.2.77/24", "dev", "lan0")
        try network.ip("link", "set", "lan1", "down")
        try network.ip("link", "set", "lan0", "down")
        watched.becomes(\.network, .offline, "rtnetlink")
        try network.ip("link", "set", "lan0", "up")
        try network.ip("route", "add", "default", "via", "192.0.2.1", "dev", "lan0")
        watched.becomes(\.network, .unmetered, "rtnetlink")
        watched.watch.lookAnew()
        #expect(!watched.watch.read(within: 5).network.isAnother(than: first))
    }

    @Test(.enabled(if: MockBus.isPossible, "skipped: needs dbus-daemon and python3-dbusmock"))
    func anotherConnectionOfNetworkManagerIsAnotherNetwork() throws {
        try link("lan0", "192.0.2.5/24")
        try network.ip("route", "add", "default", "via", "192.0.2.1", "dev", "lan0")
        let bus = try MockBus()
        let service = try bus.service(.networkManager)
        let name = "org.freedesktop.NetworkManager"
        let path = "/org/freedesktop/NetworkManager/ActiveConnection/"
        for (number, uuid) in [(1, "home"), (2, "home"), (3, "work")] {
            try bus.tell(
                .networkManager,
                """
                AddObject('\(path)\(number)', '\(name).Connection.Active', \
                {'Uuid': '\(uuid)'}, [])
                """)
        }
        try bus.tell(
            .networkManager,
            "AddProperty('\(name)', 'PrimaryConnection', dbus.ObjectPath('\(path)1'))")
        var snapshot = snapshot
        snapshot.busAddress = bus.address
        let watched = try Watched(snapshot, .network)
        watched.becomes(\.network, .unmetered, "networkmanager")
        func connection() -> String? { watched.watch.current.network.identity?.connection }
        eventually("the connection is known") { connection() == "home" }
        let first = watched.watch.current.network
        // Activated anew.
        try bus.set(.networkManager, "PrimaryConnection", "dbus.ObjectPath('\(path)2')")
        #expect(!watched.watch.current.network.isAnother(than: first))
        try bus.set(.networkManager, "PrimaryConnection", "dbus.ObjectPath('\(path)3')")
        eventually("another network") { watched.watch.current.network.isAnother(than: first) }
        #expect(connection() == "work")
        withExtendedLifetime(service) {}
    }

    private func names(_ watched: Watched) -> NetworkNames? { watched.watch.current.network.names }

    /// The gateway's hardware address tells one network of the same addresses from another.
    @Test func theGatewayNamesTheNetwork() throws {
        try link("lan0", "192.0.2.5/24")
        func gateway(_ hardware: String) throws {
            try network.ip("neighbour", "replace", "192.0.2.1", "lladdr", hardware, "dev", "lan0")
            try network.ip("route", "replace", "default", "via", "192.0.2.1", "dev", "lan0")
        }
        try gateway("02:00:00:00:00:01")
        var overrides = ConditionOverrides()
        let place = NetworkPlace(gateway: "02:00:00:00:00:01", prefixes: ["192.0.2.0/24"])
        overrides.networks = ["home": place]
        let watched = try Watched(snapshot, [.network, .networkNames], overrides: overrides)
        eventually("it is at home") { names(watched)?.given == ["home"] }
        #expect(names(watched)?.place == place && names(watched)?.connection == [])
        try network.ip("route", "delete", "default")
        try network.ip("neighbour", "delete", "192.0.2.1", "dev", "lan0")
        eventually("it has no gateway") { names(watched)?.given == nil }
        try gateway("02:00:00:00:00:02")
        eventually("it is elsewhere") { names(watched)?.given == [] }
        overrides.networks["work"] = NetworkPlace(
            gateway: "02:00:00:00:00:02", prefixes: ["192.0.2.0/24"])
        watched.watch.setOverrides(overrides)
        eventually("it has got a name") { names(watched)?.given == ["work"] }
        // Of no interest, it is not read.
        watched.watch.setInterest([.network])
        eventually("nobody asks") { names(watched) == nil }
    }

    /// A gateway that does not answer is not known.
    @Test func aGatewayWithoutAnAddressIsNotKnown() throws {
        try link("lan0", "192.0.2.5/24")
        try network.ip("route", "add", "default", "via", "192.0.2.1", "dev", "lan0")
        let watched = try Watched(snapshot, [.network, .networkNames])
        eventually("the network is read") { names(watched) != nil }
        #expect(names(watched)?.given == nil && names(watched)?.isOne(of: ["!x"]) == nil)
    }

    @Test(.enabled(if: MockBus.isPossible, "skipped: needs dbus-daemon and python3-dbusmock"))
    func connectionsOfNetworkManagerAreNames() throws {
        try link("lan0", "192.0.2.5/24")
        let bus = try MockBus()
        let service = try bus.service(.networkManager)
        let name = "org.freedesktop.NetworkManager"
        let path = "/org/freedesktop/NetworkManager/ActiveConnection/"
        for (number, id) in [(1, "Home Wi-Fi"), (2, "Office")] {
            try bus.tell(
                .networkManager,
                """
                AddObject('\(path)\(number)', '\(name).Connection.Active', \
                {'Uuid': 'uuid-\(number)', 'Id': '\(id)'}, [])
                """)
        }
        try bus.tell(
            .networkManager,
            "AddProperty('\(name)', 'PrimaryConnection', dbus.ObjectPath('\(path)1'))")
        var snapshot = snapshot
        snapshot.busAddress = bus.address
        let watched = try Watched(snapshot, [.network, .networkNames])
        eventually("its names are known") { names(watched)?.all == ["Home Wi-Fi", "uuid-1"] }
        #expect(watched.watch.current.network.name == "Home Wi-Fi")
        try bus.set(.networkManager, "PrimaryConnection", "dbus.ObjectPath('\(path)2')")
        eventually("another connection") { names(watched)?.all == ["Office", "uuid-2"] }
        try bus.set(.networkManager, "PrimaryConnection", "dbus.ObjectPath('/')")
        eventually("none") { names(watched)?.connection == [] }
        withExtendedLifetime(service) {}
    }

    @Test func readsIPv6Too() throws {
        let watched = try Watched(snapshot, .network)
        watched.becomes(\.network, .offline, "rtnetlink")
        try cable("eth0")
        try network.ip("link", "set", "eth0", "up")
        try network.ip("address", "add", "2001:db8::5/64", "dev", "eth0", "nodad")
        watched.becomes(\.network, .unmetered, "rtnetlink")
        // The address of the link alone reaches nobody.
        try network.ip("address", "delete", "2001:db8::5/64", "dev", "eth0")
        watched.becomes(\.network, .offline, "rtnetlink")
        try network.ip("-6", "route", "add", "default", "via", "fe80::1", "dev", "eth0")
        watched.becomes(\.network, .unmetered, "rtnetlink")
    }

    @Test func anotherNetworksRoutesDoNotWakeIt() throws {
        try link("eth0", "192.0.2.5/24")
        let watched = try Watched(snapshot, .network)
        watched.becomes(\.network, .unmetered, "rtnetlink")
        let known = watched.changes.count
        for number in 1...50 {
            try network.ip("route", "add", "203.0.113.\(number)/32", "dev", "eth0")
        }
        #expect(watched.changes.count == known, "\(watched.changes)")
    }

    /// As with ifupdown on Debian: on line, and NetworkManager has nothing to do with it.
    @Test(.enabled(if: MockBus.isPossible, "skipped: needs dbus-daemon and python3-dbusmock"))
    func anInterfaceThatIsNotManagedIsTheKernelsToTell() throws {
        try link("eth0", "192.0.2.5/24")
        try network.ip("route", "add", "default", "dev", "eth0")
        let bus = try MockBus()
        let service = try bus.service(.networkManager)
        try bus.tell(.networkManager, "AddEthernetDevice('device', 'eth0', 100)")
        let path = "/org/freedesktop/NetworkManager/Devices/device"
        let device = "org.freedesktop.NetworkManager.Device"
        try bus.set(.networkManager, "Managed", "True", interface: device, path: path)
        var snapshot = snapshot
        snapshot.busAddress = bus.address
        let watched = try Watched(snapshot, .network)
        watched.becomes(\.network, .unmetered, "networkmanager")
        try bus.tell(.networkManager, "SetGlobalConnectionState(dbus.UInt32(20))")
        watched.becomes(\.network, .offline, "networkmanager")
        try bus.tell(.networkManager, "SetGlobalConnectionState(dbus.UInt32(70))")
        watched.becomes(\.network, .unmetered, "networkmanager")
        try bus.set(.networkManager, "Managed", "False", interface: device, path: path)
        try bus.tell(.networkManager, "SetGlobalConnectionState(dbus.UInt32(20))")
        watched.becomes(\.network, .unmetered, "rtnetlink")
        try network.ip("link", "set", "eth0", "down")
        watched.becomes(\.network, .offline, "networkmanager")
        withExtendedLifetime(service) {}
    }

    @Test func isToldWhenAPowerSupplyChanges() throws {
        let scratch = try Scratch()
        let supplies = try PowerFixture(scratch.path("sys")).mains(online: 1).battery(
            40, "Charging")
        let watched = try Watched(.empty(in: scratch), [.power, .battery])
        watched.becomes(\.power, .external, "sysfs")
        try supplies.mains(online: 0).battery(39, "Discharging")
        try network.announcePowerSupply()
        watched.becomes(\.power, .battery, "sysfs")
        watched.becomes(\.battery, 39, "sysfs")
    }
}
