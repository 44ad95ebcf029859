internal import LonghaulModel

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

/// The scans that lists are merged from.
struct TransferScans: ConnectionRows {
    let connection: Connection

    /// The scans that together give the transfers in these states. The tally shows which of them
    /// are not empty.
    func streams(session: String?, states: Set<TransferState>) throws -> Set<TransferStream> {
        var result: Set<TransferStream> = []
        for group in try Tally(connection).groups(session: session)
        where states.contains(group.state) {
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
        switch stream {
        case .queued(let session, let want):
            return try connection.values(
                """
                SELECT id FROM transfer INDEXED BY transferLive WHERE sessionID = ?1 AND want = ?2 \
                AND ended = 0 AND phase = 0 AND id < ?3 ORDER BY id DESC LIMIT ?4
                """, session, want.rawValue, bound, limit)
        case .running(let session, let want):
            return try connection.values(
                """
                SELECT id FROM transfer INDEXED BY transferRunning WHERE phase = 1 \
                AND sessionID = ?1 AND want = ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4
                """, session, want.rawValue, bound, limit)
        case .ended(let session, let phase):
            return try connection.values(
                """
                SELECT id FROM transfer INDEXED BY transferEnded WHERE sessionID = ?1 \
                AND phase = ?2 AND ended = 1 AND rearm = rearmed AND id < ?3 \
                ORDER BY id DESC LIMIT ?4
                """, session, phase.rawValue, bound, limit)
        case .pending(let session, let phase, let want):
            return try connection.values(
                """
                SELECT id FROM transfer INDEXED BY transferPending WHERE sessionID = ?1 \
                AND rearm > rearmed AND phase = ?2 AND want = ?3 AND id < ?4 \
                ORDER BY id DESC LIMIT ?5
                """, session, phase.rawValue, want.rawValue, bound, limit)
        }
    }

    /// The newest transfers in any state.
    func newest(below bound: Int64, limit: Int) throws -> [TransferID] {
        try connection.values(
            "SELECT id FROM transfer WHERE id < ?1 ORDER BY id DESC LIMIT ?2", bound, limit)
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
