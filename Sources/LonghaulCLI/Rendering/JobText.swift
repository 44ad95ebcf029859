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
        var layout = TableLayout(
            columns: [
                .init(title: "JOB"), .init(title: "STATE"),
                .init(title: "WAITS FOR", shrinksTo: 12), .init(title: "LAST RUN", shrinksTo: 12),
                .init(title: "COMMAND", shrinksTo: 8, dropRank: 1),
            ], width: terminal.columns, ellipsis: terminal.ellipsis)
        let rows = jobs.map { job in
            [
                TerminalText.shown(job.name), job.state.rawValue, wait(job), lastRun(job),
                command(job),
            ]
        }
        var lines = layout.lines(rows, includingTitles: true)
        lines[0] = terminal.styled(lines[0], .bold)
        return lines
    }

    func lines(_ job: JobRecord) -> [String] {
        var lines = [
            "job        \(TerminalText.shown(job.name))",
            "command    \(command(job))",
            "directory  \(TerminalText.shown(job.settings.directory))",
            "state      \(job.state.rawValue)",
        ]
        if let request = job.request { lines += definition(request) }
        lines += settings(job.settings)
        if job.failures > 0 { lines.append("failures   \(job.failures) in a row") }
        lines += job.waitingFor.map { "waits for  " + waits.long($0) }
        lines.append("forecast   " + forecast(job))
        return lines + job.runs.map(line)
    }

    func why(_ job: JobRecord) -> [String] {
        job.waitingFor.map { "waits for  " + waits.long($0) } + ["forecast   " + forecast(job)]
    }

    private func command(_ job: JobRecord) -> String {
        ShownOutput.arguments(job.argv).map { TerminalText.shown($0) }.joined(separator: " ")
    }

    private func definition(_ request: TaskRequest) -> [String] {
        var lines = TaskText.times(request, time)
        if let daily = request.job?.daily { lines.append("at         \(daily)") }
        lines += TaskText.triggers(request)
        if let after = request.job?.after, !after.isEmpty {
            let ids = after.map(\.description).joined(separator: ", ")
            lines.append("after      transfer" + (after.count > 1 ? "s \(ids)" : " \(ids)"))
        }
        if let windows = request.job?.windows { lines.append("window     \(windows)") }
        if let zone = request.job?.timeZone { lines.append("time zone  \(zone)") }
        if let deadline = request.job?.deadline {
            lines.append("deadline   \(time.full(deadline))")
        }
        if !request.requirements.isEmpty {
            let lost = request.expiresWhenRequirementIsLost ? "" : "; a run continues without them"
            lines.append(
                "requires   " + request.requirements.names.joined(separator: ", ") + lost)
        }
        if let prefers = request.job?.prefers, !prefers.isEmpty {
            lines.append("prefers    " + prefers.names.joined(separator: ", "))
        } else if request.job?.isDiscretionary == true {
            lines.append("prefers    power, unmetered, idle")
        }
        return lines
    }

    private func settings(_ settings: JobSettings) -> [String] {
        var lines = settings.maxSeconds.map { ["max time   \(Units.duration($0))"] } ?? []
        switch settings.inhibitsSleep {
        case .off: break
        case .on: lines.append("awake      an unused machine, during a run")
        case .onPower: lines.append("awake      an unused machine on power, during a run")
        }
        if settings.notifies { lines.append("notifies   when a run fails") }
        return lines
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

    private func line(_ run: TaskRun) -> String {
        if run.launch == 0 { return "no run     \(time.full(run.startedAt)): \(ending(run))" }
        let cause = run.cause.map { ", \($0)" } ?? ""
        var parts: [String] = []
        if let end = run.endedAt {
            parts.append("after \(Units.duration(max(0, end - run.startedAt)))")
        }
        if let used = run.processorSeconds {
            parts.append("\(Units.duration(used)) of a processor")
        }
        let took = parts.isEmpty ? "" : " " + parts.joined(separator: ", ")
        return "run \(run.launch): \(time.full(run.startedAt))\(cause): \(ending(run))\(took)"
    }

    private func ending(_ run: TaskRun) -> String {
        if run.endedAt == nil { return "runs" }
        if let missed = run.missedTransfer {
            return "failed: transfer \(missed) did not complete"
        }
        if run.launch == 0 { return "failed: its deadline passed before it could run" }
        var how = run.exitStatus.map { $0 == 0 ? "" : ", exit status \($0)" } ?? ""
        if let signal = run.signal { how = ", signal \(signal)" }
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
        case .processor, .simulated: return "failed: ended by simulate-expiration"
        case nil: return "lost with the machine"
        }
    }
}
