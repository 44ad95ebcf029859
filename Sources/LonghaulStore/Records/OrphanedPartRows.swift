package import LonghaulModel

extension FileIdentity {
    /// Without a time of creation: the inode number of a deleted file is soon reused.
    fileprivate var isUnmistakable: Bool { birth != 0 }
}

/// Part files to delete. A row stays until the file is known to be gone.
struct OrphanedPartRows: ConnectionRows {
    let connection: Connection

    /// Drops a fetch and records its part files for deletion. `sparingPublished`: without a file
    /// that may already have its planned name, if that cannot be checked.
    func abandon(
        _ id: FetchID, sparingPublished: Bool = false, now: Timestamp
    ) throws -> [OrphanedPart] {
        guard let state = try FetchRecord.find(id, connection) else { return [] }
        return try abandon(state, sparingPublished: sparingPublished, now: now)
    }

    func abandon(
        _ state: FetchState, sparingPublished: Bool = false, now: Timestamp
    ) throws -> [OrphanedPart] {
        try deleteRow(of: state.id)
        var parts = state.orphanedParts
        if sparingPublished { parts.removeAll { state.publication.isExactly($0.path) } }
        for part in parts { try add(part, now: now) }
        return parts
    }

    func add(_ part: OrphanedPart, now: Timestamp) throws {
        guard part.identity.isUnmistakable else { return }
        try connection.run(
            """
            INSERT INTO orphanedPart (path, device, inode, birth, since) \
            VALUES (?1, ?2, ?3, ?4, ?5)
            """, part.path, Int64(bitPattern: part.identity.device),
            Int64(bitPattern: part.identity.inode), part.identity.birth, now)
    }

    /// Without the device: its number may have changed since the part was recorded.
    func forget(_ part: OrphanedPart) throws {
        try connection.run(
            "DELETE FROM orphanedPart WHERE inode = ?1 AND birth = ?2 AND path = ?3",
            Int64(bitPattern: part.identity.inode), part.identity.birth, part.path)
    }

    func deleteRow(of id: FetchID) throws {
        try connection.run("DELETE FROM fetch WHERE id = ?1", id)
    }
}

/// The snapshots, and the transfers that send them. A row stands from the commit that records the
/// transfer to the one after which nothing sends the file any more. A file without a row is a
/// leftover.
package struct SnapshotRows: ConnectionRows {
    let connection: Connection

    func add(_ file: OrphanedPart, of id: Int64) throws {
        try connection.run(
            """
            INSERT INTO snapshot (transferID, path, device, inode, birth) \
            VALUES (?1, ?2, ?3, ?4, ?5)
            """, id, file.path, Int64(bitPattern: file.identity.device),
            Int64(bitPattern: file.identity.inode), file.identity.birth)
    }

    func isInUse(_ path: String) throws -> Bool {
        try connection.value("SELECT 1 FROM snapshot WHERE path = ?1", path) ?? false
    }

    func hasOne(_ id: TransferID) throws -> Bool {
        try connection.value("SELECT 1 FROM snapshot WHERE transferID = ?1", id) ?? false
    }

    /// The transfer does not need it any more. Returns the file to delete, if it had one. It is not
    /// recorded among the orphaned part files: it is in a directory where any leftover is found.
    package func abandon(of id: TransferID) throws -> [OrphanedPart] {
        try connection.all(
            "DELETE FROM snapshot WHERE transferID = ?1 RETURNING path, device, inode, birth", id
        ) {
            OrphanedPart(
                path: $0[0], identity: $0.fileIdentity(device: 1, inode: 2, birth: 3))
        }
    }
}
