package import LonghaulCore

/// Part files that are to be deleted, until somebody has seen that they are gone.
extension Connection {
    /// The fetch is of no more use, and its file nobody's. `sparingPublished`: not if it has the
    /// name already that it was to get, although nobody could make sure of that.
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

    /// Its disk may have had another number when it was recorded.
    func forget(_ part: OrphanedPart) throws {
        try run(
            "DELETE FROM orphanedPart WHERE inode = ?1 AND birth = ?2 AND path = ?3",
            Int64(bitPattern: part.identity.inode), part.identity.birth, part.path)
    }
}

extension Store {
    /// Somebody has seen that these are gone.
    package func forget(_ parts: [OrphanedPart]) throws(LonghaulError) {
        if parts.isEmpty { return }
        try write(.relaxed) { connection in
            for part in parts { try connection.forget(part) }
        }
    }
}

extension EngineTransaction {
    /// Somebody has seen that it is gone.
    package func forget(_ part: OrphanedPart) throws {
        try connection.forget(part)
    }

    /// What was to be deleted when the last engine ended. What nobody could delete for long, on a
    /// disk that is never mounted again, is given up.
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
    /// The number of a file that is deleted is soon another's; some file systems tell nothing else.
    fileprivate var isUnmistakable: Bool { birth != 0 }
}
