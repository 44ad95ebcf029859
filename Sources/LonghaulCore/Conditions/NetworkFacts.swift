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
    /// The lowest is taken.
    package var metric: UInt32

    package init(link: Int, metric: UInt32) {
        self.link = link
        self.metric = metric
    }
}

/// What interfaces and default routes come to.
package enum NetworkFacts {
    /// The best default route tells; without one, any interface with an address of some reach: what
    /// is asked for may be nearby.
    package static func state(_ links: [NetworkLink], _ routes: [DefaultRoute]) -> NetworkState {
        var up: [Int: NetworkLink] = [:]
        for link in links where link.isUp && !link.isLoopback { up[link.index] = link }
        let best = routes.filter { up[$0.link] != nil }.min { $0.metric < $1.metric }
        if let best, let link = up[best.link] { return link.isMetered ? .metered : .unmetered }
        let usable = up.values.filter { $0.hasAddress && !$0.isBridge }
        if usable.isEmpty { return .offline }
        return usable.contains { !$0.isMetered } ? .unmetered : .metered
    }

    /// The name of the interface that tells, for asking somebody else about it.
    package static func deciding(_ links: [NetworkLink], _ routes: [DefaultRoute]) -> String? {
        let up = links.filter { $0.isUp && !$0.isLoopback }
        let best = routes.filter { route in up.contains { $0.index == route.link } }
            .min { $0.metric < $1.metric }
        return up.first { $0.index == best?.link }?.name
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
