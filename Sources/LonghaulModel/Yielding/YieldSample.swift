/// The kernel's facts about one connection that is to yield, read at one tick.
package struct YieldSample: Hashable, Sendable {
    /// Names the connection for as long as it lives.
    package var connection: UInt64
    /// Seconds; `nil` = the kernel has none. Of a body that comes as the receiver sees it
    /// (`tcpi_rcv_rtt`), of one that goes as the sender does (`tcpi_rtt`).
    package var roundTrip: Double?
    /// Bytes that ever came over it, or were ever acknowledged.
    package var bytes: UInt64
    /// Packets that ever came out of order, behind a lost one; or were ever sent again.
    package var outOfOrder: UInt32
    /// Bytes of one full packet.
    package var segment: Int

    package init(
        connection: UInt64, roundTrip: Double?, bytes: UInt64, outOfOrder: UInt32 = 0,
        segment: Int = 1448
    ) {
        self.connection = connection
        self.roundTrip = roundTrip
        self.bytes = bytes
        self.outOfOrder = outOfOrder
        self.segment = segment
    }
}

/// The order for one connection until the next tick.
package struct YieldOrder: Hashable, Sendable {
    package var connection: UInt64
    /// Bytes that the sender may have under way.
    package var window: Int
    /// Bytes per second at which bodies may be read or sent; `nil` = as they come.
    package var rate: Int64?
    /// Other traffic has the line: no more is taken in than is read.
    package var isGated: Bool

    package init(connection: UInt64, window: Int, rate: Int64? = nil, isGated: Bool = false) {
        self.connection = connection
        self.window = window
        self.rate = rate
        self.isGated = isGated
    }
}

/// The least or the greatest of the values of late: of a sliding stretch of time, in parts, so that
/// a few numbers stand for many.
struct RecentExtreme: Hashable, Sendable {
    private let isLeast: Bool
    private let partSeconds: Double
    private let partsMax: Int
    private var parts: [Double] = []
    private var begun: Double?

    init(least: Bool, seconds: Double, parts: Int) {
        isLeast = least
        partSeconds = seconds / Double(parts)
        partsMax = parts
    }

    var value: Double? { isLeast ? parts.min() : parts.max() }

    /// - Parameter time: seconds on a clock of the caller's choice that never goes back.
    mutating func record(_ value: Double, at time: Double) {
        if let begun, time - begun < partSeconds, let last = parts.indices.last {
            parts[last] = isLeast ? min(parts[last], value) : max(parts[last], value)
            return
        }
        begun = time
        parts.append(value)
        if parts.count > partsMax { parts.removeFirst() }
    }

    /// Forgets all but this.
    mutating func restart(_ value: Double, at time: Double) {
        parts = [value]
        begun = time
    }
}
