public import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// A session as people see it.
public struct SessionRecord: Sendable {
    /// The identifier of the session; commands take it after `--session`.
    public var name: String
    /// When it was made.
    public var createdAt: Timestamp
    /// The settings that hold for all its transfers.
    public var settings: SessionSettings
    /// Number of transfers in each state; a state without transfers is missing.
    public var counts: [TransferState: Int]
    /// Events that are not acknowledged.
    public var waitingEvents: Int
    /// The last event before which none waits; 0 = none in the log is acknowledged.
    public var acknowledgedThrough: Int64
    /// The launch whose success acknowledged that event; `nil` = it was acknowledged by its number,
    /// or none is.
    public var acknowledgingLaunch: Int64?
}

extension TransferQueue {
    /// All sessions, by name.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func sessions() throws(LonghaulError) -> [SessionRecord] {
        try store.sessions.all().map { SessionRecord($0) }
    }

    /// Finds a session by its name; `nil` if unknown.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func session(_ name: String) throws(LonghaulError) -> SessionRecord? {
        try store.sessions.find(name).map { SessionRecord($0) }
    }

    /// Changes the settings of a session; creates the session if missing. Transfers enqueued
    /// earlier keep their settings; the host applies to all of them and to waiting events.
    ///
    /// - Throws: `LonghaulError` `noSuchHost`, `storeUnavailable`; `invalidRequest` for an empty
    ///   name and for a negative launch delay.
    public func change(session name: String, _ change: SessionChange) throws(LonghaulError) {
        if name.isEmpty { throw LonghaulError(.invalidRequest, "a session has a name") }
        if case .some(.some(let delay)) = change.launchDelay, !(delay >= 0) || !delay.isFinite {
            throw LonghaulError(.invalidRequest, "a launch delay is not negative")
        }
        try store.sessions.change(name, change, now: now)
        WakeChannel.poke(directory)
    }

    /// Forgets a session, its ended transfers and its acknowledged events, never a completed file.
    ///
    /// - Throws: `LonghaulError` `noSuchSession`, `storeUnavailable`; `conflict` while a transfer
    ///   has not ended, and while events wait that are not to be discarded.
    public func remove(
        session name: String, discardingEvents: Bool = false
    ) throws(LonghaulError) {
        let parts = try store.sessions.remove(
            name, discardingEvents: discardingEvents, now: now)
        try? store.wants.forget(parts.filter { PartFile.discard($0) })
    }
}

extension SessionRecord {
    fileprivate init(_ session: StoredSession) {
        self.init(
            name: session.name, createdAt: session.created, settings: session.settings,
            counts: session.counts, waitingEvents: session.waitingEvents,
            acknowledgedThrough: session.acknowledgedThrough,
            acknowledgingLaunch: session.acknowledgingLaunch)
    }
}
