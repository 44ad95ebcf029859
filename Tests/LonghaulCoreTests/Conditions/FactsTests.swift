import LonghaulCore
import Testing

@Suite struct PowerFactsTests {
    private static func battery(
        _ capacity: Int?, _ status: PowerSupply.Status?, size: Int64? = nil
    ) -> PowerSupply {
        var supply = PowerSupply(.battery)
        supply.capacity = capacity
        supply.status = status
        supply.size = size
        return supply
    }

    private static func outside(_ isOnline: Bool) -> PowerSupply {
        var supply = PowerSupply(.external)
        supply.isOnline = isOnline
        return supply
    }

    private static var ups: PowerSupply {
        var supply = PowerSupply(.ups)
        supply.status = .discharging
        return supply
    }

    @Test(
        arguments: [
            ([], .external, nil),
            ([outside(false)], .external, nil),
            ([outside(true), battery(80, .charging)], .external, 80),
            // The charger may be too weak: what counts is that power comes in.
            ([outside(true), battery(80, .discharging)], .external, 80),
            ([outside(false), battery(80, .discharging)], .battery, 80),
            ([outside(false), outside(true), battery(80, .discharging)], .external, 80),
            ([outside(false), battery(80, nil)], .battery, 80),
            ([battery(80, .discharging)], .battery, 80),
            ([battery(80, .charging)], .external, 80),
            ([battery(100, .full)], .external, 100),
            ([battery(nil, nil)], nil, nil),
            ([battery(100, .full), battery(50, .discharging)], .battery, 75),
            ([battery(100, .full, size: 25), battery(50, .discharging, size: 75)], .battery, 63),
            ([battery(100, .full, size: 25), battery(50, .discharging)], .battery, 75),
            ([battery(130, .full)], .external, 100),
            ([ups], .battery, nil),
            ([ups, outside(true)], .external, nil),
        ] as [([PowerSupply], PowerSource?, Int?)])
    func come(supplies: [PowerSupply], power: PowerSource?, battery: Int?) {
        let facts = PowerFacts(supplies)
        #expect(facts.power == power)
        #expect(facts.battery == battery)
    }
}

@Suite struct NetworkFactsTests {
    private static func link(
        _ index: Int, _ name: String, isUp: Bool = true, hasAddress: Bool = true,
        _ change: (inout NetworkLink) -> Void = { _ in }
    ) -> NetworkLink {
        var link = NetworkLink(index: index, name: name)
        link.isUp = isUp
        if hasAddress { link.prefixes = [NetworkPrefix("192.0.2.0/24")] }
        change(&link)
        return link
    }

    private static let loopback = link(1, "lo") { $0.isLoopback = true }
    private static func route(_ link: Int, _ metric: UInt32 = 0) -> DefaultRoute {
        DefaultRoute(link: link, metric: metric)
    }

    @Test(
        arguments: [
            ([], [], .offline),
            ([loopback], [], .offline),
            ([loopback, link(2, "eth0")], [route(2)], .unmetered),
            ([loopback, link(2, "eth0", isUp: false)], [route(2)], .offline),
            ([link(2, "eth0", hasAddress: false)], [], .offline),
            ([link(2, "eth0")], [], .unmetered),
            ([link(2, "docker0") { $0.isBridge = true }], [], .offline),
            ([link(2, "br0") { $0.isBridge = true }], [route(2)], .unmetered),
            ([link(2, "wlan0") { $0.deviceType = "wlan" }], [route(2)], .unmetered),
            ([link(2, "wwan0")], [route(2)], .metered),
            ([link(2, "wwp0s20f0u2")], [route(2)], .metered),
            ([link(2, "ppp0")], [route(2)], .metered),
            ([link(2, "dsl") { $0.isPointToPoint = true }], [route(2)], .metered),
            ([link(2, "rmnet_data0")], [route(2)], .metered),
            ([link(2, "usb0")], [route(2)], .metered),
            ([link(2, "bnep0")], [route(2)], .metered),
            ([link(2, "enx0") { $0.driver = "rndis_host" }], [route(2)], .metered),
            ([link(2, "enx0") { $0.driver = "r8152" }], [route(2)], .unmetered),
            ([link(2, "eth0"), link(3, "wwan0")], [route(3, 700), route(2, 100)], .unmetered),
            ([link(2, "eth0"), link(3, "wwan0")], [route(3, 50), route(2, 100)], .metered),
            (
                [link(2, "eth0", isUp: false), link(3, "wwan0")], [route(3, 700), route(2)],
                .metered
            ),
            ([link(2, "eth0"), link(3, "wwan0")], [], .unmetered),
            ([link(3, "wwan0")], [], .metered),
            ([link(2, "eth0")], [route(9)], .unmetered),
        ] as [([NetworkLink], [DefaultRoute], NetworkState)])
    func come(links: [NetworkLink], routes: [DefaultRoute], state: NetworkState) {
        #expect(NetworkFacts.state(links, routes) == state)
    }

    @Test(
        arguments: [
            (0, 4, 4, nil), (10, 4, 4, .offline), (20, 0, 0, .offline), (40, 4, 4, .offline),
            (50, 0, 4, .unmetered), (50, 1, 4, .unmetered), (60, 3, 4, .unmetered),
            (70, 4, 0, .unmetered), (70, 4, 1, .metered), (70, 4, 2, .unmetered),
            (70, 4, 3, .metered),
            (70, 4, 4, .unmetered), (70, 1, 4, .offline), (70, 2, 1, .offline),
            (70, 0, 3, .metered),
        ] as [(Int, Int, Int, NetworkState?)])
    func managerMeans(state: Int, connectivity: Int, metered: Int, network: NetworkState?) {
        #expect(
            NetworkState(managerState: state, connectivity: connectivity, metered: metered)
                == network)
    }
}

@Suite struct NetworkIdentityTests {
    private static func way(
        _ link: String, _ gateway: String? = nil, _ prefixes: String...
    ) -> NetworkIdentity {
        NetworkIdentity(
            ipv4: NetworkIdentity.Way(link: link, gateway: gateway, prefixes: Set(prefixes)))
    }

    private static let home = way("wlan0", "192.168.1.1", "192.168.1.0/24")
    private static let both = NetworkIdentity(
        ipv4: home.ipv4, ipv6: NetworkIdentity.Way(link: "wlan0", gateway: "fe80::1"))
    private static let none = NetworkIdentity()

    private static let rows: [(String, [NetworkIdentity], [Bool])] = [
        ("the same again", [home, home], [false]),
        ("another interface", [home, way("eth0", "192.168.1.1", "192.168.1.0/24")], [true]),
        ("another gateway", [home, way("wlan0", "192.168.1.254", "192.168.1.0/24")], [true]),
        ("another subnet", [way("eth0", nil, "a"), way("eth0", nil, "b")], [true]),
        ("a second subnet", [way("eth0", nil, "a"), way("eth0", nil, "a", "b")], [false]),
        (
            "one subnet after the other",
            [way("eth0", nil, "a"), way("eth0", nil, "a", "b"), way("eth0", nil, "b")],
            [false, true]
        ),
        ("a VPN, and its end", [home, way("tun0", "10.8.0.1", "10.8.0.0"), home], [true, true]),
        ("away and back", [home, none, home], [false, false]),
        ("away, and elsewhere", [home, none, way("wlan0", "10.0.0.1")], [false, true]),
        ("the first", [none, home], [true]),
        ("IPv6 comes and goes", [home, both, home, both], [false, false, false]),
        (
            "IPv6 goes another way",
            [both, NetworkIdentity(ipv4: both.ipv4, ipv6: .init(link: "tun0"))], [true]
        ),
        (
            "another connection",
            [nil, "x", nil, "x", "y"].map {
                NetworkIdentity(ipv4: home.ipv4, connection: $0)
            }, [false, false, false, true]
        ),
    ]

    @Test(arguments: rows.indices) func whatIsAnother(_ row: Int) {
        let (name, looks, changes) = Self.rows[row]
        var identity = looks[0]
        #expect(looks.dropFirst().map { identity.follow($0) } == changes, "\(name)")
    }

    private static func link(_ index: Int, _ prefixes: NetworkPrefix...) -> NetworkLink {
        var link = NetworkLink(index: index, name: "eth\(index)")
        link.isUp = true
        link.prefixes = prefixes
        return link
    }

    @Test func isTheWayOutOfEachFamily() {
        let links = [
            Self.link(1, NetworkPrefix("192.0.2.0/24")),
            Self.link(
                2, NetworkPrefix("198.51.100.0/24"), NetworkPrefix("2001:db8::/64", isIPv6: true),
                NetworkPrefix("2001:db8:1::/64", isIPv6: true, isDeprecated: true)),
        ]
        func identity(_ ipv4: OutwardRoute?, _ ipv6: OutwardRoute?) -> NetworkIdentity {
            NetworkFacts.identity(links, ipv4: ipv4, ipv6: ipv6)
        }
        let out = identity(OutwardRoute(link: 2, gateway: "198.51.100.1"), OutwardRoute(link: 2))
        #expect(
            out.ipv4 == .init(link: "eth2", gateway: "198.51.100.1", prefixes: ["198.51.100.0/24"]))
        #expect(out.ipv6 == .init(link: "eth2", prefixes: ["2001:db8::/64"]))
        // Without a way out the neighbours count.
        #expect(
            identity(nil, nil)
                == NetworkIdentity(
                    ipv4: .init(link: "eth1", prefixes: ["192.0.2.0/24"]),
                    ipv6: .init(link: "eth2", prefixes: ["2001:db8::/64"])))
        #expect(NetworkFacts.identity([], ipv4: nil, ipv6: nil) == NetworkIdentity())
    }

    @Test(
        arguments: [
            (.unmetered, home, false), (.metered, home, true),
            (.unmetered, way("wlan0", "10.0.0.1"), true), (.unmetered, nil, false),
            (nil, nil, false),
        ] as [(NetworkState?, NetworkIdentity?, Bool)])
    func aReadingOfAnother(value: NetworkState?, identity: NetworkIdentity?, isAnother: Bool) {
        var old = Reading<NetworkState>(.unmetered, source: "a", since: Timestamp(milliseconds: 1))
        old.identity = Self.home
        var new = Reading(value, source: "b", since: Timestamp(milliseconds: 2))
        new.identity = identity
        #expect(new.isAnother(than: old) == isAnother)
    }

    @Test func ofRoutesAsGoodAsEachOtherTheFirstLinkTells() {
        let links = [5, 3].map { index in
            var link = NetworkLink(index: index, name: "eth\(index)")
            link.isUp = true
            return link
        }
        let routes = [5, 3].map { DefaultRoute(link: $0, metric: 100) }
        #expect(NetworkFacts.best(links, routes)?.index == 3)
        #expect(NetworkFacts.best(links, routes.reversed())?.index == 3)
    }
}

@Suite struct IdleFactsTests {
    @Test(
        arguments: [
            (nil, nil, nil, false, nil),
            (0.1, nil, nil, false, true), (nil, 3, nil, false, true), (0.1, 3, nil, false, true),
            (0.1, 3, 299, true, false), (0.1, 3, 300, false, true), (nil, nil, 10, false, false),
            (0.6, 3, nil, false, false), (0.6, 3, nil, true, true), (1.6, 3, nil, true, false),
            (0.1, 11, nil, false, false), (0.1, 11, nil, true, true), (0.1, 26, nil, true, false),
        ] as [(Double?, Double?, Double?, Bool, Bool?)])
    func come(load: Double?, pressure: Double?, input: Double?, wasIdle: Bool, isIdle: Bool?) {
        var facts = IdleFacts()
        facts.load = load
        facts.pressure = pressure
        facts.secondsSinceInput = input
        #expect(facts.isIdle(wasIdle: wasIdle) == isIdle)
    }

    /// The last key and 300 s; 5 s for every part in twelve that the load is above its mark, 2 s
    /// for every fifth of the pressure.
    @Test(
        arguments: [
            (0.1, 3, 1, 299), (0.1, 3, 300, nil), (0.1, 3, nil, nil), (nil, nil, nil, nil),
            (0.5, 3, nil, 5), (1, 3, nil, 45), (1, 3, 299, 45), (0.1, 10, nil, 2),
            (0.1, 100, 290, 24), (0.1, 100, 10, 290), (.infinity, 3, nil, nil),
        ] as [(Double?, Double?, Double?, Double?)])
    func tellWhenItCanBeIdle(load: Double?, pressure: Double?, input: Double?, seconds: Double?) {
        var facts = IdleFacts()
        facts.load = load
        facts.pressure = pressure
        facts.secondsSinceInput = input
        #expect(facts.secondsUntilIdle == seconds)
    }

    @Test func areReadFromTheKernelsText() {
        #expect(IdleFacts.load("3.00 2.00 1.00 2/101 31026\n", processors: 2) == 1.5)
        #expect(IdleFacts.load("", processors: 2) == nil)
        #expect(
            IdleFacts.pressure("some avg10=3.06 avg60=7.39 avg300=9.16 total=5\nfull avg10=0.00\n")
                == 3.06)
        #expect(IdleFacts.pressure("full avg10=1.00\n") == nil)
    }
}
