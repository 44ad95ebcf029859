internal import Longhaul

/// The figures of a queue as OpenMetrics.
enum Metrics {
    static func text(of served: ServedQueue) throws(LonghaulError) -> String {
        let queue = served.queue
        var text = OpenMetricsText()
        let status = try queue.status()
        text.family(
            "longhaul_transfers", "transfers by state",
            TransferState.allCases.map { ("state", $0.rawValue, Double(status.counts[$0] ?? 0)) })
        text.family("longhaul_engine_running", "1 = an engine runs", status.engine != nil ? 1 : 0)
        text.family(
            "longhaul_receive_rate_bytes_per_second", "rate of all transfers together",
            status.bytesPerSecond)
        text.family(
            "longhaul_events", "the number of the last event",
            Double(try queue.lastEventSequence()))
        var filter = TransferFilter()
        filter.states = [.waiting, .running]
        filter.limit = Limits.servedPageMaximum
        var waits: [String: Double] = [:]
        var sums = (done: 0.0, fetched: 0.0, attempts: 0.0, restarts: 0.0)
        for transfer in try queue.transfers(filter) {
            for reason in Set(transfer.waitingFor.map(\.reason.rawValue)) {
                waits[reason, default: 0] += 1
            }
            sums.done += Double(transfer.bytesDone)
            sums.fetched += Double(transfer.bytesFetched)
            sums.attempts += Double(transfer.attempts)
            sums.restarts += Double(transfer.restarts)
        }
        text.family(
            "longhaul_waiting_transfers",
            "waiting transfers by reason, among the 1000 newest unfinished ones",
            waits.sorted { $0.key < $1.key }.map { ("reason", $0.key, $0.value) })
        let scope = " of the 1000 newest unfinished transfers"
        text.family("longhaul_unfinished_bytes_done", "bytes that are there," + scope, sums.done)
        text.family(
            "longhaul_unfinished_bytes_fetched", "bytes on the wire," + scope, sums.fetched)
        text.family("longhaul_unfinished_attempts", "Attempts" + scope, sums.attempts)
        text.family("longhaul_unfinished_restarts", "Restarts" + scope, sums.restarts)
        text.addTotals(try served.reviewed.totals())
        let sessions = try queue.sessions()
        text.family(
            "longhaul_waiting_events", "events that are not acknowledged",
            Double(sessions.reduce(0) { $0 + $1.waitingEvents }))
        text.family(
            "longhaul_failing_hosts", "hosts and jobs whose last launch failed",
            Double(status.hostsFailed))
        try text.addLaunches(of: queue)
        if let times = try served.durations() {
            text.histogram(
                "longhaul_turn_seconds", "turns of the engine, since the server started",
                times.turns)
            text.histogram(
                "longhaul_commit_seconds", "commits of the engine's turns, with their reads",
                times.commits)
        }
        return text.finished
    }
}

/// Writes gauges, counters and histograms: https://prometheus.io/docs/specs/om/open_metrics_spec/
private struct OpenMetricsText {
    private var text = ""

    var finished: String { text + "# EOF\n" }

    mutating func family(
        _ name: String, _ help: String, _ samples: [(label: String, value: String, number: Double)]
    ) {
        begin(name, help)
        for sample in samples {
            text += "\(name){\(sample.label)=\"\(sample.value)\"} \(sample.number)\n"
        }
    }

    mutating func family(_ name: String, _ help: String, _ number: Double) {
        begin(name, help)
        text += "\(name) \(number)\n"
    }

    /// The counters, which the store keeps: they continue after a restart, and removing transfers
    /// does not change them.
    mutating func addTotals(_ totals: [LifetimeTotal: Int64]) {
        func add(_ name: String, _ help: String, _ total: LifetimeTotal) {
            begin(name, help, "counter")
            text += "\(name)_total \(totals[total] ?? 0)\n"
        }
        add("longhaul_received_bytes", "body bytes of downloads, on the wire", .received)
        add("longhaul_sent_bytes", "body bytes of uploads, on the wire", .sent)
        add("longhaul_attempts", "requests that have ended", .attempts)
        add("longhaul_restarts", "times that bytes were given up", .restarts)
        begin("longhaul_failures", "transfers that have failed, by code", "counter")
        var failures: [String: Int64] = [:]
        for case (.failures(let code), let count) in totals { failures[code.rawValue] = count }
        for (code, count) in failures.sorted(by: { $0.key < $1.key }) {
            text += "longhaul_failures_total{code=\"\(code)\"} \(count)\n"
        }
        begin("longhaul_waits", "times that transfers were put back to wait, by reason", "counter")
        for reason in WaitReason.Reason.allCases {
            let count = totals[.waits(reason)] ?? 0
            text += "longhaul_waits_total{reason=\"\(reason.rawValue)\"} \(count)\n"
        }
    }

    mutating func addLaunches(of queue: TransferQueue) throws(LonghaulError) {
        family(
            "longhaul_launches", "launches of hosts and jobs by result, of the last 50 of each",
            try queue.jobs.launchResults().sorted { $0.key < $1.key }.map {
                ("result", $0.key, Double($0.value))
            })
        let jobs = try queue.jobs.all()
        let states = Dictionary(grouping: jobs, by: \.state)
        family(
            "longhaul_jobs", "jobs by state",
            JobRecord.State.allCases.map {
                ("state", $0.rawValue, Double(states[$0]?.count ?? 0))
            })
        let runs = Dictionary(grouping: jobs.flatMap(\.runs)) { run in
            run.result?.rawValue
                ?? (run.endedAt == nil ? "running" : run.expiration?.rawValue ?? "unknown")
        }
        family(
            "longhaul_job_runs", "runs of jobs by result, of the last ten of each",
            runs.sorted { $0.key < $1.key }.map { ("result", $0.key, Double($0.value.count)) })
    }

    mutating func histogram(_ name: String, _ help: String, _ times: TimeHistogram) {
        begin(name, help, "histogram")
        var count = 0
        let bounds = TimeHistogram.bounds.map { "\($0)" } + ["+Inf"]
        for (bound, more) in zip(bounds, times.counts) {
            count += more
            text += "\(name)_bucket{le=\"\(bound)\"} \(count)\n"
        }
        text += "\(name)_count \(count)\n\(name)_sum \(times.seconds)\n"
    }

    private mutating func begin(_ name: String, _ help: String, _ type: String = "gauge") {
        text += "# TYPE \(name) \(type)\n# HELP \(name) \(help)\n"
    }
}
