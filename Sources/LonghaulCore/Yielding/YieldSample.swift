/// What the kernel tells of one connection that is to yield, read at one tick.
package struct YieldSample: Hashable, Sendable {
    /// Names the connection for as long as it lives.
    package var connection: UInt64
    /// Round trip as the receiver sees it (`tcpi_rcv_rtt`), seconds; `nil` = the kernel has none.
    package var roundTrip: Double?
    /// Bytes ever received over it.
    package var bytes: UInt64
    /// Packets that ever came out of order: behind a lost one.
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

/// What one connection is to do until the next tick.
package struct YieldOrder: Hashable, Sendable {
    package var connection: UInt64
    /// Bytes that the sender may have under way.
    package var window: Int
    /// Bytes per second at which it may be read; `nil` = as they come.
    package var rate: Int64?
    /// Somebody else has the line: no more is taken in than is read.
    package var isGated: Bool

    package init(connection: UInt64, window: Int, rate: Int64? = nil, isGated: Bool = false) {
        self.connection = connection
        self.window = window
        self.rate = rate
        self.isGated = isGated
    }
}
