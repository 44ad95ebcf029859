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

    /// `nil` = the multi handle's own. Where no pool is to be had for want of memory, the request
    /// is one among the others.
    func pool(for request: SegmentRequest) -> UnsafeMutablePointer<lh_pool>? {
        if request.yields {
            if yielding == nil { yielding = lh_pool_new() }
            return yielding
        }
        guard request.isBackground else { return nil }
        if background == nil { background = lh_pool_new() }
        return background
    }

    /// Sockets of the connections that yield, idle ones too.
    var yieldingSockets: UnsafeMutableBufferPointer<lh_socket> {
        UnsafeMutableBufferPointer(
            start: yielding?.pointee.sockets, count: Int(yielding?.pointee.count ?? 0))
    }

    /// When no handle uses them any more.
    func close() {
        lh_pool_free(yielding)
        lh_pool_free(background)
        yielding = nil
        background = nil
    }
}
