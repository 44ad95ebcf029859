package import LonghaulCore

/// Reads what a launch is handed, page by page, while the engine and others go on writing.
package struct HandoverReader {
    package let session: String
    /// Transfers that wait for an answer, in order.
    package let needs: [(transfer: Transfer, isDelayed: Bool)]
    private let store: Store
    private let most: Int
    /// The last event that there was before it was asked who needs an answer: who is told of a need
    /// is asked about it.
    private let bound: Int64
    private var first: Int64?
    private var last: Int64 = 0
    private var count = 0

    /// At most so many events, about; the next launch gets the rest.
    package init(
        _ store: Store, session: String, limit: Int, now: Timestamp
    ) throws(LonghaulError) {
        self.store = store
        self.session = session
        most = limit
        bound = try store.lastEvent()
        needs = try store.inputNeeds(of: session, now: now)
    }

    /// The events that come next; none when that was all.
    package mutating func next(page: Int, now: Timestamp) throws(LonghaulError) -> [LoggedEvent] {
        if count >= most { return [] }
        let events = try store.loggedEvents(
            after: last, session: session, isWaiting: true, limit: page, now: now
        ).filter { $0.event.seq <= bound }
        guard let end = events.last?.event.seq else { return [] }
        first = first ?? events.first?.event.seq
        last = end
        count += events.count
        return events
    }

    /// What was read. `nil`: nothing waits any more.
    package var handover: Handover? {
        guard let first else { return nil }
        return Handover(
            session: session, reason: needs.isEmpty ? .sessionEvents : .inputNeeded,
            events: first...last, count: count)
    }
}
