package import LonghaulModel

/// A bundle with its versions, from one consistent snapshot.
package struct StoredBundle: Sendable {
    /// What the engine does with it. Raw values are stored: never renumber.
    package enum Phase: Int, Sendable {
        case idle = 0
        /// The source is asked for its manifest.
        case checking = 1
        /// The files of ``target`` are fetched.
        case fetching = 2
    }

    package var id: Int64
    package var name: String
    package var source: BundleSource
    /// Absolute path.
    package var directory: String
    package var layout: BundleLayoutKind
    package var settings: BundleSettings
    package var phase: Phase
    /// The files are fetched after the check.
    package var isWanted: Bool
    package var isPaused: Bool
    /// The version whose files are all here; `nil` = none.
    package var ready: BundleVersion?
    /// The version that is, or would be, fetched; `nil` = none.
    package var target: BundleVersion?
    /// Name of the newest version of the source, and when it was first seen.
    package var latest: String?
    package var latestSeen: Timestamp?
    package var checkedAt: Timestamp?
    package var nextCheck: Timestamp?
    package var bytesFetched: Int64
    /// Why the last attempt failed.
    package var error: LonghaulError?

    package var session: String { .session(ofBundle: name) }

    package var state: BundleState {
        if isPaused { return .paused }
        switch phase {
        case .checking: return .checking
        case .fetching: return .fetching
        case .idle: break
        }
        guard let ready else { return error == nil ? .absent : .failed }
        return latest == nil || latest == ready.name ? .ready : .outdated
    }
}

/// The rows of `bundle` and `bundleVersion`.
struct BundleRows: ConnectionRows {
    let connection: Connection

    private enum Column: Int32, StoredColumn {
        case id, name, source, directory, layout, settings, phase, wanted, paused, ready, target
        case latest, latestSeen, checkedAt, nextCheck, bytesFetched, error
    }

    private enum VersionColumn: Int32, StoredColumn {
        case id, name, files, complete, failed, bytes, bytesComplete, passedOver, proved, signedBy
        case selection, readyAt, facts
    }

    private static let byName = "SELECT \(Column.list) FROM bundle WHERE name = ?1"
    private static let byID = "SELECT \(Column.list) FROM bundle WHERE id = ?1"
    private static let byVersion = "SELECT \(VersionColumn.list) FROM bundleVersion WHERE id = ?1"
    private static let versions = """
        SELECT \(VersionColumn.list) FROM bundleVersion WHERE bundle = ?1 ORDER BY id
        """

    func find(_ name: String) throws -> StoredBundle? {
        try connection.first(Self.byName, name, read: read)
    }

    /// - Parameter session: Of its transfers and events.
    func find(session: String) throws -> StoredBundle? {
        let prefix = String.session(ofBundle: "")
        return session.hasPrefix(prefix) ? try find(String(session.dropFirst(prefix.count))) : nil
    }

    func find(_ id: Int64) throws -> StoredBundle? {
        try connection.first(Self.byID, id, read: read)
    }

    func version(_ id: Int64?) throws -> BundleVersion? {
        guard let id else { return nil }
        return try connection.first(Self.byVersion, id, read: Self.version)
    }

    func versions(of bundle: Int64) throws -> [BundleVersion] {
        try connection.all(Self.versions, bundle, read: Self.version)
    }

    private static func version(_ row: StoredRow<VersionColumn>) -> BundleVersion {
        var version = BundleVersion(
            id: row[.id], name: row[.name], files: row.count(.files), bytes: row.count64(.bytes))
        version.complete = row.count(.complete)
        version.failed = row.count(.failed)
        version.bytesComplete = row.count64(.bytesComplete)
        version.passedOver = row.count(.passedOver)
        version.isProved = row[.proved]
        version.signedBy = row[.signedBy]
        version.selection = row[.selection]
        version.readyAt = row[.readyAt]
        version.facts = row[.facts]
        return version
    }

    private func read(_ row: StoredRow<Column>) throws -> StoredBundle {
        let name: String = row[.name]
        guard let source: BundleSource = row.json(.source),
            let settings: BundleSettings = row.json(.settings),
            let layout: BundleLayoutKind = row.known(.layout)
        else {
            throw LonghaulError(
                .internal,
                "the record of bundle \(name) cannot be read: it is damaged, or a later version "
                    + "has written it; `longhaul bundle remove \(name)` forgets it")
        }
        return StoredBundle(
            id: row[.id], name: name, source: source, directory: row[.directory], layout: layout,
            settings: settings, phase: row.known(.phase) ?? .idle, isWanted: row[.wanted],
            isPaused: row[.paused], ready: try version(row[.ready]),
            target: try version(row[.target]), latest: row[.latest], latestSeen: row[.latestSeen],
            checkedAt: row[.checkedAt], nextCheck: row[.nextCheck],
            bytesFetched: row.count64(.bytesFetched), error: row.json(.error))
    }

    func required(_ name: String) throws -> StoredBundle {
        guard let bundle = try find(name) else { throw noSuchBundle(name) }
        return bundle
    }

    /// Removes a version with its files' rows.
    func drop(version: Int64) throws {
        try connection.run("DELETE FROM bundleFile WHERE version = ?1", version)
        try connection.run("DELETE FROM bundleHold WHERE version = ?1", version)
        try connection.run("DELETE FROM bundleVersion WHERE id = ?1", version)
    }

    /// Adds an event of the bundle's session.
    func append(
        _ type: EventType, of name: String, detail: String, now: Timestamp
    ) throws {
        let session = try SessionRows(connection).makeID(of: .session(ofBundle: name), now: now)
        try connection.run(
            "INSERT INTO event (at, sessionID, type, detail) VALUES (?1, ?2, ?3, ?4)", now, session,
            type.rawValue, detail)
    }
}

func noSuchBundle(_ name: String) -> LonghaulError {
    LonghaulError(
        .noSuchBundle, "there is no bundle \(name); `longhaul bundle list` shows all")
}
