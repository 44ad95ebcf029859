package import LonghaulModel

/// The sessions and their settings, for clients.
package struct Sessions {
    let store: Store

    /// All sessions, by name.
    package func all() throws(LonghaulError) -> [StoredSession] {
        try store.snapshot { connection in
            try connection.values("SELECT name FROM session ORDER BY name")
                .compactMap { try SessionRows(connection).session($0) }
        }
    }

    package func find(_ name: String) throws(LonghaulError) -> StoredSession? {
        try store.snapshot { try SessionRows($0).session(name) }
    }

    /// Changes the settings of a session, durably; makes the session if it is missing. Transfers
    /// that are already enqueued keep their settings, except for the host.
    package func change(
        _ name: String, _ change: SessionChange, now: Timestamp
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let id = try SessionRows(connection).makeID(of: name, now: now)
            var settings = try SessionRows(connection).settings(of: id)
            change.apply(to: &settings)
            if case .some(.some(let host)) = change.host {
                guard let known = try HostRows(connection).find(host) else {
                    throw noSuchHost(host)
                }
                try known.checkIsNoJob()
            }
            try connection.run(
                """
                UPDATE session SET host = ?2, discretionary = ?3, launchEvents = ?4, \
                askBeforeStart = ?5, launchDelay = ?6, notify = ?7 WHERE id = ?1
                """, id, settings.host, settings.isDiscretionary, settings.launchEvents,
                settings.askBeforeStart, settings.launchDelay, settings.notifies)
        }
    }

    /// Deletes a session with its ended transfers and its events. Refused while a transfer has not
    /// ended, and while events wait unless these are to be discarded. Returns the part files that
    /// no transfer uses any more.
    package func remove(
        _ name: String, discardingEvents: Bool, now: Timestamp
    ) throws(LonghaulError) -> [OrphanedPart] {
        try store.write(.durable) { connection in
            guard let id = try SessionRows(connection).id(of: name),
                let session = try SessionRows(connection).session(name)
            else { throw noSuchSession(name) }
            let live: Int? = try connection.value(
                """
                SELECT coalesce(sum(n), 0) FROM tally WHERE sessionID = ?1 \
                AND (phase = 0 OR pending = 1)
                """, id)
            if let live, live > 0 {
                let what = live == 1 ? "transfer that has" : "transfers that have"
                throw LonghaulError(
                    .conflict,
                    "session \(name) has \(live) \(what) not ended; cancel what is left first")
            }
            if session.waitingEvents > 0, !discardingEvents {
                let what = session.waitingEvents == 1 ? "event" : "events"
                throw LonghaulError(
                    .conflict,
                    "session \(name) has \(session.waitingEvents) \(what) that nobody has"
                        + " acknowledged; acknowledge or discard what waits first")
            }
            let ids: [TransferID] = try connection.values(
                """
                SELECT id FROM transfer INDEXED BY transferEnded WHERE sessionID = ?1 \
                AND ended = 1
                """, id)
            let parts = try ids.flatMap { try TransferRows(connection).forget($0, now: now) }
            try connection.run("DELETE FROM event WHERE sessionID = ?1", id)
            try connection.run("DELETE FROM tally WHERE sessionID = ?1", id)
            try connection.run("DELETE FROM session WHERE id = ?1", id)
            return parts
        }
    }

    /// Transfers of a session and of a kind that have not ended, or whose end is not acknowledged,
    /// the oldest first.
    package func openTransfers(
        of name: String, _ kind: Transfer.Kind
    ) throws(LonghaulError) -> [TransferID] {
        try store.snapshot { connection in
            let live = try TransferScans(connection).streams(
                session: name, states: [.waiting, .running, .paused])
            var ids = Set(try TransferScans(connection).newest(of: live, below: .max, limit: .max))
            let ended = try connection.all(
                """
                SELECT e.transferID, e.type FROM event e INDEXED BY eventWaiting \
                JOIN transfer t ON t.id = e.transferID \
                WHERE e.sessionID = (SELECT id FROM session WHERE name = ?1) \
                AND e.acknowledgedAt IS NULL
                """, name
            ) { ($0[0] as TransferID, EventType(rawValue: $0[1])) }
            for (id, type) in ended where type.endsTransfer { ids.insert(id) }
            return try ids.sorted().filter { id in
                let isUpload: Bool? = try connection.value(
                    "SELECT source IS NOT NULL FROM transfer WHERE id = ?1", id)
                return (isUpload ?? false) == (kind == .upload)
            }
        }
    }
}

extension Store {
    /// The sessions and their settings.
    package var sessions: Sessions { Sessions(store: self) }
}
