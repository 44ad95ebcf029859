internal import CLonghaul
internal import LonghaulCore

/// Connections by what they are for. Requests that somebody waits for and requests that stand back
/// never share one: window, mark and gate belong to a connection, and over HTTP/2 a stream that
/// somebody waits for would be held back with the others.
///
/// libcurl keeps idle connections per multi handle, or per share handle where one is given: each
/// kind here has a share handle, on the one multi handle.
final class ConnectionPools {
    private var yielding: UnsafeMutablePointer<lh_pool>?
    private var background: UnsafeMutablePointer<lh_pool>?
    private var apart: UnsafeMutablePointer<lh_pool>?
    private var backgroundApart: UnsafeMutablePointer<lh_pool>?
    /// To which a request is on a connection of HTTP/1.1 in a pool for sharing; one each: see
    /// ``EasyHandle/admits()``.
    var unshared: Set<RequestURL.Origin> = []

    /// `nil` = the multi handle's own. Where no pool is to be had for want of memory, the request
    /// is one among the others.
    ///
    /// - Parameter isApart: It shares no connection, where others may: see ``EasyHandle/admits()``.
    ///   In the pools apart every request has HTTP/1.1 or a new connection.
    func pool(for request: SegmentRequest, isApart: Bool) -> UnsafeMutablePointer<lh_pool>? {
        if request.yields { return made(&yielding) }
        switch (request.isBackground, isApart) {
        case (false, false): return nil
        case (false, true): return made(&apart)
        case (true, false): return made(&background)
        case (true, true): return made(&backgroundApart)
        }
    }

    func isUnshared(_ url: String) -> Bool {
        !unshared.isEmpty && RequestURL(url).map { unshared.contains($0.origin) } == true
    }

    private func made(
        _ pool: inout UnsafeMutablePointer<lh_pool>?
    ) -> UnsafeMutablePointer<lh_pool>? {
        if pool == nil { pool = lh_pool_new() }
        return pool
    }

    /// Sockets of the connections that yield, idle ones too.
    var yieldingSockets: UnsafeMutableBufferPointer<lh_socket> {
        UnsafeMutableBufferPointer(
            start: yielding?.pointee.sockets, count: Int(yielding?.pointee.count ?? 0))
    }

    /// When no handle uses them any more.
    func close() {
        for pool in [yielding, background, apart, backgroundApart] { lh_pool_free(pool) }
        yielding = nil
        background = nil
        apart = nil
        backgroundApart = nil
    }
}
