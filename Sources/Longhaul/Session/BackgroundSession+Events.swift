internal import Foundation
public import LonghaulCore
internal import LonghaulStore

extension BackgroundSession {
    /// What has happened and was not acknowledged, then what happens, see ``SessionEvents``.
    ///
    /// Foreground transfers that somebody awaits are not among them: their result is told there.
    public var events: SessionEvents { SessionEvents(session: self) }

    /// The event was dealt with and need not be told again, to this process or another. Durable
    /// when this returns. Once more does no harm.
    public func acknowledge(_ event: SessionEvent) async throws(LonghaulError) {
        try checkOpen()
        let sequence = event.sequence
        try await desk.change { queue throws(LonghaulError) in
            try queue.store.acknowledge(event: sequence, now: queue.now)
        }
    }

    /// All events of the session up to this one were dealt with.
    public func acknowledge(through sequence: Int64) async throws(LonghaulError) {
        try checkOpen()
        let session = identifier
        try await desk.change { queue throws(LonghaulError) in
            try queue.store.acknowledge(session: session, through: sequence, now: queue.now)
        }
    }

    /// - Returns: `last`: the event up to which the log was read, `nil` when it holds no more.
    func readEvents(
        after cursor: Int64, limit: Int
    ) async throws(LonghaulError) -> (events: [SessionEvent], last: Int64?) {
        let (session, presence) = (identifier, presence)
        return try await desk.perform { books throws(LonghaulError) in
            let store = books.queue.store
            let page = try store.events(after: cursor, session: session, limit: limit)
            // On this thread a transfer ceases to be awaited, too: none is passed over by mistake.
            let waiting = page.filter { event in
                event.acknowledgedAt == nil
                    && !(event.transfer.map(presence.isAwaited) ?? false)
            }
            let transfers = try store.transfers(
                Array(Set(waiting.compactMap(\.transfer))), now: books.queue.now)
            let byID = Dictionary(uniqueKeysWithValues: transfers.map { ($0.id, $0) })
            let events = waiting.map { SessionEvent($0, $0.transfer.flatMap { byID[$0] }) }
            return (events, page.last?.seq)
        }
    }
}

extension SessionEvent {
    init(_ event: StoredEvent, _ transfer: Transfer?) {
        sequence = event.seq
        kind = Kind(rawValue: event.type.rawValue)
        date = Date(event.at)
        session = event.session
        self.transfer = transfer
        detail = event.detail
    }
}
