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

/// Where the yielding connections stand, for people to see.
package struct YieldReport: Hashable, Sendable {
    /// The numbers are stored where other processes read them.
    package enum State: UInt8, Sendable, CaseIterable {
        /// The line is ours as far as can be seen.
        case open = 1
        /// Somebody else uses the line; only a trickle is taken.
        case yielded = 2
        /// Trying whether the line is free again.
        case probing = 3
        /// Holding back for a moment, to see the path's delay without a queue.
        case measuring = 4
        /// No round trips are to be had: a share of the rate is taken.
        case sharing = 5
    }

    package var state: State
    /// Seconds that bytes wait in queues on the way; `nil` = not known.
    package var queueingDelay: Double?
    /// Bytes that all senders together may have under way.
    package var window: Int
    /// Bytes per second of all of them.
    package var rate: Double
    /// That rate against the best of late, 0 … 1.
    package var share: Double
}
