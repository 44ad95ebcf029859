public import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

extension TransferQueue {
    /// The event log in order: what comes after `sequence` (0 = from the first), of one session or
    /// of all, with the present record of each event's transfer. With `waitingOnly` only
    /// unacknowledged ones.
    ///
    /// After a full page there may be more: read on from its last event. Later commits always have
    /// larger numbers, so that reading from a cursor misses no event.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func events(
        after sequence: Int64 = 0, session: String? = nil, waitingOnly: Bool = false,
        limit: Int = 500
    ) throws(LonghaulError) -> [EventRecord] {
        try store.events.listWithTransfers(
            after: sequence, session: session, isWaiting: waitingOnly, limit: limit, now: now
        ).map { EventRecord($0.event, transfer: $0.transfer) }
    }

    /// The number of the last event; 0 = there was none yet.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func lastEventSequence() throws(LonghaulError) -> Int64 {
        try store.events.last()
    }

    /// Says, durably, that all events up to `sequence` were dealt with: of one session, or of all.
    /// Returns how many of them still waited. Once acknowledged, an event is not handed over any
    /// more, and is forgotten after a week or with its transfer.
    ///
    /// - Throws: `LonghaulError` `noSuchSession`; `storeUnavailable`; `invalidRequest` for a number
    ///   that no event has had yet. Then nothing is acknowledged.
    @discardableResult
    public func acknowledge(
        through sequence: Int64, session: String? = nil
    ) throws(LonghaulError) -> Int {
        let count = try store.events.acknowledge(through: sequence, session: session, now: now)
        WakeChannel.poke(directory)
        return count
    }

    /// The same for single events, in any order.
    ///
    /// - Throws: `LonghaulError` `noSuchEvent`, `storeUnavailable`. Then nothing is acknowledged.
    public func acknowledge(events sequences: [Int64]) throws(LonghaulError) {
        _ = try store.events.acknowledge(sequences, now: now)
        WakeChannel.poke(directory)
    }

    /// Tells when any process has changed the store, without polling.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; `io` when no descriptor is left.
    public func changes() throws(LonghaulError) -> ChangeWatch {
        try ChangeWatch(directory: directory)
    }

    /// Reads the log from a cursor on, and follows as it grows.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; `io` when no descriptor is left.
    public func followEvents(
        after sequence: Int64 = 0, session: String? = nil, waitingOnly: Bool = false
    ) throws(LonghaulError) -> EventFollower {
        EventFollower(
            self, changes: try changes(), after: sequence, session: session,
            waitingOnly: waitingOnly)
    }
}

extension EventRecord {
    init(_ event: StoredEvent, transfer: Transfer? = nil) {
        self.init(
            sequence: event.seq, at: event.at, session: event.session, type: event.type.rawValue,
            transferID: event.transfer,
            detail: event.detail.map { EventDetail.redacted($0, event.type) },
            acknowledgedAt: event.acknowledgedAt, transfer: transfer,
            path: transfer?.path ?? event.path)
    }
}

/// The part of an event's stored detail that is shown.
enum EventDetail {
    /// An error's text may quote a URL with its secrets.
    static func redacted(_ detail: String, _ type: EventType) -> String {
        var json = JSONText()
        if type == .transferFailed {
            guard let error = StoredJSON.decode(LonghaulError.self, detail) else { return detail }
            json.value(error)
        } else if type == .transferNeedsInput {
            guard let need = StoredJSON.decode(InputDetail.self, detail) else { return detail }
            json.object {
                $0.field("reason", need.reason.rawValue)
                $0.field("error", need.error)
            }
        } else {
            return detail
        }
        return json.text
    }
}
