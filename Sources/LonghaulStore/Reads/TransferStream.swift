internal import LonghaulCore

/// Transfers of one session in one state, as a scan of one index from the newest. Every list is a
/// merge of such scans, which read no row that is not in the result (but for a handful).
enum TransferStream: Hashable {
    case queued(session: Int64, want: Want)
    case running(session: Int64, want: Want)
    case ended(session: Int64, phase: Phase)
    /// Ended, with a pending `resume` or `retry`.
    case pending(session: Int64, phase: Phase, want: Want)

    var isLive: Bool {
        switch self {
        case .queued, .running, .pending: true
        case .ended: false
        }
    }
}

extension Connection {
    /// The scans that together give the transfers in these states. The tally shows which of them
    /// are not empty.
    func streams(session: String?, states: Set<TransferState>) throws -> Set<TransferStream> {
        var result: Set<TransferStream> = []
        for group in try tally(session: session) where states.contains(group.state) {
            if group.pending {
                result.insert(
                    .pending(session: group.session, phase: group.phase, want: group.want))
                continue
            }
            switch group.phase {
            case .queued:
                result.insert(.queued(session: group.session, want: group.want))
            case .running:
                result.insert(.running(session: group.session, want: group.want))
            case .completed, .failed, .cancelled:
                result.insert(.ended(session: group.session, phase: group.phase))
            }
        }
        return result
    }

    /// At most `limit` ids of one scan, the newest below `bound`, newest first.
    func ids(of stream: TransferStream, below bound: Int64, limit: Int) throws -> [TransferID] {
        let read: (StoredRow) -> TransferID = { $0.transferID(0) }
        switch stream {
        case .queued(let session, let want):
            return try all(
                """
                SELECT id FROM transfer INDEXED BY transferLive WHERE sessionID = ?1 AND want = ?2 \
                AND ended = 0 AND phase = 0 AND id < ?3 ORDER BY id DESC LIMIT ?4
                """, session, want, bound, limit, read: read)
        case .running(let session, let want):
            return try all(
                """
                SELECT id FROM transfer INDEXED BY transferRunning WHERE phase = 1 \
                AND sessionID = ?1 AND want = ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4
                """, session, want, bound, limit, read: read)
        case .ended(let session, let phase):
            return try all(
                """
                SELECT id FROM transfer INDEXED BY transferEnded WHERE sessionID = ?1 \
                AND phase = ?2 AND ended = 1 AND rearm = rearmed AND id < ?3 \
                ORDER BY id DESC LIMIT ?4
                """, session, phase, bound, limit, read: read)
        case .pending(let session, let phase, let want):
            return try all(
                """
                SELECT id FROM transfer INDEXED BY transferPending WHERE sessionID = ?1 \
                AND rearm > rearmed AND phase = ?2 AND want = ?3 AND id < ?4 \
                ORDER BY id DESC LIMIT ?5
                """, session, phase, want, bound, limit, read: read)
        }
    }

    /// The newest of all, whatever their state.
    func newest(below bound: Int64, limit: Int) throws -> [TransferID] {
        try all(
            "SELECT id FROM transfer WHERE id < ?1 ORDER BY id DESC LIMIT ?2", bound, limit
        ) { $0.transferID(0) }
    }

    /// The newest `limit` of several scans, newest first.
    func newest(
        of streams: Set<TransferStream>, below bound: Int64, limit: Int
    ) throws -> [TransferID] {
        var found: [TransferID] = []
        for stream in streams {
            found += try ids(of: stream, below: bound, limit: limit)
        }
        found.sort(by: >)
        return Array(found.prefix(limit))
    }
}

/// Transfers that are counted together.
struct TallyGroup {
    var session: Int64
    var phase: Phase
    var want: Want
    var pending: Bool
    var count: Int

    var state: TransferState { shownState(phase: phase, want: want, pending: pending) }
}

extension Connection {
    /// The number of transfers in each group that is not empty. The stored tally does not
    /// distinguish running transfers from other live ones; they are few, and counted here.
    func tally(session: String?) throws -> [TallyGroup] {
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
            return try all(
                "SELECT sessionID, phase, want, pending, n FROM tally WHERE n > 0",
                read: TallyGroup.init)
        }
        return try all(
            """
            SELECT sessionID, phase, want, pending, n FROM tally WHERE n > 0 \
            AND sessionID = (SELECT id FROM session WHERE name = ?1)
            """, session, read: TallyGroup.init)
    }

    private func activeGroups(session: String?) throws -> [TallyGroup] {
        try all(
            """
            SELECT sessionID, phase, want, 0, count(*) FROM transfer INDEXED BY transferRunning \
            WHERE phase = 1 AND (?1 IS NULL \
            OR sessionID = (SELECT id FROM session WHERE name = ?1)) GROUP BY 1, 2, 3
            """, session, read: TallyGroup.init)
    }
}

extension TallyGroup {
    fileprivate init(_ row: StoredRow) throws {
        self.init(
            session: row.int64(0), phase: try row.phase(1), want: try row.want(2),
            pending: row.bool(3), count: row.count(4))
    }
}
