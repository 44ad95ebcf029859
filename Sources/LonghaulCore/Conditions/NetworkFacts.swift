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
    /// Has an address that reaches beyond the link.
    package var hasAddress = false
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

/// The links that the best default routes lead over.
package struct OutwardLinks: Hashable, Sendable {
    private var ipv4: Int?
    private var ipv6: Int?

    package init() {}

    package init(_ links: [NetworkLink], _ routes: [DefaultRoute]) {
        ipv4 = NetworkFacts.best(links, routes.filter { !$0.isIPv6 })?.index
        ipv6 = NetworkFacts.best(links, routes.filter(\.isIPv6))?.index
    }

    /// Returns whether what went over one link goes over another now. One that is gone is
    /// remembered until there is another.
    package mutating func follow(_ new: Self) -> Bool {
        let hasSwitched = Self.differ(ipv4, new.ipv4) || Self.differ(ipv6, new.ipv6)
        ipv4 = new.ipv4 ?? ipv4
        ipv6 = new.ipv6 ?? ipv6
        return hasSwitched
    }

    private static func differ(_ old: Int?, _ new: Int?) -> Bool {
        old != nil && new != nil && old != new
    }
}

/// What interfaces and default routes come to.
package enum NetworkFacts {
    /// The best default route tells; without one, any interface with an address of some reach: what
    /// is asked for may be nearby.
    package static func state(_ links: [NetworkLink], _ routes: [DefaultRoute]) -> NetworkState {
        if let best = best(links, routes) { return best.isMetered ? .metered : .unmetered }
        let usable = links.filter { $0.leadsOut && $0.hasAddress && !$0.isBridge }
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
}

extension NetworkState {
    /// What NetworkManager's numbers mean (NMState, NMConnectivityState and NMMetered of its D-Bus
    /// interface).
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
