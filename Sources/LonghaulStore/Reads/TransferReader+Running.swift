package import LonghaulModel

/// The numbers of running transfers.
package struct RunningCounts: Hashable, Sendable {
    package var total = 0
    package var discretionary = 0
    /// Counts by name of the origin.
    package var ofOrigin: [String: Int] = [:]
    /// Transfers of each state, those among them that wait for another's bytes as well.
    package var ofState: [TransferState: Int] = [:]
    /// Prefetched fetches among them, which wait for connections in use, in order of service.
    package var prefetched: [PrefetchedFetch] = []

    package init() {}
}

package struct PrefetchedFetch: Hashable, Sendable {
    package var id: FetchID
    package var origin: String
    package var isDiscretionary: Bool
    /// The number of transfers that it serves.
    package var transfers: Int
}

extension RunningCounts {
    /// Removes and returns prefetched fetches without a place, the last ones first: fetches beyond
    /// the connections of their origin, and beyond the limit of running transfers.
    package mutating func removeSurplus(
        of limits: SchedulerLimits, connections: (String) -> Int
    ) -> [PrefetchedFetch] {
        var surplus = removeLast { $0.ofOrigin[$1.origin, default: 0] > connections($1.origin) }
        surplus += removeLast { counts, _ in counts.total > limits.running }
        return surplus
    }

    private mutating func removeLast(
        while isTooMany: (RunningCounts, PrefetchedFetch) -> Bool
    ) -> [PrefetchedFetch] {
        var removed: [PrefetchedFetch] = []
        for fetch in prefetched.reversed() where isTooMany(self, fetch) {
            total -= 1
            ofOrigin[fetch.origin, default: 0] -= 1
            if fetch.isDiscretionary { discretionary -= 1 }
            removed.append(fetch)
        }
        let gone = Set(removed)
        prefetched.removeAll { gone.contains($0) }
        return removed
    }
}

extension TransferReader {
    /// Transfers that are running, as the store knows it.
    package func runningCounts() throws(LonghaulError) -> RunningCounts {
        try store.snapshot { connection in
            var counts = RunningCounts()
            let origins = try connection.all(
                """
                SELECT o.name, count(*), sum(t.eligibility / 2 % 2) \
                FROM transfer t INDEXED BY transferRunning \
                JOIN origin o ON o.id = t.originID JOIN fetch f ON f.id = t.fetchID \
                WHERE t.phase = 1 AND coalesce(f.leader, t.id) = t.id \
                GROUP BY o.name
                """
            ) { (name: $0[0] as String, count: $0[1] as Int, discretionary: $0[2] as Int) }
            for origin in origins {
                counts.ofOrigin[origin.name] = origin.count
                counts.total += origin.count
                counts.discretionary += origin.discretionary
            }
            counts.prefetched = try prefetched(connection)
            counts.ofState = try Tally(connection).counts(session: nil)
            return counts
        }
    }

    /// True if a transfer waits only for an engine.
    package func isAnyReady() throws(LonghaulError) -> Bool {
        try store.access {
            try $0.value(
                """
                SELECT 1 FROM transfer INDEXED BY transferReady \
                WHERE phase = 0 AND want = 0 AND readyAt = 0 AND eligibility IN (0, 1) LIMIT 1
                """) ?? false
        }
    }

    private func prefetched(_ connection: Connection) throws -> [PrefetchedFetch] {
        try connection.all(
            """
            SELECT f.id, o.name, t.eligibility / 2 % 2, \
            (SELECT count(*) FROM transfer s INDEXED BY transferShared \
            WHERE s.sharedFetch = f.id AND s.fetchID = f.id AND s.phase = 1 AND s.want = 0 \
            AND s.id <> t.id) + (t.want = 0) \
            FROM transfer t INDEXED BY transferRunning \
            JOIN origin o ON o.id = t.originID JOIN fetch f ON f.id = t.fetchID \
            WHERE t.phase = 1 AND f.prefetched = 1 AND coalesce(f.leader, t.id) = t.id \
            ORDER BY f.id
            """
        ) {
            PrefetchedFetch(
                id: $0[0] as FetchID, origin: $0[1],
                isDiscretionary: $0[2], transfers: $0[3])
        }
    }

    /// True if transfers are left that are wanted to run.
    package func isAnyWanted() throws(LonghaulError) -> Bool {
        try store.access { connection in
            try connection.value(
                """
                SELECT 1 FROM tally WHERE n > 0 AND (pending = 1 OR phase = 0 AND want = 0) LIMIT 1
                """) ?? false
        }
    }

    /// The memory of an origin.
    package func origin(_ name: String) throws(LonghaulError) -> OriginMemory {
        try store.access { try OriginRecord.find(name, $0) }
    }
}
