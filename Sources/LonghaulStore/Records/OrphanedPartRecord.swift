package import LonghaulCore

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

extension Store {
    /// Removes the records of files that are known to be gone.
    package func forget(_ parts: [OrphanedPart]) throws(LonghaulError) {
        if parts.isEmpty { return }
        try write(.relaxed) { connection in
            for part in parts { try connection.forget(part) }
        }
    }
}

extension EngineTransaction {
    /// Removes the record of a file that is known to be gone.
    package func forget(_ part: OrphanedPart) throws {
        try connection.forget(part)
    }

    /// The files that were still to be deleted when the last engine ended. A file that could not be
    /// deleted for long, on a disk that is never mounted again, is given up.
    package func orphanedParts(now: Timestamp) throws -> [OrphanedPart] {
        try connection.run(
            "DELETE FROM orphanedPart WHERE since < ?1", now + -Limits.leftPartsKeptSeconds)
        return try connection.all("SELECT path, device, inode, birth FROM orphanedPart") {
            OrphanedPart(
                path: $0.text(0),
                identity: $0.fileIdentity(device: 1, inode: 2, birth: 3))
        }
    }
}

extension FileIdentity {
    /// Without a time of creation: the inode number of a deleted file is soon reused.
    fileprivate var isUnmistakable: Bool { birth != 0 }
}
