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
        link.hasAddress = hasAddress
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

@Suite struct OutwardLinksTests {
    private static func outward(_ ipv4: Int?, _ ipv6: Int?) -> OutwardLinks {
        let links = [1, 2, 3].map { index in
            var link = NetworkLink(index: index, name: "eth\(index)")
            link.isUp = true
            return link
        }
        // The other two are worse.
        let routes = [(false, ipv4), (true, ipv6)].flatMap { isIPv6, best in
            (best == nil ? [] : [1, 2, 3]).map {
                DefaultRoute(link: $0, isIPv6: isIPv6, metric: $0 == best ? 100 : 600)
            }
        }
        return OutwardLinks(links, routes)
    }

    @Test(
        arguments: [
            ([(1, 1), (1, 1)], [false, false]),
            ([(1, 1), (2, 1)], [false, true]),
            ([(1, 1), (1, 2)], [false, true]),
            ([(1, nil), (1, 2)], [false, false]),
            ([(1, 2), (1, nil)], [false, false]),
            // What is gone is remembered.
            ([(1, nil), (nil, nil), (1, nil)], [false, false, false]),
            ([(1, nil), (nil, nil), (2, nil)], [false, false, true]),
            ([(1, 1), (nil, 1), (2, 1), (2, 1)], [false, false, true, false]),
        ] as [([(Int?, Int?)], [Bool])])
    func whatGoesOverAnotherLink(looks: [(Int?, Int?)], switches: [Bool]) {
        var outward = OutwardLinks()
        #expect(looks.map { outward.follow(Self.outward($0.0, $0.1)) } == switches)
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
