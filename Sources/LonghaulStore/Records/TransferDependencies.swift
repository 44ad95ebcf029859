import LonghaulModel

/// The transfers that must end before a job or another transfer begins.
struct TransferDependencies: ConnectionRows {
    let connection: Connection

    /// The effect of a transfer on its dependents.
    enum Standing {
        case isOpen
        case isCompleted
        /// The dependency failed, was cancelled, or was removed before its end was seen.
        case isMissed
    }

    func standing(of id: TransferID) throws -> Standing {
        switch try state(of: id) {
        case .completed: .isCompleted
        case .waiting, .running, .paused: .isOpen
        case .failed, .cancelled, nil: .isMissed
        }
    }

    /// The transfers among them that are still to be waited for.
    ///
    /// - Parameter anyEnd: An end that is no completion will do.
    /// - Throws: `noSuchTransfer`; `conflict` for one that can complete only after a `retry`.
    func open(among ids: [TransferID], anyEnd: Bool = false) throws -> [TransferID] {
        try ids.filter { id in
            guard let known = try state(of: id) else { throw LonghaulError.noSuchTransfer(id) }
            if anyEnd { return !known.hasEnded }
            if known == .failed || known == .cancelled {
                throw LonghaulError(
                    .conflict, "it is \(known.rawValue); `longhaul retry \(id)` takes it up again",
                    transferID: id)
            }
            return known != .completed
        }
    }

    func state(of id: TransferID) throws -> TransferState? {
        try connection.first(
            "SELECT phase, want, rearm > rearmed FROM transfer WHERE id = ?1", id
        ) { shownState(phase: try $0.phase(0), want: try $0.want(1), pending: $0[2]) }
    }

    // MARK: - Of transfers

    /// The transfers that this one still waits for.
    func awaited(by id: TransferID) throws -> [TransferID] {
        try connection.values(
            "SELECT awaits FROM dependency WHERE transfer = ?1 ORDER BY awaits", id)
    }

    func add(_ open: [TransferID], of id: TransferID) throws {
        for other in open {
            try connection.run(
                "INSERT OR IGNORE INTO dependency (transfer, awaits) VALUES (?1, ?2)", id, other)
        }
    }

    /// Lets a transfer wait for these alone. `true` = one of them has not ended.
    ///
    /// - Throws: what ``open(among:anyEnd:)`` throws; `conflict` where one of them waits for this
    ///   one.
    func replace(with ids: [TransferID], anyEnd: Bool, of id: TransferID) throws -> Bool {
        let open = try open(among: ids, anyEnd: anyEnd)
        for other in open where try waits(other, for: id) {
            throw LonghaulError(
                .conflict,
                other == id
                    ? "it cannot wait for itself"
                    : "transfer \(other) waits for it; neither would ever begin", transferID: id)
        }
        try drop(of: id)
        try add(open, of: id)
        return !open.isEmpty
    }

    /// The transfer waits for no other any more.
    func drop(of id: TransferID) throws {
        try connection.run("DELETE FROM dependency WHERE transfer = ?1", id)
    }

    func crossOut(_ other: TransferID, of id: TransferID) throws {
        try connection.run(
            "DELETE FROM dependency WHERE transfer = ?1 AND awaits = ?2", id, other)
    }

    /// Puts the transfers that wait for an ended one into the inbox. `false` = no transfer waits.
    func announceEnd(of id: TransferID, isCompleted: Bool) throws -> Bool {
        let isAwaited: Bool? = try connection.value(
            "SELECT 1 FROM dependency INDEXED BY dependencyByAwaited WHERE awaits = ?1 LIMIT 1", id)
        guard isAwaited == true else { return false }
        try connection.run(
            """
            INSERT OR IGNORE INTO intentInbox (transferID) \
            SELECT transfer FROM dependency INDEXED BY dependencyByAwaited WHERE awaits = ?1
            """, id)
        // A completed one may be removed before the others are examined.
        if isCompleted { try connection.run("DELETE FROM dependency WHERE awaits = ?1", id) }
        return true
    }

    /// Tells whether a transfer waits for another one, itself or by those it waits for.
    private func waits(_ id: TransferID, for other: TransferID) throws -> Bool {
        try connection.value(
            """
            WITH RECURSIVE awaited(id) AS (VALUES (?1) \
            UNION SELECT d.awaits FROM awaited a JOIN dependency d ON d.transfer = a.id) \
            SELECT 1 FROM awaited WHERE id = ?2
            """, id, other) ?? false
    }

    // MARK: - Stored

    static func text(_ ids: [TransferID]) -> String? {
        ids.isEmpty ? nil : ids.map(\.description).joined(separator: ",")
    }

    static func ids(_ text: String) -> [TransferID] {
        text.split(separator: ",").compactMap { TransferID(String($0)) }
    }
}
