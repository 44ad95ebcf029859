internal import CLonghaul
internal import LonghaulModel

/// The least difference that counts as sleep: the two clocks are not read at the same moment.
private let suspendNanoseconds: Int64 = 1_000_000_000

/// Pools of connections by purpose. Requests that yield and requests that do not never share a
/// connection: window, mark and gate belong to a connection, and an HTTP/2 stream in the foreground
/// would be held back with the yielding ones.
///
/// libcurl keeps idle connections per multi handle, or per share handle if one is set: each pool
/// but the common one has a share handle, on the one multi handle. All are counted by the
/// ``TransportBudget``.
final class ConnectionPools {
    let budget: TransportBudget
    /// All connections are marked as of low priority, not only yielding ones.
    private let isBackground: Bool
    private var common: UnsafeMutablePointer<lh_pool>?
    private var apart: UnsafeMutablePointer<lh_pool>?
    private var yielding: UnsafeMutablePointer<lh_pool>?
    /// The origins with a request on an HTTP/1.1 connection in a pool for sharing, at most one
    /// request each: see ``EasyHandle/admits()``.
    var unshared: Set<RequestURL.Origin> = []

    init(budget: TransportBudget, isBackground: Bool) {
        self.budget = budget
        self.isBackground = isBackground
    }

    /// `nil` = there is no memory for it; the multi handle's own connections serve, and are not
    /// counted.
    ///
    /// - Parameter isApart: It shares no connection, although its scheme allows that: see
    ///   ``EasyHandle/admits()``. In the pools apart every request has HTTP/1.1 or a new
    ///   connection.
    func pool(for request: SegmentRequest, isApart: Bool) -> UnsafeMutablePointer<lh_pool>? {
        if request.yields { return made(&yielding, isShared: true, isMarked: true) }
        if isApart { return made(&apart, isShared: true, isMarked: isBackground) }
        return made(&common, isShared: false, isMarked: isBackground)
    }

    func isUnshared(_ url: String) -> Bool {
        !unshared.isEmpty && RequestURL(url).map { unshared.contains($0.origin) } == true
    }

    private func made(
        _ pool: inout UnsafeMutablePointer<lh_pool>?, isShared: Bool, isMarked: Bool
    ) -> UnsafeMutablePointer<lh_pool>? {
        if pool == nil {
            pool = lh_pool_new(budget.pointer, isShared ? 1 : 0, isMarked ? 1 : 0)
        }
        return pool
    }

    /// Sockets of the yielding connections, idle ones included.
    var yieldingSockets: UnsafeMutableBufferPointer<lh_socket> {
        UnsafeMutableBufferPointer(
            start: yielding?.pointee.sockets, count: Int(yielding?.pointee.count ?? 0))
    }

    /// To be called when neither a handle nor the multi handle uses the pools any more.
    func close() {
        for pool in [yielding, apart, common] { lh_pool_free(pool) }
        yielding = nil
        apart = nil
        common = nil
    }
}

/// The origins whose connections stopped working without an error. Connections made before are not
/// reused: others of the same origin took the same route, and each would cost a stall timeout.
/// After a change of network or a sleep of the machine this applies to all origins.
struct StaleConnections {
    /// The moment of each origin's latest failure, in monotonic nanoseconds.
    private var origins: [Substring: Int64] = [:]
    private var all: Int64?
    private var asleep: Int64?

    mutating func mark(_ origin: Substring, now: Int64) {
        origins = origins.filter { now - $0.value <= Limits.idleConnectionNanoseconds }
        origins[origin] = now
    }

    mutating func markAll(now: Int64) { all = now }

    /// - Parameter asleep: the total time that the machine has slept since it was started.
    mutating func count(asleep: Int64, now: Int64) {
        if let before = self.asleep, asleep - before >= suspendNanoseconds {
            markAll(now: now)
        }
        self.asleep = asleep
    }

    /// The greatest age in nanoseconds of usable connections to this origin; `nil` = any age.
    func trustedFor(_ origin: Substring, now: Int64) -> Int64? {
        guard let since = [all, origins[origin]].compactMap(\.self).max() else { return nil }
        return now - since <= Limits.idleConnectionNanoseconds ? now - since : nil
    }
}
