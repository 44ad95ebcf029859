import Longhaul
import LonghaulPlatform

/// Jobs and their runs, for people.
struct JobText {
    var time: TimeText
    private var waits: WaitText { WaitText(time: time) }

    init(time: TimeText) {
        self.time = time
    }

    /// The answer to `job add`.
    func added(_ job: JobRecord) -> String {
        "\(TerminalText.shown(job.name)): \(forecast(job))"
    }

    func table(_ jobs: [JobRecord], _ terminal: TerminalFacts) -> [String] {
        let rows = jobs.map { job in
            [
                TerminalText.shown(job.name), job.state.rawValue, wait(job), lastRun(job),
                command(job),
            ]
        }
        return TableLayout.lines(
            [
                .init(title: "JOB"), .init(title: "STATE"),
                .init(title: "WAITS FOR", shrinksTo: 12), .init(title: "LAST RUN", shrinksTo: 12),
                .init(title: "COMMAND", shrinksTo: 8, dropRank: 1),
            ], rows, terminal)
    }

    func lines(_ job: JobRecord) -> [String] {
        let lines =
            TextLine.table(of: job, moment: time.full) + settings(job)
            + (job.request.map(definition) ?? []) + reasons(job)
        return TextLine.ordered(lines) + job.runs.map { line($0, of: job) }
    }

    func why(_ job: JobRecord) -> [String] { TextLine.ordered(reasons(job)) }

    private func reasons(_ job: JobRecord) -> [TextLine] {
        [
            TextLine(13, "waits for", all: job.waitingFor.map(waits.long)),
            TextLine(14, "forecast", forecast(job)),
        ]
    }

    private func command(_ job: JobRecord) -> String {
        ShownOutput.arguments(job.argv).map { TerminalText.shown($0) }.joined(separator: " ")
    }

    private func definition(_ request: TaskRequest) -> [TextLine] {
        let after = request.job?.after ?? []
        let ids = after.map(\.description).joined(separator: ", ")
        let lost = request.expiresWhenRequirementIsLost ? "" : "; a run continues without them"
        let requires = request.requirements.names.joined(separator: ", ")
        var prefers = request.job?.prefers?.names.joined(separator: ", ") ?? ""
        if prefers.isEmpty, request.job?.isDiscretionary == true {
            prefers = "power, unmetered, idle"
        }
        return [
            TextLine(4, "every", TaskText.interval(request)),
            TextLine(5, "at", request.job?.daily.map { "\($0)" }),
            TextLine(
                7, "after", after.isEmpty ? nil : "transfer\(after.count > 1 ? "s" : "") \(ids)"),
            TextLine(9, "requires", requires.isEmpty ? nil : requires + lost),
            TextLine(9, "prefers", prefers.isEmpty ? nil : prefers),
        ]
    }

    private func settings(_ job: JobRecord) -> [TextLine] {
        let awake: String? =
            switch job.settings.inhibitsSleep {
            case .off: nil
            case .on: "an unused machine, during a run"
            case .onPower: "an unused machine on power, during a run"
            }
        return [
            TextLine(1, "command", command(job)),
            TextLine(10, "memory", job.settings.maxMemory.map { "at most \(Units.size($0))" }),
            TextLine(11, "awake", awake),
            TextLine(11, "notifies", job.settings.notifies ? notifies(job) : nil),
            TextLine(12, "failures", job.failures > 0 ? "\(job.failures) in a row" : nil),
        ]
    }

    private func notifies(_ job: JobRecord) -> String {
        job.settings.isOnce ? "when it has ended, or a run fails" : "when a run fails"
    }

    private func forecast(_ job: JobRecord) -> String {
        job.forecast(now: time.now) { time.short($0) }.text
    }

    private func wait(_ job: JobRecord) -> String {
        if job.state != .waiting { return "" }
        if job.waitingFor.contains(where: { $0.reason == .trigger }) {
            return (job.request?.triggers ?? []).map(\.rawValue).joined(separator: ", ")
        }
        return waits.short(job.waitingFor)
    }

    private func lastRun(_ job: JobRecord) -> String {
        guard let run = job.runs.first(where: { $0.endedAt != nil }) else { return "" }
        return "\(time.short(run.startedAt)) \(ending(run))"
    }

    private func line(_ run: TaskRun, of job: JobRecord) -> String {
        if run.launch == 0 { return "no run     \(time.full(run.startedAt)): \(ending(run))" }
        let cause = run.cause.map { ", \($0)" } ?? ""
        var parts: [String] = []
        if let end = run.endedAt {
            parts.append("after \(Units.duration(max(0, end - run.startedAt)))")
        }
        if let used = run.processorSeconds {
            parts.append("\(Units.duration(used)) of a processor")
        }
        if run.result == .failure, run.launch != 0, job.settings.maxMemory != nil,
            !run.hasExceededMemory
        {
            parts.append("it may have exceeded its memory")
        }
        let took = parts.isEmpty ? "" : " " + parts.joined(separator: ", ")
        return "run \(run.launch): \(time.full(run.startedAt))\(cause): \(ending(run))\(took)"
    }

    /// How a run ended, as in `failed, exit status 2`.
    func ending(_ run: TaskRun) -> String {
        if run.endedAt == nil { return "runs" }
        if let miss = run.miss { return "failed: \(miss)" }
        var how = run.exitStatus.map { $0 == 0 ? "" : ", exit status \($0)" } ?? ""
        if let signal = run.signal { how = ", signal \(signal)" }
        if run.hasExceededMemory { how = ", it exceeded its memory" }
        switch run.result {
        case .success, .noData: return "done"
        case .failure: return "failed" + how
        case .deferred: return "put off" + how
        case nil: break
        }
        switch run.expiration {
        case .requirement: return "stopped, a requirement was lost"
        case .cancelled: return "cancelled"
        case .time: return "failed: its time was over"
        case .processor, .simulated, .progress: return "failed: ended by simulate-expiration"
        case nil: return "lost with the machine"
        }
    }
}
