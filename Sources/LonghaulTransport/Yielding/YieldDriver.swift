internal import CLonghaul
internal import LonghaulModel

/// Between two samples of the yielding connections.
private let yieldTickNanoseconds: Int64 = 20_000_000
/// Without a byte for so long, sampling wakes the loop no more.
private let yieldQuietNanoseconds: Int64 = 1_000_000_000
/// A connection without a request, or without bodies (FTP's control connection), is left out
/// after this time.
private let yieldIdleNanoseconds: Int64 = 3_000_000_000
private let yieldReportNanoseconds: Int64 = 200_000_000

/// Passes samples of the yielding connections to ``YieldControl``, and applies its orders.
///
/// While bytes move it samples fifty times a second. After a second without bytes it requests no
/// wake-up any more; the next byte wakes the loop anyway.
final class YieldDriver {
    let pools: ConnectionPools
    /// Requests on the wire that yield.
    var activeRequests = 0
    /// Controls of bodies that come, and of bodies that go: the two directions of a line have a
    /// queue each.
    private var receiving = YieldControl()
    private var sending = YieldControl()
    private var nextTick: Int64 = 0
    private var lastMoved: Int64 = 0
    private var nextReport: Int64 = 0
    /// Samples by cookie.
    private var seen: [UInt64: Seen] = [:]

    private struct Seen {
        var bytes: UInt64
        var movedAt: Int64
    }

    private struct Held {
        var socket: Int
        var sends: Bool
        var sample: YieldSample
    }

    init(pools: ConnectionPools) {
        self.pools = pools
    }

    /// When the next sample is due; `nil` = no wake-up is needed.
    func wakeUp(_ now: Int64) -> Int64? {
        activeRequests > 0 && now - lastMoved < yieldQuietNanoseconds ? nextTick : nil
    }

    func steer(_ active: [EasyHandle], now: Int64) {
        guard activeRequests > 0, now >= nextTick else { return }
        nextTick = now + yieldTickNanoseconds
        let users = active.filter { $0.running?.request.yields == true }
        let sockets = pools.yieldingSockets
        let held = samples(of: sockets, users: users, now: now)
        let reports = now >= nextReport
        if reports { nextReport = now + yieldReportNanoseconds }
        for sends in [false, true] {
            let held = held.filter { $0.sends == sends }
            let orders = tick(held.map(\.sample), sends: sends, Instant(nanoseconds: now))
            var byDescriptor: [Int32: YieldOrder] = [:]
            for (entry, order) in zip(held, orders) {
                let socket = sockets.baseAddress! + entry.socket
                apply(order, to: socket, sends: sends)
                byDescriptor[socket.pointee.fd] = order
            }
            let users = users.filter { $0.request?.sendsBody == sends }
            limit(users, byDescriptor)
            if reports { report(users, sends: sends, isHeld: !orders.isEmpty, now: now) }
        }
    }

    private func tick(_ samples: [YieldSample], sends: Bool, _ now: Instant) -> [YieldOrder] {
        sends ? sending.tick(samples, now: now) : receiving.tick(samples, now: now)
    }

    private func apply(
        _ order: YieldOrder, to socket: UnsafeMutablePointer<lh_socket>, sends: Bool
    ) {
        if sends {
            lh_socket_hold(socket, Int32(clamping: order.window))
        } else {
            lh_socket_clamp(socket, Int32(clamping: order.window))
            lh_socket_gate(socket, order.isGated ? 1 : 0)
        }
    }

    private func samples(
        of sockets: UnsafeMutableBufferPointer<lh_socket>, users: [EasyHandle], now: Int64
    ) -> [Held] {
        // The sockets in use, and whether their bodies go.
        var inUse: [Int32: Bool] = [:]
        for user in users where user.url.beginsIgnoringCase(with: "http") {
            inUse[user.curl.socket] = user.request?.sendsBody
        }
        var held: [Held] = []
        var stillSeen: [UInt64: Seen] = [:]
        for index in sockets.indices where sockets[index].is_loopback == 0 {
            var sample = lh_tcp_sample()
            guard lh_socket_sample(&sockets[index], &sample) == 0 else { continue }
            let cookie = sockets[index].cookie
            // A data connection of FTP has one direction only.
            let sends = inUse[sockets[index].fd] ?? (sample.out.bytes > sample.in.bytes)
            let side = sends ? sample.out : sample.in
            var known = seen[cookie] ?? Seen(bytes: side.bytes, movedAt: now)
            if known.bytes != side.bytes {
                known = Seen(bytes: side.bytes, movedAt: now)
                lastMoved = now
            }
            stillSeen[cookie] = known
            guard
                now - known.movedAt < yieldIdleNanoseconds
                    || inUse[sockets[index].fd] != nil
            else {
                // Neither must affect the next request on this connection.
                lh_socket_gate(&sockets[index], 0)
                lh_socket_hold(&sockets[index], .max)
                continue
            }
            held.append(
                Held(
                    socket: index, sends: sends,
                    sample: YieldSample(
                        connection: cookie,
                        roundTrip: side.round_trip > 0 ? Double(side.round_trip) / 1e6 : nil,
                        bytes: side.bytes, outOfOrder: side.lost, segment: Int(side.segment))))
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

    private func report(_ users: [EasyHandle], sends: Bool, isHeld: Bool, now: Int64) {
        let control = sends ? sending : receiving
        let word = isHeld ? control.report(Instant(nanoseconds: now)).packed : 0
        for handle in users {
            guard let cell = handle.flow.pointer.pointee.segment_cell else { continue }
            cell[ProgressCell.yielding] = word
        }
    }
}
