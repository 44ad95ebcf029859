package import LonghaulModel

/// A deadline this near is found wherever its transfer stands in the queue; at most this many
/// are.
private let nearDeadlineSeconds: Double = 3600
private let nearDeadlinesMax = 64

/// How much of the queue the engine reads at once.
package struct ReadyLimits: Hashable, Sendable {
    /// Rows in all.
    package var total: Int
    /// The least number of rows of each group, while `total` allows.
    package var perGroup: Int
    /// The most groups to look for: transfers of one eligibility, priority, session and origin.
    /// Groups of cooling origins count here; of the others there are no more than `total`.
    package var groups: Int
    /// Sessions, and origins of each, are visited in a cycle that begins after these. This matters
    /// only if there are too many for one read.
    package var after: ReadyPlace

    /// The eligibilities to read, in this order; `nil` = all.
    package var eligibilities: [EligibilityKey]?

    package init(
        total: Int = 256, perGroup: Int = 4, groups: Int = 8192, after: ReadyPlace = ReadyPlace(),
        eligibilities: [EligibilityKey]? = nil
    ) {
        self.total = total
        self.perGroup = perGroup
        self.groups = groups
        self.after = after
        self.eligibilities = eligibilities
    }
}

/// The place where a read of the queue has ended. Zero is before all.
package struct ReadyPlace: Hashable, Sendable {
    package var session: Int64 = 0
    package var origin: Int64 = 0

    package init() {}
}

/// A transfer that is ready as far as time goes.
package struct ReadyRow: Hashable, Sendable {
    package var id: TransferID
    package var originID: Int64
    /// The memory of its origin.
    package var memory: OriginMemory
    package var sessionID: Int64
    package var priority: Priority
    package var eligibility: EligibilityKey
    /// The moment since which it may begin as far as time goes.
    package var waitingSince: Timestamp
    /// The size that the server announced, else the one that the user expects, less the bytes held;
    /// `nil` = unknown.
    package var bytesLeft: Int64?
    /// See ``Candidate/isUnresumable``.
    package var isUnresumable: Bool
    package var deadline: Timestamp
    /// See ``Candidate/place``.
    package var place: Int64

    package var origin: String { memory.origin }
}

package struct ReadyHead: Hashable, Sendable {
    /// Groups in turn, each by age. Groups are in the order of the eligibilities (without any,
    /// transfers that are not discretionary come first), then of priority, session, origin.
    package var rows: [ReadyRow]
    /// The place where the next read begins, so that each group has its turn.
    package var resumeAfter: ReadyPlace
    /// When the first of the origins that were left out has cooled down.
    package var coolDownEnds: Timestamp?
    /// The cooling origins known before and those found now.
    package var cooling = CoolingOrigins()
    /// The number of origins that were read to check whether they may be asked.
    package var originsRead = 0
}

/// The group of a transfer for fairness, without the origin.
private struct Queue {
    var eligibility: EligibilityKey
    /// See ``CalendarRows/stored(_:)``.
    var stored: Int64
    var priority: Priority
    var session: Int64
}

/// A transfer `t` that is ready, and its fetch `f`. Of one in a known group the columns from
/// `originID` on are not read.
private enum ReadyColumn: Int32, StoredColumn {
    case id, readySince, expectedBytes, deadline, bytesTotal, durable, isUnresumable
    case originID, eligibility, priority, sessionID, windows

    var sql: String {
        switch self {
        case .readySince: "coalesce(t.readySince, t.created)"
        case .bytesTotal, .durable: "f.\(self)"
        case .isUnresumable: FetchRecord.isUnresumable
        case .windows: CalendarRows.windows("t.eligibility")
        default: "t.\(self)"
        }
    }

    static let selectOne = """
        SELECT \(list) FROM transfer t LEFT JOIN fetch f ON f.id = t.fetchID \
        WHERE t.id = ?1 AND t.phase = 0 AND t.want = 0 AND t.readyAt = 0
        """

    static let selectGroup = """
        SELECT \(allCases.prefix { $0 != .originID }.list) \
        FROM transfer t INDEXED BY transferReady LEFT JOIN fetch f ON f.id = t.fetchID \
        WHERE t.phase = 0 AND t.want = 0 AND t.readyAt = 0 \
        AND t.eligibility = ?1 AND t.priority = ?2 AND t.sessionID = ?3 AND t.originID = ?4 \
        ORDER BY t.id LIMIT ?5
        """
}

private struct ReadyOrigin {
    var id: Int64
    var memory: OriginMemory
}

/// Selects the origins that one read takes from its queues.
private struct OriginSearch {
    /// Per queue: the most origins to visit, and the most to take.
    let visitsMax: Int
    let foundMax: Int
    let excluded: Set<String>
    let now: Timestamp
    /// See ``ReadyHead/coolDownEnds``.
    var coolDownEnds: Timestamp?
    var cooling: CoolingOrigins
    /// Some were skipped without being read.
    var hasPassed = false
    /// See ``ReadyHead/originsRead``.
    var read = 0

    /// Decides whether transfers of an origin that has been read are taken. Transfers with mirrors
    /// may begin at a mirror while the origin is left alone.
    mutating func takes(_ id: Int64, _ memory: OriginMemory, hasMirrors: Bool) -> Bool {
        read += 1
        if hasMirrors, memory.health(at: now) != .well { return true }
        if case .cooling(let until) = memory.health(at: now) {
            coolDownEnds = min(coolDownEnds ?? until, until)
            cooling.record(id, until: until)
            return false
        }
        return !excluded.contains(memory.origin)
    }

    /// The last of the origins to skip unread from this one on; `nil` = this one must be read.
    mutating func passes(from id: Int64) -> Int64? {
        guard let end = cooling.endOfRun(from: id, at: now) else { return nil }
        hasPassed = true
        return end
    }
}

/// The transfers that are ready as far as time goes.
package struct ReadyQueue {
    let connection: Connection

    /// The heads of all groups of ready transfers, by a skip scan of one index: no session or
    /// origin hides another, however many rows it has queued. Cooling origins are left out: they
    /// could fill the head and hide all others. Costs two look-ups for each group, none for origins
    /// that are known to cool down, and one step for each row.
    ///
    /// - Parameters:
    ///   - excludingOrigins: the origins that can take no more.
    ///   - cooling: the origins that are known to cool down, from the read before.
    package func readyHead(
        _ limits: ReadyLimits = ReadyLimits(), excludingOrigins: Set<String> = [],
        cooling: CoolingOrigins = CoolingOrigins(), now: Timestamp
    ) throws -> ReadyHead {
        var sessions = RoundRobinCursor(after: limits.after.session)
        let queues = try queues(limits, &sessions)
        var head = ReadyHead(rows: [], resumeAfter: ReadyPlace())
        head.resumeAfter.session = sessions.resumeAfter
        head.cooling = cooling
        if queues.isEmpty { return head }
        var origins = RoundRobinCursor(after: limits.after.origin)
        var search = OriginSearch(
            visitsMax: max(1, limits.groups / queues.count),
            foundMax: max(1, limits.total / queues.count), excluded: excludingOrigins, now: now,
            cooling: cooling)
        search.cooling.forgetEnded(at: now)
        var groups: [(queue: Queue, origin: ReadyOrigin)] = []
        for queue in queues {
            groups += try self.origins(of: queue, &origins, &search).map { (queue, $0) }
        }
        head.resumeAfter.origin = origins.resumeAfter
        if search.hasPassed {
            let ends = try search.cooling.soonest(at: now) { id in
                try queues.contains { try nextOrigin($0, after: id - 1) == id }
            }
            search.coolDownEnds = [search.coolDownEnds, ends].compactMap { $0 }.min()
        }
        let places = groups.isEmpty ? [:] : try PlaceRows(connection).all()
        let picked = groups.isEmpty ? [] : try picked(places, limits, &search)
        head.coolDownEnds = search.coolDownEnds
        head.cooling = search.cooling
        head.originsRead = search.read
        if groups.isEmpty { return head }
        let depth = max(limits.perGroup, limits.total / groups.count)
        let heads = try groups.map { try rows(of: $0.queue, $0.origin, limit: depth) }
        head.rows = interleaved(heads, total: limits.total, after: picked)
        if places.isEmpty { return head }
        for index in head.rows.indices {
            head.rows[index].place = places[head.rows[index].id] ?? head.rows[index].place
        }
        return head
    }

    /// Transfers that are read regardless of their place in the queue: of a long queue only the
    /// oldest are read. These are transfers with a near deadline, since the last may have the least
    /// time, and the first ones of the transfers that clients have moved.
    private func picked(
        _ places: [TransferID: Int64], _ limits: ReadyLimits, _ search: inout OriginSearch
    ) throws -> [ReadyRow] {
        let near: [TransferID] = try connection.values(
            """
            SELECT id FROM transfer INDEXED BY transferDeadline WHERE ended = 0 \
            AND want IN (0, 1) AND deadline < ?1 ORDER BY deadline LIMIT ?2
            """, search.now + nearDeadlineSeconds, nearDeadlinesMax)
        let urgent = try rows(of: near, limit: near.count, limits, &search)
        let taken = Set(urgent.map(\.id))
        let moved = places.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
            .filter { !taken.contains($0) }
        return try urgent + rows(of: moved, limit: limits.total / 2, limits, &search)
    }

    /// The ready transfers among these, up to a number.
    private func rows(
        of ids: [TransferID], limit: Int, _ limits: ReadyLimits, _ search: inout OriginSearch
    ) throws -> [ReadyRow] {
        var rows: [ReadyRow] = []
        for id in ids where rows.count < limit {
            guard var row = try ready(id), limits.eligibilities?.contains(row.eligibility) ?? true,
                let memory = try OriginRecord.find(row.originID, connection),
                search.takes(row.originID, memory, hasMirrors: row.eligibility.hasMirrors)
            else { continue }
            row.memory = memory
            rows.append(row)
        }
        return rows
    }

    /// A transfer without the memory of its origin; `nil` = it is not ready.
    private func ready(_ id: TransferID) throws -> ReadyRow? {
        try connection.first(ReadyColumn.selectOne, id) { (row: StoredRow<ReadyColumn>) in
            let queue = Queue(
                eligibility: CalendarRows.key(row, .eligibility, windows: .windows),
                stored: row[.eligibility], priority: Priority(rawValue: row[.priority]) ?? .normal,
                session: row[.sessionID])
            return ready(
                row, queue, ReadyOrigin(id: row[.originID], memory: OriginMemory(origin: "")))
        }
    }

    /// The distinct priorities and sessions with ready rows in these eligibilities, as many of each
    /// eligibility.
    private func queues(_ limits: ReadyLimits, _ sessions: inout RoundRobinCursor) throws -> [Queue]
    {
        let all = try limits.eligibilities ?? readyEligibilities()
        let share = max(1, limits.total / max(1, all.count))
        var queues: [Queue] = []
        for eligibility in all.filter({ !$0.isDiscretionary }) + all.filter(\.isDiscretionary) {
            queues += try self.queues(of: eligibility, share, &sessions)
        }
        return queues
    }

    private func queues(
        of eligibility: EligibilityKey, _ limit: Int, _ sessions: inout RoundRobinCursor
    ) throws -> [Queue] {
        var queues: [Queue] = []
        let stored = try CalendarRows(connection).stored(eligibility)
        for priority in Priority.allCases {
            let isDone = try sessions.go { last in
                try nextSession(stored, priority, after: last)
            } take: { session in
                guard queues.count < limit else { return false }
                queues.append(
                    Queue(
                        eligibility: eligibility, stored: stored, priority: priority,
                        session: session))
                return true
            }
            if !isDone { break }
        }
        return queues
    }

    /// Column by column: for a comparison of row values SQLite would walk all equal rows.
    private func nextSession(
        _ eligibility: Int64, _ priority: Priority, after last: Int64
    ) throws -> Int64? {
        try connection.value(
            """
            SELECT sessionID FROM transfer INDEXED BY transferReady \
            WHERE phase = 0 AND want = 0 AND readyAt = 0 \
            AND eligibility = ?1 AND priority = ?2 AND sessionID > ?3 ORDER BY sessionID LIMIT 1
            """, eligibility, priority.rawValue, last)
    }

    /// The origins of a queue that can take more, up to its share of the read. The search continues
    /// until one is found, however long it takes: an engine that sees no work would stop.
    private func origins(
        of queue: Queue, _ origins: inout RoundRobinCursor, _ search: inout OriginSearch
    ) throws -> [ReadyOrigin] {
        var found: [ReadyOrigin] = []
        var visits = 0
        _ = try origins.go { last in
            try nextOrigin(queue, after: last, passing: &search)
        } take: { id in
            let isOver = visits >= search.visitsMax && !found.isEmpty
            if isOver || found.count >= search.foundMax { return false }
            visits += 1
            if let memory = try OriginRecord.find(id, connection),
                search.takes(id, memory, hasMirrors: queue.eligibility.hasMirrors)
            {
                found.append(ReadyOrigin(id: id, memory: memory))
            }
            return true
        }
        return found
    }

    private func nextOrigin(
        _ queue: Queue, after last: Int64, passing search: inout OriginSearch
    ) throws -> Int64? {
        var last = last
        while let id = try nextOrigin(queue, after: last) {
            guard !queue.eligibility.hasMirrors, let end = search.passes(from: id) else {
                return id
            }
            last = end
        }
        return nil
    }

    private func nextOrigin(_ queue: Queue, after last: Int64) throws -> Int64? {
        try connection.value(
            """
            SELECT originID FROM transfer INDEXED BY transferReady \
            WHERE phase = 0 AND want = 0 AND readyAt = 0 \
            AND eligibility = ?1 AND priority = ?2 AND sessionID = ?3 AND originID > ?4 \
            ORDER BY originID LIMIT 1
            """, queue.stored, queue.priority.rawValue, queue.session, last)
    }

    private func rows(
        of queue: Queue, _ origin: ReadyOrigin, limit: Int
    ) throws -> [ReadyRow] {
        try connection.all(
            ReadyColumn.selectGroup, queue.stored, queue.priority.rawValue, queue.session,
            origin.id, limit
        ) { ready($0, queue, origin) }
    }

    private func ready(
        _ row: StoredRow<ReadyColumn>, _ queue: Queue, _ origin: ReadyOrigin
    ) -> ReadyRow {
        ReadyRow(
            id: row[.id], originID: origin.id, memory: origin.memory, sessionID: queue.session,
            priority: queue.priority, eligibility: queue.eligibility,
            waitingSince: row[.readySince], bytesLeft: bytesLeft(row),
            isUnresumable: row[.isUnresumable], deadline: row[.deadline], place: row[.id])
    }

    private func bytesLeft(_ row: StoredRow<ReadyColumn>) -> Int64? {
        let total: Int64? = row[.bytesTotal] ?? row[.expectedBytes]
        let isUnresumable: Bool = row[.isUnresumable]
        if total == nil, !isUnresumable { return nil }
        let held = ByteRanges(stored: row[.durable])
        return Candidate.bytesLeft(
            of: total, held: held?.count ?? 0, isUnresumable: isUnresumable)
    }

    /// The eligibilities of ready transfers, by a skip scan of the index: one look-up for each,
    /// however many transfers there are.
    package func readyEligibilities(limit: Int = 4096) throws -> [EligibilityKey] {
        var eligibilities: [EligibilityKey] = []
        var last: Int64 = -1
        while eligibilities.count < limit,
            let next: Int64 = try connection.value(
                """
                SELECT eligibility FROM transfer INDEXED BY transferReady WHERE phase = 0 AND want = 0 \
                AND readyAt = 0 AND eligibility > ?1 ORDER BY eligibility LIMIT 1
                """, last)
        {
            eligibilities.append(try CalendarRows(connection).key(next))
            last = next
        }
        return eligibilities
    }
}

extension EngineTransaction {
    /// The transfers that are ready as far as time goes.
    package var ready: ReadyQueue { ReadyQueue(connection: connection) }
}

extension Store {
    /// The eligibilities of transfers that wait for conditions or their turn.
    package func readyEligibilities() throws(LonghaulError) -> [EligibilityKey] {
        try access { try ReadyQueue(connection: $0).readyEligibilities() }
    }
}

/// The first row of each head, then the second of each, and so on, after the rows in `first`.
private func interleaved(
    _ heads: [[ReadyRow]], total: Int, after first: [ReadyRow]
) -> [ReadyRow] {
    var result = first
    let seen = Set(first.map(\.id))
    var depth = 0
    var isExhausted = false
    while !isExhausted, result.count < total {
        isExhausted = true
        for head in heads where depth < head.count && result.count < total {
            isExhausted = false
            if seen.isEmpty || !seen.contains(head[depth].id) { result.append(head[depth]) }
        }
        depth += 1
    }
    return result
}
