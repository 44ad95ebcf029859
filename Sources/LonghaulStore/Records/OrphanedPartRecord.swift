internal import LonghaulCore

/// Part files that are to be deleted. A row stays until the file is known to be gone.
extension Connection {
    /// Drops a fetch and records its part files for deletion. `sparingPublished`: without a file
    /// that may already have its planned name, if that cannot be checked.
    func abandonFetch(
        _ id: FetchID, sparingPublished: Bool = false, now: Timestamp
    ) throws -> [OrphanedPart] {
        guard let state = try first(FetchRecord.select, id, read: FetchRecord.read)
        else { return [] }
        return try abandon(state, sparingPublished: sparingPublished, now: now)
    }

    func abandon(
        _ state: FetchState, sparingPublished: Bool = false, now: Timestamp
    ) throws -> [OrphanedPart] {
        try deleteFetch(state.id)
        var parts = state.orphanedParts
        if sparingPublished { parts.removeAll { state.publication.isExactly($0.path) } }
        for part in parts where part.identity.isUnmistakable {
            try run(
                """
                INSERT INTO orphanedPart (path, device, inode, birth, since) \
                VALUES (?1, ?2, ?3, ?4, ?5)
                """, part.path, Int64(bitPattern: part.identity.device),
                Int64(bitPattern: part.identity.inode), part.identity.birth, now)
        }
        return parts
    }

    /// Without the device: its number may have changed since the part was recorded.
    func forget(_ part: OrphanedPart) throws {
        try run(
            "DELETE FROM orphanedPart WHERE inode = ?1 AND birth = ?2 AND path = ?3",
            Int64(bitPattern: part.identity.inode), part.identity.birth, part.path)
    }
}

extension FileIdentity {
    /// Without a time of creation: the inode number of a deleted file is soon reused.
    fileprivate var isUnmistakable: Bool { birth != 0 }
}

extension Connection {
    func deleteFetch(_ id: FetchID) throws {
        try run("DELETE FROM fetch WHERE id = ?1", id)
    }
}
