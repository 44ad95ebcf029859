internal import GRDB
package import LonghaulCore

/// How far the engine looks into the queue at once.
package struct ReadyLimits: Hashable, Sendable {
    /// Rows in all.
    package var total: Int
    /// Rows of each group at least, while `total` allows.
    package var perGroup: Int
    /// Groups: transfers of one kind (discretionary or not), priority, session and origin.
    package var groups: Int
    /// Origins of a session are visited from the one after this on, around: matters only where they
    /// are too many for `groups`.
    package var originsAfter: Int64

    /// Only discretionary transfers, or only the others; `nil` = all.
    package var onlyDiscretionary: Bool?

    package init(
        total: Int = 256, perGroup: Int = 4, groups: Int = 1024, originsAfter: Int64 = 0,
        onlyDiscretionary: Bool? = nil
    ) {
        self.total = total
        self.perGroup = perGroup
        self.groups = groups
        self.originsAfter = originsAfter
        self.onlyDiscretionary = onlyDiscretionary
    }
}

/// One transfer that waits for nothing but its turn and its conditions.
package struct ReadyRow: Hashable, Sendable {
    package var id: TransferID
    package var originID: Int64
    package var origin: String
    package var sessionID: Int64
    package var priority: Priority
    package var isDiscretionary: Bool
    package var createdAt: Timestamp
    package var expectedBytes: Int64?
    package var deadline: Timestamp
}

package struct ReadyHead: Hashable, Sendable {
    /// Groups in turn, each by age; groups in the order not discretionary first, then priority,
    /// session, origin.
    package var rows: [ReadyRow]
    /// Not every group was looked at: pass this as `originsAfter` the next time, so that each comes
    /// up. `nil` = all were.
    package var resumeAfter: Int64?
}

/// What groups transfers for fairness, without the origin.
private struct Lane {
    var discretionary: Bool
    var priority: Priority
    var session: Int64
}

extension EngineTransaction {
    /// The heads of all groups of ready transfers, by a skip through one index: however many rows
    /// one session or origin has queued, those of another are seen. Costs two look-ups for each
    /// group and one step for each row.
    ///
    /// - `excludingOrigins`: those that cool down or are at their limit.
    /// - `excluding`: transfers that the caller has in hand already.
    package func readyHead(
        _ limits: ReadyLimits = ReadyLimits(), excludingOrigins: Set<String> = [],
        excluding: Set<TransferID> = []
    ) throws -> ReadyHead {
        let lanes = try lanes(limit: limits.groups, onlyDiscretionary: limits.onlyDiscretionary)
        var head = ReadyHead(rows: [], resumeAfter: nil)
        if lanes.isEmpty { return head }
        let share = max(1, limits.groups / lanes.count)
        var groups: [(lane: Lane, origin: Int64, name: String)] = []
        for lane in lanes {
            let (origins, isComplete) = try origins(
                of: lane, after: limits.originsAfter, limit: share)
            if !isComplete, let last = origins.last { head.resumeAfter = last }
            for origin in origins {
                let name = try connection.first(
                    "SELECT name FROM origin WHERE id = ?1", origin
                ) { $0.text(0) }
                guard let name, !excludingOrigins.contains(name) else { continue }
                groups.append((lane, origin, name))
            }
        }
        if groups.isEmpty { return head }
        let depth = max(limits.perGroup, limits.total / groups.count)
        let heads = try groups.map {
            try rows(of: $0.lane, $0.origin, $0.name, limit: depth, excluding: excluding)
        }
        head.rows = interleaved(heads, total: limits.total)
        return head
    }

    /// The distinct kinds, priorities and sessions that have ready rows, in the order of the index.
    ///
    /// Column by column: SQLite would walk all equal rows for a comparison of row values.
    private func lanes(limit: Int, onlyDiscretionary: Bool?) throws -> [Lane] {
        var lanes: [Lane] = []
        for discretionary in [false, true]
        where (onlyDiscretionary ?? discretionary) == discretionary {
            for priority in Priority.allCases {
                var lane = Lane(discretionary: discretionary, priority: priority, session: -1)
                while lanes.count < limit, let session = try nextSession(lane) {
                    lane.session = session
                    lanes.append(lane)
                }
            }
        }
        return lanes
    }

    private func nextSession(_ lane: Lane) throws -> Int64? {
        try connection.first(
            """
            SELECT sessionID FROM transfer INDEXED BY transferReady \
            WHERE phase = 0 AND want = 0 AND readyAt = 0 \
            AND discretionary = ?1 AND priority = ?2 AND sessionID > ?3 ORDER BY sessionID LIMIT 1
            """, lane.discretionary, lane.priority.rawValue, lane.session
        ) { $0.int64(0) }
    }

    /// Origins of a lane: those after the pivot, then those up to it.
    private func origins(
        of lane: Lane, after pivot: Int64, limit: Int
    ) throws -> (ids: [Int64], isComplete: Bool) {
        var found: [Int64] = []
        for range in [pivot...(Int64.max - 1), Int64(-1)...pivot] {
            var last = range.lowerBound
            // One more than asked tells whether there are more.
            while found.count <= limit, let next = try nextOrigin(lane, after: last),
                next <= range.upperBound
            {
                found.append(next)
                last = next
            }
        }
        if found.count <= limit { return (found, true) }
        return (Array(found.prefix(limit)), false)
    }

    private func nextOrigin(_ lane: Lane, after last: Int64) throws -> Int64? {
        try connection.first(
            """
            SELECT originID FROM transfer INDEXED BY transferReady \
            WHERE phase = 0 AND want = 0 AND readyAt = 0 \
            AND discretionary = ?1 AND priority = ?2 AND sessionID = ?3 AND originID > ?4 \
            ORDER BY originID LIMIT 1
            """, lane.discretionary, lane.priority.rawValue, lane.session, last
        ) { $0.int64(0) }
    }

    private func rows(
        of lane: Lane, _ origin: Int64, _ name: String, limit: Int, excluding: Set<TransferID>
    ) throws -> [ReadyRow] {
        try connection.all(
            """
            SELECT id, created, expectedBytes, deadline FROM transfer INDEXED BY transferReady \
            WHERE phase = 0 AND want = 0 AND readyAt = 0 \
            AND discretionary = ?1 AND priority = ?2 AND sessionID = ?3 AND originID = ?4 \
            ORDER BY id LIMIT ?5
            """, lane.discretionary, lane.priority.rawValue, lane.session, origin,
            limit + excluding.count
        ) { row in
            ReadyRow(
                id: row.transferID(0), originID: origin, origin: name, sessionID: lane.session,
                priority: lane.priority, isDiscretionary: lane.discretionary,
                createdAt: row.timestamp(1),
                expectedBytes: row.optionalInt64(2), deadline: row.timestamp(3))
        }.filter { !excluding.contains($0.id) }.prefix(limit).map { $0 }
    }
}

/// The first of each, then the second of each, and so on.
private func interleaved(_ heads: [[ReadyRow]], total: Int) -> [ReadyRow] {
    var result: [ReadyRow] = []
    var depth = 0
    var isExhausted = false
    while !isExhausted, result.count < total {
        isExhausted = true
        for head in heads where depth < head.count && result.count < total {
            result.append(head[depth])
            isExhausted = false
        }
        depth += 1
    }
    return result
}
