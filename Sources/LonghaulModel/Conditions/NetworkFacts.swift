/// A network interface, as far as it matters for whether there is a network, and what it costs.
package struct NetworkLink: Hashable, Sendable {
    package var index: Int
    package var name: String
    package var isLoopback = false
    /// Switched on, and with a carrier.
    package var isUp = false
    /// Joins interfaces of this machine (containers, virtual machines): an address there leads
    /// nowhere by itself.
    package var isBridge = false
    /// Prefixes of the addresses that reach beyond the link.
    package var prefixes: [NetworkPrefix] = []
    /// The kernel's word for what it is: `wwan`, `wlan`, `bluetooth`, …; empty for plain Ethernet.
    package var deviceType = ""
    package var driver = ""
    /// ARPHRD_PPP
    package var isPointToPoint = false

    package init(index: Int, name: String) {
        self.index = index
        self.name = name
    }

    fileprivate var leadsOut: Bool { isUp && !isLoopback }
    /// The server of a request may be on this link.
    fileprivate var reachesNeighbours: Bool { leadsOut && !prefixes.isEmpty && !isBridge }

    /// Mobile modems, dialled lines and telephones that share theirs.
    package var isMetered: Bool {
        if isPointToPoint || deviceType == "wwan" || deviceType == "bluetooth" { return true }
        if Self.meteredDrivers.contains(driver) { return true }
        // `ww` is what systemd.net-naming-scheme(7) begins modems' names with, `bnep` BlueZ those
        // of telephones; the others are the kernel's own.
        return Self.meteredNames.contains { name.hasPrefix($0) }
    }

    private static let meteredDrivers: Set<String> = [
        "rndis_host", "ipheth", "cdc_mbim", "qmi_wwan", "huawei_cdc_ncm", "sierra_net",
    ]
    private static let meteredNames = ["ww", "ppp", "rmnet", "usb", "rndis", "bnep"]
}

package struct DefaultRoute: Hashable, Sendable {
    package var link: Int
    package var isIPv6: Bool
    /// The lowest is taken.
    package var metric: UInt32

    package init(link: Int, isIPv6: Bool = false, metric: UInt32) {
        self.link = link
        self.isIPv6 = isIPv6
        self.metric = metric
    }
}

/// The part of an address that all machines of one network have in common.
package struct NetworkPrefix: Hashable, Sendable {
    package var text: String
    package var isIPv6: Bool
    /// Still valid, but no new connection begins from it.
    package var isDeprecated = false

    package init(_ text: String, isIPv6: Bool = false, isDeprecated: Bool = false) {
        self.text = text
        self.isIPv6 = isIPv6
        self.isDeprecated = isDeprecated
    }
}

/// The way that the kernel takes to the outside.
package struct OutwardRoute: Hashable, Sendable {
    package var link: Int
    package var gateway: String?

    package init(link: Int, gateway: String? = nil) {
        self.link = link
        self.gateway = gateway
    }
}

/// Derives the state of the network from interfaces and default routes.
package enum NetworkFacts {
    /// The best default route tells; without one, any interface with an address of some reach: what
    /// is asked for may be nearby.
    package static func state(_ links: [NetworkLink], _ routes: [DefaultRoute]) -> NetworkState {
        if let best = best(links, routes) { return best.isMetered ? .metered : .unmetered }
        let usable = links.filter(\.reachesNeighbours)
        if usable.isEmpty { return .offline }
        return usable.contains { !$0.isMetered } ? .unmetered : .metered
    }

    /// The link that tells; of routes as good as each other the one over the first link.
    package static func best(_ links: [NetworkLink], _ routes: [DefaultRoute]) -> NetworkLink? {
        let out = links.filter(\.leadsOut)
        return
            routes.compactMap { route in
                out.first { $0.index == route.link }.map { (route.metric, $0) }
            }
            .min { ($0.0, $0.1.index) < ($1.0, $1.1.index) }?.1
    }

    /// Identity that tells this network from others. Without a route to the outside, the first link
    /// with neighbours gives the identity.
    package static func identity(
        _ links: [NetworkLink], ipv4: OutwardRoute?, ipv6: OutwardRoute?
    ) -> NetworkIdentity {
        func way(_ route: OutwardRoute?, isIPv6: Bool) -> NetworkIdentity.Way? {
            func prefixes(of link: NetworkLink) -> Set<String> {
                Set(link.prefixes.filter { $0.isIPv6 == isIPv6 && !$0.isDeprecated }.map(\.text))
            }
            if let route, let link = links.first(where: { $0.index == route.link }) {
                return NetworkIdentity.Way(
                    link: link.name, gateway: route.gateway, prefixes: prefixes(of: link))
            }
            let near = links.filter { $0.reachesNeighbours && !prefixes(of: $0).isEmpty }
            return near.min { $0.index < $1.index }.map {
                NetworkIdentity.Way(link: $0.name, gateway: nil, prefixes: prefixes(of: $0))
            }
        }
        return NetworkIdentity(ipv4: way(ipv4, isIPv6: false), ipv6: way(ipv6, isIPv6: true))
    }
}

extension NetworkState {
    /// Maps NetworkManager's numbers (NMState, NMConnectivityState and NMMetered of its D-Bus
    /// interface) to a state.
    ///
    /// A captive portal counts as offline: it would answer every request with its own page. Limited
    /// connectivity does not: a check that fails says little about other servers. `nil` where it
    /// does not know itself.
    package init?(managerState: Int, connectivity: Int, metered: Int) {
        switch managerState {
        case 50...: break
        case 1..<50:
            self = .offline
            return
        default: return nil
        }
        // 1 = none, 2 = portal.
        if connectivity == 2 || (connectivity == 1 && managerState != 50) {
            self = .offline
            return
        }
        // 1 = yes, 3 = it guesses so.
        self = metered == 1 || metered == 3 ? .metered : .unmetered
    }
}
