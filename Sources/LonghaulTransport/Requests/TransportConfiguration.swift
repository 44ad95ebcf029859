internal import CLonghaul
package import LonghaulModel

/// The bounds of one ``Transport``, with every limit on a server's effects.
package struct TransportConfiguration: Sendable {
    /// Sent as User-Agent where the request's fields have none.
    package var userAgent = "longhaul/\(LonghaulVersion.current)"
    /// Connections to one origin (scheme, host, port), of all transports with one budget.
    package var maxConnectionsPerHost = Limits.connectionsPerOrigin
    /// The transport serves discretionary requests: its thread has a low priority, and its
    /// connections are marked.
    package var isBackground = false
    /// Connections open at one time, to all origins together, of all transports with one budget.
    package var maxTotalConnections = 64
    /// Streams over one HTTP/2 connection, and so requests at one time to an origin that speaks it.
    package var maxConcurrentStreams = Limits.streamsPerOrigin
    /// Requests running at one time; further ones wait in order.
    package var maxActiveRequests = 64
    /// Idle connections kept for reuse.
    package var maxIdleConnections = 32
    /// Bytes that libcurl reads from a connection at once.
    package var bufferSize = 524_288
    /// Bytes of one head: all fields of the latest answer together. libcurl itself bounds a line to
    /// 100 KiB.
    package var maxHeadBytes = Limits.headerBytes
    /// Redirects followed for one request.
    package var maxRedirects = Limits.redirects
    /// The file with the host keys that SFTP accepts; `nil` = `~/.ssh/known_hosts`.
    package var knownHostsFile: String?

    /// Every bound at its default.
    package init() {}

    package mutating func setLimitsPerOrigin(_ limits: SchedulerLimits) {
        maxConnectionsPerHost = limits.perOrigin
        maxConcurrentStreams = limits.perHTTP2Origin
    }

    /// No more than these together, in use or kept.
    package mutating func bound(connections: Int) {
        maxTotalConnections = min(maxTotalConnections, connections)
        maxIdleConnections = min(maxIdleConnections, connections)
    }
}

/// Budget that the transports of an engine share: open connections and the rate.
package final class TransportBudget: @unchecked Sendable {
    /// May be used on any thread, see budget_shim.h.
    let pointer: OpaquePointer

    package init() {
        guard let pointer = lh_budget_new() else { preconditionFailure("no memory at all") }
        self.pointer = pointer
    }

    deinit {
        lh_budget_free(pointer)
    }

    /// Bytes per second; 0 = unlimited.
    var rate: Int64 { lh_budget_rate(pointer) }

    func setRate(_ rate: Int64, now: Int64) { lh_budget_set_rate(pointer, rate, now) }

    func fill(now: Int64) { lh_budget_fill(pointer, now) }

    /// Nanoseconds until there are enough bytes to resume a paused request.
    var wait: Int64 { lh_budget_wait(pointer) }

    /// Bounds the connections to one origin, and to all together.
    func bound(perOrigin: Int, inAll: Int) {
        lh_budget_bound(pointer, max(1, perOrigin), max(1, inAll))
    }
}
