internal import FoundationEssentials
public import LonghaulCore
internal import LonghaulStore

extension BackgroundSession {
    /// Unacknowledged events, then new ones as they happen, see ``SessionEvents``.
    ///
    /// Foreground transfers that a task awaits are not among them: the task gets their result.
    public var events: SessionEvents { SessionEvents(session: self) }

    /// Marks the event as handled: it is not delivered again, to this process or another. Durable
    /// when this returns. Once more does no harm.
    ///
    /// - Throws: `LonghaulError` `sessionInvalidated`, `storeUnavailable`.
    public func acknowledge(_ event: SessionEvent) async throws(LonghaulError) {
        let sequence = event.sequence
        try await executor.change { queue throws(LonghaulError) in
            try queue.store.events.acknowledge(event: sequence, now: queue.now)
        }
    }

    /// Marks all events of the session up to this one as handled.
    ///
    /// - Parameter sequence: The ``SessionEvent/sequence`` of the last one; `.max` = all.
    /// - Throws: `LonghaulError` `sessionInvalidated`, `storeUnavailable`; `invalidRequest` for
    ///   another number that no event has had yet.
    public func acknowledge(through sequence: Int64) async throws(LonghaulError) {
        let session = identifier
        try await executor.change { queue throws(LonghaulError) in
            _ = try queue.store.events.acknowledge(
                through: sequence, session: session, now: queue.now)
        }
    }

    /// - Returns: `last`: the event up to which the log was read, `nil` when it holds no more.
    func readEvents(
        after cursor: Int64, limit: Int
    ) async throws(LonghaulError) -> (events: [SessionEvent], last: Int64?) {
        let (session, sharedStore) = (identifier, sharedStore)
        return try await executor.perform { context throws(LonghaulError) in
            let page = try context.queue.store.events.listWithTransfers(
                after: cursor, session: session, isWaiting: true, limit: limit,
                now: context.queue.now)
            // On this thread a transfer ceases to be awaited, too: none is passed over by mistake.
            let events = page.filter { logged in
                !(logged.event.transfer.map(sharedStore.isAwaited) ?? false)
            }.map { SessionEvent($0.event, $0.transfer) }
            return (events, page.last?.event.seq)
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
