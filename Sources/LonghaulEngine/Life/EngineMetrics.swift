#if Metrics
internal import LonghaulCore
internal import LonghaulStore
internal import Metrics

/// Counters and gauges for the metrics backend of the program: the trait `Metrics` of the package.
/// `docs/beside-a-server.md` explains them.
///
/// Counters start at 0 with each process, gauges show the store. The totals that the engine keeps
/// anyway are the source of both, so that no other place counts anything.
struct EngineMetrics {
    private let completed = Counter(label: "longhaul_transfers_completed")
    private let failed = Counter(label: "longhaul_transfers_failed")
    private let requests = Counter(label: "longhaul_requests")
    private let failedRequests = Counter(label: "longhaul_requests_failed")
    private let restarts = Counter(label: "longhaul_restarts")
    private let bytes = Counter(label: "longhaul_body_bytes")
    private let states = TransferState.allCases.map { state in
        (state, Gauge(label: "longhaul_transfers", dimensions: [("state", state.rawValue)]))
    }

    private var counted = EngineCounters()
    private var bytesCounted: Int64 = 0

    /// Adds the changes since the last update.
    mutating func update(from engine: Engine) {
        let totals = engine.totals
        completed.increment(by: totals.completed - counted.completed)
        failed.increment(by: totals.failed - counted.failed)
        requests.increment(by: totals.requests - counted.requests)
        failedRequests.increment(by: totals.failedRequests - counted.failedRequests)
        restarts.increment(by: totals.restarts - counted.restarts)
        counted = totals
        // A counter only rises.
        let total = max(engine.bytesReceived, bytesCounted)
        bytes.increment(by: total - bytesCounted)
        bytesCounted = total
        // A store that cannot be read now leaves the gauges unchanged.
        guard let counts = try? engine.writer.store.transfers.counts() else { return }
        for (state, gauge) in states { gauge.record(counts[state] ?? 0) }
    }
}
#endif
