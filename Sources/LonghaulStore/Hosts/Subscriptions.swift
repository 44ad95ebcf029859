package import LonghaulModel

/// Streams that a host may have.
private let subscriptionsPerHost = 8
/// Wake-ups of different identifiers that wait for a host: a stream may have any number.
private let waitingPerHost = 100

private enum Column: Int32, StoredColumn {
    case id, host, url, headersFrom, urgent, lastID, connectedAt, failures, retryAt, error

    static let select = "SELECT \(list) FROM subscription"

    static func read(_ row: StoredRow<Column>) -> PushSubscription {
        var subscription = PushSubscription(
            id: row[.id], host: row[.host], url: row[.url], headersFrom: row[.headersFrom],
            isUrgent: row[.urgent])
        subscription.lastID = row[.lastID]
        subscription.connectedAt = row[.connectedAt]
        subscription.failures = row.count(.failures)
        subscription.retryAt = row[.retryAt]
        subscription.error = row.json(.error)
        return subscription
    }
}

/// Streams whose events wake hosts. Clients write which there are, the process of the engine how
/// each does.
package struct Subscriptions {
    let store: Store

    /// Records a subscription, durably. One of the same URL is replaced and keeps its place.
    ///
    /// - Throws: `noSuchHost`; `conflict` for a job, and beyond the number that a host may have.
    package func add(_ new: PushSubscription) throws(LonghaulError) {
        try store.write(.durable) { connection in
            guard let host = try HostRows(connection).find(new.host) else {
                throw noSuchHost(new.host)
            }
            try host.checkIsNoJob()
            let known = try all(of: new.host, connection)
            let before = known.first { $0.url == new.url }
            if before == nil, known.count >= subscriptionsPerHost {
                throw LonghaulError(
                    .conflict,
                    "the host \(new.host) has \(subscriptionsPerHost) subscriptions, and no more"
                        + " may be added; `host unsubscribe` removes one")
            }
            if let before { try remove(before.id, connection) }
            try connection.run(
                """
                INSERT INTO subscription (host, url, headersFrom, urgent, lastID) \
                VALUES (?1, ?2, ?3, ?4, ?5)
                """, new.host, new.url, new.headersFrom, new.isUrgent, before?.lastID)
        }
    }

    /// Removes subscriptions, durably, and returns their number.
    ///
    /// - Parameter url: `nil` = all of the host.
    package func remove(of host: String, url: String?) throws(LonghaulError) -> Int {
        try store.write(.durable) { connection in
            if try HostRows(connection).find(host) == nil { throw noSuchHost(host) }
            try connection.run(
                "DELETE FROM subscription WHERE host = ?1 AND (?2 IS NULL OR url = ?2)", host, url)
            return connection.changes
        }
    }

    /// - Parameter host: `nil` = of all hosts.
    package func all(of host: String? = nil) throws(LonghaulError) -> [PushSubscription] {
        try store.access { try all(of: host, $0) }
    }

    private func all(of host: String?, _ connection: Connection) throws -> [PushSubscription] {
        try connection.all(
            Column.select + " WHERE (?1 IS NULL OR host = ?1) ORDER BY id", host, read: Column.read)
    }

    private func remove(_ id: PushSubscription.ID, _ connection: Connection) throws {
        try connection.run("DELETE FROM subscription WHERE id = ?1", id)
    }

    // MARK: - The engine's process

    package func isEmpty() throws(LonghaulError) -> Bool {
        try store.access { try $0.value("SELECT NOT EXISTS (SELECT 1 FROM subscription)") } ?? true
    }

    /// Connections of an engine before are gone.
    package func forgetConnections() throws(LonghaulError) {
        try store.write(.relaxed) {
            try $0.run(
                "UPDATE subscription SET connectedAt = NULL WHERE connectedAt IS NOT NULL")
        }
    }

    package func connected(_ id: PushSubscription.ID, now: Timestamp) throws(LonghaulError) {
        try store.write(.relaxed) {
            try $0.run(
                """
                UPDATE subscription SET connectedAt = ?2, retryAt = NULL, error = NULL WHERE id = ?1
                """, id, now)
        }
    }

    package func ended(
        _ id: PushSubscription.ID, failures: Int, retryAt: Timestamp?, error: LonghaulError?
    ) throws(LonghaulError) {
        try store.write(.relaxed) {
            try $0.run(
                """
                UPDATE subscription SET connectedAt = NULL, failures = ?2, retryAt = ?3, \
                error = ?4 WHERE id = ?1
                """, id, failures, retryAt, error.map { StoredJSON.encode($0) })
        }
    }

    /// Records wake-ups and the place after them in one transaction, durably: a crash before it has
    /// the server repeat them, and none after it does. `false` = the subscription was removed.
    @discardableResult package func receive(
        _ wakeUps: [WakeUp], lastID: String?, by id: PushSubscription.ID, now: Timestamp
    ) throws(LonghaulError) -> Bool {
        try store.write(.durable) { connection in
            let known = try connection.first(
                Column.select + " WHERE id = ?1", id, read: Column.read)
            guard let host = known?.host else { return false }
            let rows = TaskRows(connection)
            for wakeUp in wakeUps {
                var wakeUp = wakeUp
                if try isFull(host, wakeUp.identifier ?? "", connection) {
                    wakeUp = WakeUp(isUrgent: wakeUp.isUrgent)
                }
                try rows.wake(host, wakeUp, now: now)
            }
            try connection.run(
                "UPDATE subscription SET lastID = ifnull(?2, lastID), failures = 0 WHERE id = ?1",
                id, lastID)
            return true
        }
    }

    /// Too many wait to have another one of this identifier.
    private func isFull(
        _ host: String, _ identifier: String, _ connection: Connection
    ) throws -> Bool {
        try connection.value(
            """
            SELECT count(*) >= ?3 FROM task WHERE host = ?1 AND kind = 2 AND launch IS NULL \
            AND NOT EXISTS (SELECT 1 FROM task WHERE host = ?1 AND kind = 2 AND launch IS NULL \
            AND identifier = ?2)
            """, host, identifier, waitingPerHost) ?? false
    }
}

extension Store {
    /// Streams whose events wake hosts.
    package var subscriptions: Subscriptions { Subscriptions(store: self) }
}
