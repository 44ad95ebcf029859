package import LonghaulModel

/// A watched folder, from one consistent snapshot.
package struct StoredFolder: Sendable {
    package var id: Int64
    package var name: String
    package var settings: FolderSettings
    package var isPaused: Bool
    /// Scans that were asked for, and those that are done.
    package var scansAsked: Int64
    package var scansDone: Int64
    /// Transfers of the session up to this one were recorded for other settings.
    package var since: TransferID
    package var findings: FolderFindings

    package var session: String { .session(ofFolder: name) }

    package var state: FolderState {
        if isPaused { return .paused }
        if findings.error != nil { return .failed }
        return scansAsked > scansDone ? .scanning : .watching
    }
}

/// The watched folders. Clients write what is wanted, the process of the engine what it finds.
package struct WatchedFolders {
    let store: Store

    // MARK: - For clients

    /// Records a folder, durably; one of the same name gets the settings.
    ///
    /// - Returns: The settings that it had.
    /// - Throws: `noSuchHost`; `conflict` where its session belongs to another host.
    package func add(
        _ name: String, _ settings: FolderSettings, host: String?, now: Timestamp
    ) throws(LonghaulError) -> FolderSettings? {
        try store.write(.durable) { connection in
            let known = try FolderRows(connection).find(name)
            let last: Int64 = try connection.value("SELECT max(id) FROM transfer") ?? 0
            let keeps = known?.settings.sendsSame(as: settings) == true
            try connection.run(
                """
                INSERT INTO folder (name, settings, since, findings) VALUES (?1, ?2, ?3, ?4) \
                ON CONFLICT (name) DO UPDATE SET settings = ?2, since = iif(?5, since, ?3), \
                paused = 0, scansAsked = scansAsked + 1, findings = ?4
                """, name, StoredJSON.encode(settings), last,
                StoredJSON.encode(FolderFindings()), keeps)
            let session = try SessionRows(connection).makeID(of: .session(ofFolder: name), now: now)
            if let host { try SessionRows(connection).bind(session, to: host) }
            try connection.run(
                "UPDATE session SET notify = ?2 WHERE id = ?1", session,
                settings.common.options.notifies)
            return known?.settings
        }
    }

    /// All folders, by name.
    package func all() throws(LonghaulError) -> [StoredFolder] {
        try store.access { try FolderRows($0).all() }
    }

    /// - Throws: `noSuchFolder`.
    package func find(_ name: String) throws(LonghaulError) -> StoredFolder {
        try store.access { try FolderRows($0).required(name) }
    }

    /// Asks for a scan.
    ///
    /// - Throws: `noSuchFolder`.
    package func scan(_ name: String) throws(LonghaulError) {
        try change(name, "scansAsked = scansAsked + 1")
    }

    /// A folder that is resumed is scanned.
    ///
    /// - Throws: `noSuchFolder`.
    package func setPaused(_ name: String, _ isPaused: Bool) throws(LonghaulError) {
        try change(name, isPaused ? "paused = 1" : "paused = 0, scansAsked = scansAsked + 1")
    }

    /// - Throws: `noSuchFolder`.
    package func remove(_ name: String) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let folder = try FolderRows(connection).required(name)
            try connection.run("DELETE FROM folder WHERE id = ?1", folder.id)
        }
    }

    private func change(_ name: String, _ assignments: String) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let folder = try FolderRows(connection).required(name)
            try connection.run("UPDATE folder SET \(assignments) WHERE id = ?1", folder.id)
        }
    }

    // MARK: - For the process of the engine

    /// True if there is no folder.
    package func isEmpty() throws(LonghaulError) -> Bool {
        try store.access { try $0.value("SELECT 1 FROM folder LIMIT 1") as Bool? == nil }
    }

    /// An engine begins: it does not know what came while none ran.
    package func askForScans() throws(LonghaulError) {
        if try isEmpty() { return }
        try store.write(.relaxed) {
            try $0.run("UPDATE folder SET scansAsked = scansAsked + 1 WHERE paused = 0")
        }
    }

    /// True of a folder that is watched.
    package func isAnyWatched() throws(LonghaulError) -> Bool {
        try store.access { try $0.value("SELECT 1 FROM folder WHERE paused = 0 LIMIT 1") ?? false }
    }

    /// True of a folder that has yet to be scanned, or has files which wait for this process.
    package func isAnyDue() throws(LonghaulError) -> Bool {
        if try isEmpty() { return false }
        return try all().contains { folder in
            // What is known of a folder that has failed may be old.
            let isToScan = folder.scansAsked > folder.scansDone
            let hasFiles = folder.findings.error == nil && folder.findings.pending > 0
            return !folder.isPaused && (isToScan || hasFiles)
        }
    }

    /// - Parameter scansDone: Those that a scan has done which has ended.
    package func record(
        _ findings: FolderFindings, scansDone: Int64, of folder: StoredFolder
    ) throws(LonghaulError) {
        try store.write(.relaxed) { connection in
            // After an `add` that has come meanwhile the next scan replaces the findings.
            try connection.run(
                """
                UPDATE folder SET findings = ?2, scansDone = max(scansDone, ?3) WHERE id = ?1
                """, folder.id, StoredJSON.encode(findings), scansDone)
        }
    }

    /// Transfers of the folder's session that have not ended.
    package func live(of folder: StoredFolder) throws(LonghaulError) -> Set<TransferID> {
        try store.access { connection in
            let ids: [TransferID] = try connection.values(
                """
                SELECT t.id FROM session s JOIN transfer t INDEXED BY transferLive \
                ON t.sessionID = s.id WHERE s.name = ?1 AND t.ended = 0 AND t.id > ?2
                """, folder.session, folder.since)
            return Set(ids)
        }
    }
}

/// The rows of `folder`.
private struct FolderRows: ConnectionRows {
    private enum Column: Int32, StoredColumn {
        case id, name, settings, paused, scansAsked, scansDone, since, findings

        static let all = "SELECT \(list) FROM folder ORDER BY name"
        static let byName = "SELECT \(list) FROM folder WHERE name = ?1"
    }

    let connection: Connection

    func all() throws -> [StoredFolder] { try connection.all(Column.all, read: read) }

    func find(_ name: String) throws -> StoredFolder? {
        try connection.first(Column.byName, name, read: read)
    }

    func required(_ name: String) throws -> StoredFolder {
        guard let folder = try find(name) else {
            throw LonghaulError(
                .noSuchFolder, "there is no folder \(name); `longhaul folder list` shows all")
        }
        return folder
    }

    private func read(_ row: StoredRow<Column>) throws -> StoredFolder {
        let name: String = row[.name]
        guard let settings: FolderSettings = row.json(.settings) else {
            throw LonghaulError(
                .internal,
                "the record of folder \(name) cannot be read: it is damaged, or a later version "
                    + "has written it")
        }
        return StoredFolder(
            id: row[.id], name: name, settings: settings, isPaused: row[.paused],
            scansAsked: row[.scansAsked], scansDone: row[.scansDone], since: row[.since],
            findings: row.json(.findings) ?? FolderFindings())
    }
}

extension Store {
    /// The watched folders.
    package var folders: WatchedFolders { WatchedFolders(store: self) }
}
