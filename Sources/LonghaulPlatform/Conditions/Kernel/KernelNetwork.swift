internal import CLonghaul
internal import Glibc
internal import LonghaulCore

/// The kernel's interfaces, addresses and default routes, with its notifications of changes.
final class KernelNetwork {
    static let source = "rtnetlink"

    /// `nil` = the kernel does not answer (a sandbox may forbid it).
    private(set) var state: NetworkState?
    /// The interface of the best default route.
    private(set) var deciding: String?
    private var outward = OutwardLinks()
    private var hasSwitched = false

    private let sysfs: String
    private let changes: Descriptor?
    /// Changes come in bursts; one read serves all of a burst.
    private var lookAt: Instant?
    private var looked: Instant?

    /// - Parameter sysfs: the mount point of sysfs, which has the kind of each interface.
    init(sysfs: String, now: Instant) {
        self.sysfs = sysfs
        let socket = lh_route_watch()
        changes = socket < 0 ? nil : Descriptor(owning: socket)
        refresh(now: now)
    }

    var descriptor: Int32? { changes?.number }

    /// When ``advance(to:)`` has something to do.
    var due: Instant? { lookAt }

    /// The descriptor is readable.
    func receive(now: Instant) {
        guard let changes, lh_route_watch_take(changes.number) != 0, lookAt == nil else { return }
        lookAt = max(now, looked.map { $0 + Limits.networkPauseSeconds } ?? now)
    }

    func advance(to now: Instant) {
        if let lookAt, now >= lookAt { refresh(now: now) }
    }

    func refresh(now: Instant) {
        lookAt = nil
        looked = now
        let links: [NetworkLink]
        let routes: [DefaultRoute]
        do {
            (links, routes) = try read()
        } catch {
            // The state is kept until it can be read again.
            if error.errno == EINTR {
                lookAt = now + Limits.networkPauseSeconds
            } else {
                state = nil
            }
            return
        }
        deciding = NetworkFacts.best(links, routes)?.name
        if outward.follow(OutwardLinks(links, routes)) { hasSwitched = true }
        state = NetworkFacts.state(links, routes)
    }

    /// Whether the interface of outgoing traffic has changed since the last call.
    func takeSwitch() -> Bool {
        defer { hasSwitched = false }
        return hasSwitched
    }

    // MARK: -

    private func read() throws(SystemFailure) -> ([NetworkLink], [DefaultRoute]) {
        var links = [lh_link](repeating: lh_link(), count: Limits.networkLinks)
        var routes = [lh_default_route](repeating: lh_default_route(), count: Limits.networkRoutes)
        var linkCount = links.count
        var routeCount = routes.count
        let answer = lh_route_read(&links, &linkCount, &routes, &routeCount)
        if answer < 0 {
            throw SystemFailure(operation: "read", path: "rtnetlink", errno: -answer)
        }
        return (
            links.prefix(linkCount).map(describe),
            routes.prefix(routeCount).map {
                DefaultRoute(link: Int($0.link), isIPv6: $0.is_ipv6 != 0, metric: $0.metric)
            }
        )
    }

    private func describe(_ found: lh_link) -> NetworkLink {
        var name = found.name
        let text = withUnsafeBytes(of: &name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        var link = NetworkLink(index: Int(found.index), name: text)
        link.isLoopback = found.is_loopback != 0
        link.isUp = found.is_up != 0
        link.isBridge = found.is_bridge != 0
        link.hasAddress = found.has_address != 0
        link.isPointToPoint = found.is_point_to_point != 0
        // Only candidates are looked up: a host of containers has hundreds of other interfaces.
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
