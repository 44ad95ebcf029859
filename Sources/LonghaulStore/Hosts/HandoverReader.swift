package import LonghaulModel

/// Reads the content of a launch page by page, while other connections write.
package struct HandoverReader {
    package let session: String
    /// Transfers that wait for an answer, in order.
    package let needs: [(transfer: Transfer, isDelayed: Bool)]
    private let store: Store
    private let most: Int
    /// The last event before the needs were read. Later events are not handed over, so that each
    /// need whose event is handed over is among `needs`.
    private let bound: Int64
    private var first: Int64?
    private var last: Int64
    private var count = 0

    /// Hands over about `limit` events at most; the next launch gets the rest.
    ///
    /// - Parameter range: The events that a launch was handed; `nil` = all waiting ones.
    package init(
        _ store: Store, session: String, within range: ClosedRange<Int64>? = nil, limit: Int,
        now: Timestamp
    ) throws(LonghaulError) {
        self.store = store
        self.session = session
        most = limit
        if let range { bound = range.upperBound } else { bound = try store.events.last() }
        last = range.map { $0.lowerBound - 1 } ?? 0
        needs = try store.questions.inputNeeds(of: session, now: now)
    }

    /// The next events; none at the end.
    package mutating func next(page: Int, now: Timestamp) throws(LonghaulError) -> [LoggedEvent] {
        if count >= most { return [] }
        let events = try store.events.listWithTransfers(
            after: last, session: session, isWaiting: true, limit: page, now: now
        ).filter { $0.event.seq <= bound }
        guard let end = events.last?.event.seq else { return [] }
        first = first ?? events.first?.event.seq
        last = end
        count += events.count
        return events
    }

    /// The content that was read. `nil`: no event waits any more.
    package var handover: Handover? {
        guard let first else { return nil }
        return Handover(
            session: session, reason: needs.isEmpty ? .sessionEvents : .inputNeeded,
            events: first...last, count: count)
    }
}
