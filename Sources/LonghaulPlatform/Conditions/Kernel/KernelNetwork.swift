internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// Between two readings of the network.
private let networkPauseSeconds = 0.1
/// Links, addresses and routes that are read at most.
private let networkLinks = 1_024
private let networkAddresses = 1_024
private let networkRoutes = 64
/// How often a gateway is asked for its hardware address, and seconds to the second question; each
/// pause is twice the one before.
private let (gatewayQuestions, gatewaySeconds) = (6, 0.05)
/// Seconds until a gateway that has not answered is asked again.
private let gatewayPauseSeconds: Double = 60

/// The kernel's interfaces, addresses and default routes, with its notifications of changes.
final class KernelNetwork {
    static let source = "rtnetlink"

    /// `nil` = the kernel does not answer (a sandbox may forbid it).
    private(set) var state: NetworkState?
    /// The interface of the best default route.
    private(set) var deciding: String?
    /// `nil` = as ``state``.
    private(set) var identity: NetworkIdentity?
    /// The gateway with its hardware address; `nil` = it is not known, or not of interest.
    private(set) var place: NetworkPlace?
    /// The gateway is asked for its hardware address.
    var findsPlace = false {
        didSet { if findsPlace, !oldValue { findPlace(SystemClock.now().monotonic) } }
    }

    private let sysfs: String
    private let changes: Descriptor?
    /// Changes come in bursts; one read serves all of a burst.
    private var lookAt: Instant?
    private var looked: Instant?
    private var gateway: Gateway?
    private var askAt: Instant?
    private var asked = 0
    private var hasGivenUp = false

    private struct Gateway {
        var link: Int32
        var isIPv6: Bool
        var address: [UInt8]
        var prefixes: Set<String>
    }

    /// - Parameter sysfs: the mount point of sysfs, which has the kind of each interface.
    init(sysfs: String, now: Instant) {
        self.sysfs = sysfs
        let socket = lh_route_watch()
        changes = socket < 0 ? nil : Descriptor(owning: socket)
        refresh(now: now)
    }

    var descriptor: Int32? { changes?.number }

    /// When ``advance(to:)`` has something to do.
    var due: Instant? { [lookAt, askAt].compactMap { $0 }.min() }

    /// The gateway has not answered yet.
    var isAsking: Bool { askAt != nil && !hasGivenUp }

    /// The descriptor is readable.
    func receive(now: Instant) {
        guard let changes, lh_route_watch_take(changes.number) != 0, lookAt == nil else { return }
        lookAt = max(now, looked.map { $0 + networkPauseSeconds } ?? now)
    }

    func advance(to now: Instant) {
        if let lookAt, now >= lookAt { return refresh(now: now) }
        if let askAt, now >= askAt { findPlace(now) }
    }

    func refresh(now: Instant) {
        lookAt = nil
        looked = now
        do {
            try read()
            (asked, hasGivenUp) = (0, false)
            findPlace(now)
        } catch {
            // The state is kept until it can be read again.
            if error.errno == EINTR {
                lookAt = now + networkPauseSeconds
            } else {
                state = nil
                identity = nil
                place = nil
            }
        }
    }

    /// The kernel knows the hardware address of the gateway once something was sent there. It is
    /// asked for at growing intervals, since a link may need a moment, and then once a minute.
    private func findPlace(_ now: Instant) {
        askAt = nil
        guard findsPlace, let gateway, !gateway.prefixes.isEmpty else {
            place = nil
            return
        }
        var hardware = [UInt8](repeating: 0, count: Int(lh_hardware_bytes))
        let length = lh_neighbour_read(
            gateway.link, gateway.isIPv6 ? 1 : 0, gateway.address, &hardware)
        if length > 0 {
            let address = hardware.prefix(Int(length)).map(\.hexPair).joined(separator: ":")
            place = NetworkPlace(gateway: address, prefixes: gateway.prefixes)
            return
        }
        place = nil
        if asked >= gatewayQuestions {
            asked = 0
            askAt = now + gatewayPauseSeconds
            hasGivenUp = true
            return
        }
        if asked % 2 == 0 {
            lh_neighbour_ask(gateway.link, gateway.isIPv6 ? 1 : 0, gateway.address)
        }
        askAt = now + gatewaySeconds * Double(1 << asked)
        asked += 1
    }

    // MARK: -

    private func read() throws(SystemFailure) {
        var links = [lh_link](repeating: lh_link(), count: networkLinks)
        var addresses = [lh_address](repeating: lh_address(), count: networkAddresses)
        var routes = [lh_default_route](repeating: lh_default_route(), count: networkRoutes)
        var found = lh_network()
        let answer = links.withUnsafeMutableBufferPointer { links in
            addresses.withUnsafeMutableBufferPointer { addresses in
                routes.withUnsafeMutableBufferPointer { routes in
                    (found.links, found.link_count) = (links.baseAddress, links.count)
                    (found.addresses, found.address_count) =
                        (addresses.baseAddress, addresses.count)
                    (found.routes, found.route_count) = (routes.baseAddress, routes.count)
                    return lh_route_read(&found)
                }
            }
        }
        if answer < 0 {
            throw SystemFailure(operation: "read", path: "rtnetlink", errno: -answer)
        }
        var prefixes: [Int32: [NetworkPrefix]] = [:]
        for address in addresses.prefix(found.address_count) {
            prefixes[address.link, default: []].append(prefix(of: address))
        }
        let known = links.prefix(found.link_count).map {
            describe($0, prefixes[$0.index] ?? [])
        }
        let ways = routes.prefix(found.route_count).map {
            DefaultRoute(link: Int($0.link), isIPv6: $0.is_ipv6 != 0, metric: $0.metric)
        }
        deciding = NetworkFacts.best(known, ways)?.name
        state = NetworkFacts.state(known, ways)
        identity = NetworkFacts.identity(
            known, ipv4: outward(found.outward.0, isIPv6: false),
            ipv6: outward(found.outward.1, isIPv6: true))
        gateway =
            gateway(found.outward.0, isIPv6: false, identity?.ipv4)
            ?? gateway(found.outward.1, isIPv6: true, identity?.ipv6)
    }

    private func gateway(
        _ route: lh_outward_route, isIPv6: Bool, _ way: NetworkIdentity.Way?
    ) -> Gateway? {
        guard route.link != 0, route.has_gateway != 0, let way else { return nil }
        let address = withUnsafeBytes(of: route.gateway) { Array($0) }
        return Gateway(
            link: route.link, isIPv6: isIPv6, address: address, prefixes: way.prefixes)
    }

    private func prefix(of address: lh_address) -> NetworkPrefix {
        let isIPv6 = address.is_ipv6 != 0
        // A server of addresses may give out single ones of a network of 64 bits.
        let bits = Int(isIPv6 ? min(address.prefix_bits, 64) : address.prefix_bits)
        var bytes = address.bytes
        withUnsafeMutableBytes(of: &bytes) { bytes in
            for index in bytes.indices {
                let kept = min(max(bits - index * 8, 0), 8)
                bytes[index] &= UInt8(truncatingIfNeeded: 0xff00 >> kept)
            }
        }
        return NetworkPrefix(
            text(of: &bytes, isIPv6: isIPv6) + "/\(bits)", isIPv6: isIPv6,
            isDeprecated: address.is_deprecated != 0)
    }

    private func outward(_ route: lh_outward_route, isIPv6: Bool) -> OutwardRoute? {
        if route.link == 0 { return nil }
        var gateway = route.gateway
        return OutwardRoute(
            link: Int(route.link),
            gateway: route.has_gateway != 0 ? text(of: &gateway, isIPv6: isIPv6) : nil)
    }

    private func text(of address: UnsafeRawPointer, isIPv6: Bool) -> String {
        var shown = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(isIPv6 ? AF_INET6 : AF_INET, address, &shown, socklen_t(shown.count))
        return String(decoding: shown.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
    }

    private func describe(_ found: lh_link, _ prefixes: [NetworkPrefix]) -> NetworkLink {
        var name = found.name
        let text = withUnsafeBytes(of: &name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        var link = NetworkLink(index: Int(found.index), name: text)
        link.isLoopback = found.is_loopback != 0
        link.isUp = found.is_up != 0
        link.isBridge = found.is_bridge != 0
        link.prefixes = prefixes
        link.isPointToPoint = found.is_point_to_point != 0
        // The lookup is for candidates alone: a host of containers has hundreds of other
        // interfaces.
        if link.isUp, !link.isLoopback, isFileName(text) {
            link.deviceType = deviceType(text)
            link.driver = driver(text)
        }
        return link
    }

    private func deviceType(_ name: String) -> String {
        guard let text = try? smallFile("\(sysfs)/class/net/\(name)/uevent") else { return "" }
        let line = text.split(separator: "\n").first { $0.hasPrefix("DEVTYPE=") }
        return line.map { String($0.dropFirst("DEVTYPE=".count)) } ?? ""
    }

    private func driver(_ name: String) -> String {
        var target = [UInt8](repeating: 0, count: 256)
        let length = readlink("\(sysfs)/class/net/\(name)/device/driver", &target, target.count)
        guard length > 0 else { return "" }
        let path = String(decoding: target.prefix(length), as: UTF8.self)
        return path.split(separator: "/").last.map(String.init) ?? ""
    }
}
