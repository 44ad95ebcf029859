/// Places that discretionary transfers leave free, so that a transfer that is asked for now
/// need not wait for them.
private let reservedTransfers = 2

package struct SchedulerLimits: Hashable, Codable, Sendable {
    package var running = Limits.runningTransfers
    /// Connections to one origin over HTTP/1.1, FTP and SFTP.
    package var perOrigin = Limits.connectionsPerOrigin
    /// Streams to one origin over HTTP/2.
    package var perHTTP2Origin = Limits.streamsPerOrigin
    /// Places that discretionary transfers leave to the others.
    package var reserved = reservedTransfers

    package init() {}

    package func connections(to origin: OriginState) -> Int {
        origin.speaksHTTP2 ? perHTTP2Origin : perOrigin
    }

    /// Places that origins which fail may have before others.
    package var runningFailing: Int { running / 4 }

    /// Places that discretionary transfers may have; if there are few places, none is reserved.
    var runningDiscretionary: Int { max(running - reserved, (running + 1) / 2) }
}

/// Treatment of transfers that cannot be resumed when the time of an engine is over: downloads
/// without a proof of the bytes held, and plain uploads. Both policies finish a POST that may not
/// be sent twice.
public enum UnresumablePolicy: String, Codable, Sendable, CaseIterable {
    /// Such transfers are stopped with all others. From then on they begin only where they are
    /// expected to end in the time that is left, or where the time is not bounded.
    case wait
    /// The engine stays until running transfers have ended; it begins nothing meanwhile.
    case finish
}

/// The time that an engine was given.
package struct TimeBox: Hashable, Sendable {
    package var length: Double
    package var left: Double
    package var unresumable: UnresumablePolicy

    package init(length: Double, left: Double, unresumable: UnresumablePolicy = .wait) {
        self.length = length
        self.left = left
        self.unresumable = unresumable
    }
}
