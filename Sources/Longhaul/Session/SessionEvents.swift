/// The events of a session: from the first that nobody has acknowledged, in order, then live,
/// without an end. Each iteration begins at the first that is not acknowledged by then.
///
/// Holds a page of events in memory, however many there are; nothing is looked up that nobody asks
/// for. A cancelled task makes it throw `CancellationError`, an invalidated session a
/// `LonghaulError`.
public struct SessionEvents: AsyncSequence, Sendable {
    public typealias Element = SessionEvent

    let session: BackgroundSession

    public func makeAsyncIterator() -> Iterator {
        Iterator(session: session)
    }

    public struct Iterator: AsyncIteratorProtocol {
        private let session: BackgroundSession
        private var cursor: Int64 = 0
        private var page: ArraySlice<SessionEvent> = []

        private static let pageSize = 128

        init(session: BackgroundSession) {
            self.session = session
        }

        public mutating func next() async throws -> SessionEvent? {
            while true {
                try Task.checkCancellation()
                try session.checkOpen()
                if let event = page.popFirst() { return event }
                let edition = session.desk.edition
                let read = try await session.readEvents(after: cursor, limit: Iterator.pageSize)
                cursor = read.last ?? cursor
                page = read.events[...]
                // What was read may all have been for others.
                if read.last == nil { try await session.desk.changed(since: edition) }
            }
        }
    }
}
