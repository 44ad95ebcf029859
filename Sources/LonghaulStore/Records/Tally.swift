internal import LonghaulModel

/// Transfers that are counted together.
struct TallyGroup {
    var session: Int64
    var phase: Phase
    var want: Want
    var pending: Bool
    var count: Int

    var state: TransferState { shownState(phase: phase, want: want, pending: pending) }
}

/// How many transfers there are, by session and state.
struct Tally: ConnectionRows {
    let connection: Connection

    /// The number of transfers in each group that is not empty. The stored tally does not
    /// distinguish running transfers from other live ones; they are few, and counted here.
    func groups(session: String?) throws -> [TallyGroup] {
        let active = try activeGroups(session: session)
        var groups = try storedGroups(session: session)
        for index in groups.indices where groups[index].phase == .queued {
            for group in active
            where group.session == groups[index].session && group.want == groups[index].want {
                groups[index].count -= group.count
            }
        }
        return (groups + active).filter { $0.count > 0 }
    }

    private func storedGroups(session: String?) throws -> [TallyGroup] {
        guard let session else {
            return try connection.all(TallyColumn.all, read: TallyGroup.init)
        }
        return try connection.all(TallyColumn.ofSession, session, read: TallyGroup.init)
    }

    private func activeGroups(session: String?) throws -> [TallyGroup] {
        try connection.all(
            """
            SELECT sessionID, phase, want, 0, count(*) FROM transfer INDEXED BY transferRunning \
            WHERE phase = 1 AND (?1 IS NULL \
            OR sessionID = (SELECT id FROM session WHERE name = ?1)) GROUP BY 1, 2, 3
            """, session, read: TallyGroup.init)
    }

    func counts(session: String?) throws -> [TransferState: Int] {
        var counts: [TransferState: Int] = [:]
        for group in try groups(session: session) { counts[group.state, default: 0] += group.count }
        return counts
    }
}

private enum TallyColumn: Int32, StoredColumn {
    case sessionID, phase, want, pending, n

    static let all = "SELECT \(list) FROM tally WHERE n > 0"
    static let ofSession = "\(all) AND sessionID = (SELECT id FROM session WHERE name = ?1)"
}

extension TallyGroup {
    fileprivate init(_ row: StoredRow<TallyColumn>) throws {
        self.init(
            session: row[.sessionID], phase: try row.phase(.phase), want: try row.want(.want),
            pending: row[.pending], count: row.count(.n))
    }
}
