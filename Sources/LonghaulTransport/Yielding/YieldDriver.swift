internal import CLonghaul
internal import LonghaulCore

/// Passes samples of the yielding connections to ``YieldControl``, and applies its orders.
///
/// While bytes move it samples fifty times a second. After a second without bytes it requests no
/// wake-up any more; the next byte wakes the loop anyway.
final class YieldDriver {
    let pools: ConnectionPools
    /// Requests on the wire that yield.
    var activeRequests = 0
    private var control = YieldControl()
    private var nextTick: Int64 = 0
    private var lastMoved: Int64 = 0
    private var nextReport: Int64 = 0
    /// By cookie.
    private var seen: [UInt64: Seen] = [:]

    private struct Seen {
        var bytes: UInt64
        var movedAt: Int64
    }

    private struct Held {
        var socket: Int
        var sample: YieldSample
    }

    init(pools: ConnectionPools) {
        self.pools = pools
    }

    /// When the next sample is due; `nil` = no wake-up is needed.
    func wakeUp(_ now: Int64) -> Int64? {
        activeRequests > 0 && now - lastMoved < Limits.yieldQuietNanoseconds ? nextTick : nil
    }

    func steer(_ active: [EasyHandle], now: Int64) {
        guard activeRequests > 0, now >= nextTick else { return }
        nextTick = now + Limits.yieldTickNanoseconds
        let users = active.filter { $0.running?.request.yields == true }
        let sockets = pools.yieldingSockets
        let held = samples(of: sockets, users: users, now: now)
        let instant = Instant(nanoseconds: now)
        let orders = control.tick(held.map(\.sample), now: instant)
        var byDescriptor: [Int32: YieldOrder] = [:]
        for (entry, order) in zip(held, orders) {
            let socket = sockets.baseAddress! + entry.socket
            lh_socket_clamp(socket, Int32(clamping: order.window))
            lh_socket_gate(socket, order.isGated ? 1 : 0)
            byDescriptor[socket.pointee.fd] = order
        }
        limit(users, byDescriptor)
        report(users, isHeld: !orders.isEmpty, now: now)
    }

    private func samples(
        of sockets: UnsafeMutableBufferPointer<lh_socket>, users: [EasyHandle], now: Int64
    ) -> [Held] {
        let inUse = Set(
            users.compactMap { $0.url.hasPrefix("http") ? $0.curl.socket : nil })
        var held: [Held] = []
        var stillSeen: [UInt64: Seen] = [:]
        for index in sockets.indices where sockets[index].is_loopback == 0 {
            var sample = lh_tcp_sample()
            guard lh_socket_sample(&sockets[index], &sample) == 0 else { continue }
            let cookie = sockets[index].cookie
            var known = seen[cookie] ?? Seen(bytes: sample.received, movedAt: now)
            if known.bytes != sample.received {
                known = Seen(bytes: sample.received, movedAt: now)
                lastMoved = now
            }
            stillSeen[cookie] = known
            guard
                now - known.movedAt < Limits.yieldIdleNanoseconds
                    || inUse.contains(sockets[index].fd)
            else {
                // The gate must not affect the next request on this connection.
                lh_socket_gate(&sockets[index], 0)
                continue
            }
            held.append(
                Held(
                    socket: index,
                    sample: YieldSample(
                        connection: cookie,
                        roundTrip: sample.round_trip > 0 ? Double(sample.round_trip) / 1e6 : nil,
                        bytes: sample.received, outOfOrder: sample.out_of_order,
                        segment: Int(sample.segment))))
        }
        seen = stillSeen
        return held
    }

    /// The rate of a connection is divided among its requests.
    private func limit(_ users: [EasyHandle], _ orders: [Int32: YieldOrder]) {
        let descriptors = users.map { $0.curl.socket }
        var subscribers: [Int32: Int64] = [:]
        for descriptor in descriptors { subscribers[descriptor, default: 0] += 1 }
        // libcurl does not report FTP's data connections: the mildest order applies to their
        // bodies.
        let anyRate =
            orders.values.contains { $0.rate == nil } ? nil : orders.values.compactMap(\.rate).max()
        for (handle, descriptor) in zip(users, descriptors) {
            let rate = orders[descriptor].map(\.rate) ?? anyRate
            handle.yield(to: rate.map { max(1, $0 / (subscribers[descriptor] ?? 1)) })
        }
    }

    private func report(_ users: [EasyHandle], isHeld: Bool, now: Int64) {
        guard now >= nextReport else { return }
        nextReport = now + Limits.yieldReportNanoseconds
        let word = isHeld ? control.report(Instant(nanoseconds: now)).packed : 0
        for handle in users {
            guard let cell = handle.flow.pointer.pointee.segment_cell else { continue }
            cell[ProgressCell.yielding] = word
        }
    }
}
