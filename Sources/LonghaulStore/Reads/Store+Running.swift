package import LonghaulCore

/// The numbers of running transfers.
package struct RunningCounts: Hashable, Sendable {
    package var total = 0
    package var discretionary = 0
    /// By name of the origin.
    package var ofOrigin: [String: Int] = [:]

    package init() {}
}

extension Store {
    /// Transfers that are running, as the store knows it.
    package func runningCounts() throws(LonghaulError) -> RunningCounts {
        let rows = try access {
            try $0.all(
                """
                SELECT o.name, count(*), sum(t.eligibility / 2 % 2) FROM transfer t INDEXED BY transferRunning \
                JOIN origin o ON o.id = t.originID JOIN fetch f ON f.id = t.fetchID \
                WHERE t.phase = 1 AND coalesce(f.leader, t.id) = t.id \
                GROUP BY o.name
                """
            ) { ($0.text(0), $0.int(1), $0.int(2)) }
        }
        var counts = RunningCounts()
        for (origin, count, discretionary) in rows {
            counts.ofOrigin[origin] = count
            counts.total += count
            counts.discretionary += discretionary
        }
        return counts
    }

    /// Whether a transfer waits only for an engine.
    package func isAnyReady() throws(LonghaulError) -> Bool {
        try access {
            try $0.first(
                """
                SELECT 1 FROM transfer INDEXED BY transferReady \
                WHERE phase = 0 AND want = 0 AND readyAt = 0 AND eligibility IN (0, 1) LIMIT 1
                """
            ) { _ in true } ?? false
        }
    }
}
