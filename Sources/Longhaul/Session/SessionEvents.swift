/// Events of a session that are held in memory.
private let sessionEventsPerRead = 128

/// The events of a session: from the first that is not acknowledged, in order, then live,
/// without an end. Each iteration begins at the first that is not acknowledged by then.
///
/// Holds a page of events in memory, however many there are; nothing is read ahead of the
/// iteration. A cancelled task makes it throw `CancellationError`, an invalidated session a
/// `LonghaulError`.
public struct SessionEvents: AsyncSequence, Sendable {
    /// The element: an event.
    public typealias Element = SessionEvent

    let session: BackgroundSession

    /// Begins at the first unacknowledged event.
    public func makeAsyncIterator() -> Iterator {
        Iterator(session: session)
    }

    /// Reads the log page by page.
    public struct Iterator: AsyncIteratorProtocol {
        private let session: BackgroundSession
        private var cursor: Int64 = 0
        private var page: ArraySlice<SessionEvent> = []

        init(session: BackgroundSession) {
            self.session = session
        }

        /// The next event; waits for one. Never `nil`.
        ///
        /// - Throws: `CancellationError`; ``LonghaulModel/LonghaulError`` `sessionInvalidated`, or
        ///    `storeUnavailable` when the log cannot be read.
        public mutating func next() async throws -> SessionEvent? {
            while true {
                try Task.checkCancellation()
                try session.executor.checkOpen()
                if let event = page.popFirst() { return event }
                let edition = session.executor.edition
                let read = try await session.readEvents(
                    after: cursor, limit: sessionEventsPerRead)
                cursor = read.last ?? cursor
                page = read.events[...]
                // All events read may have been for other sessions.
                if read.last == nil { try await session.executor.changed(since: edition) }
            }
        }
    }
}
