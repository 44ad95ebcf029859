import Longhaul

/// Requests of background tasks and their runs, for people.
struct TaskText {
    var time: TimeText
    private var waits: WaitText { WaitText(time: time) }

    init(time: TimeText) {
        self.time = time
    }

    /// The answer to `task submit`.
    func submitted(_ task: TaskRecord) -> String { name(task) + ": " + forecast(task) }

    func table(_ tasks: [TaskRecord], _ terminal: TerminalFacts) -> [String] {
        var layout = TableLayout(
            columns: [
                .init(title: "TASK"), .init(title: "HOST", dropRank: 1),
                .init(title: "KIND", dropRank: 2), .init(title: "STATE"),
                .init(title: "WAITS FOR", shrinksTo: 12),
            ], width: terminal.columns, ellipsis: terminal.ellipsis)
        let rows = tasks.map { task in
            [
                TerminalText.shown(task.request.identifier), host(task),
                task.request.kind.rawValue, task.state.rawValue, wait(task),
            ]
        }
        var lines = layout.lines(rows, includingTitles: true)
        lines[0] = terminal.styled(lines[0], .bold)
        return lines
    }

    func lines(_ task: TaskRecord) -> [String] {
        let request = task.request
        var lines = [
            "task       \(TerminalText.shown(request.identifier))",
            "host       \(host(task))",
            "state      \(task.state.rawValue)",
        ]
        if task.state != .done {
            lines += [
                "kind       \(request.kind.rawValue)",
                "submitted  \(time.full(task.submittedAt))",
            ]
            lines += definition(request)
            if task.failures > 0 { lines.append("failures   \(task.failures) in a row") }
            if task.emptyRuns > 0, let repetition = request.repetition {
                let now = Units.duration(repetition.interval(afterEmpty: task.emptyRuns))
                lines.append(
                    "no data    \(Units.counted(task.emptyRuns, "run")) in a row; every \(now)"
                        + " until one succeeds")
            }
        }
        lines += task.waitingFor.map { "waits for  " + waits.long($0) }
        lines.append("forecast   " + forecast(task))
        return lines + task.runs.map(line)
    }

    /// A request of `host show`.
    func short(_ task: TaskRecord) -> String {
        "task \(TerminalText.shown(task.request.identifier)): " + forecast(task)
    }

    private func definition(_ request: TaskRequest) -> [String] {
        var lines = TaskText.times(request, time)
        lines += TaskText.triggers(request)
        if !request.requirements.isEmpty {
            lines.append(
                "requires   " + request.requirements.names.joined(separator: ", ")
                    + whenLost(request))
        }
        if let payload = request.payload {
            lines.append("payload    " + TerminalText.shown(ShownOutput.text(payload)))
        }
        return lines
    }

    /// The lines of a request about its earliest moment and its interval.
    static func times(_ request: TaskRequest, _ time: TimeText) -> [String] {
        var lines: [String] = []
        if let earliest = request.earliestBegin {
            lines.append("earliest   \(time.full(earliest))")
        }
        if let repetition = request.repetition {
            lines.append(
                "every      \(Units.duration(repetition.interval)), up to"
                    + " \(Units.duration(repetition.slack)) earlier")
        }
        return lines
    }

    /// The line of a request about its triggers; empty = it has none.
    static func triggers(_ request: TaskRequest) -> [String] {
        if request.triggers.isEmpty { return [] }
        return ["on         " + request.triggers.map(\.rawValue).joined(separator: ", ")]
    }

    private func whenLost(_ request: TaskRequest) -> String {
        if !request.expiresWhenRequirementIsLost { return "; continues when it is lost" }
        return request.returnsAfterExpiration ? "" : "; is dropped when it is lost"
    }

    private func forecast(_ task: TaskRecord) -> String {
        task.forecast(now: time.now) { time.short($0) }.text
    }

    private func wait(_ task: TaskRecord) -> String {
        if task.state != .waiting { return "" }
        if task.waitingFor.contains(where: { $0.reason == .trigger }) {
            return task.request.triggers.map(\.rawValue).joined(separator: ", ")
        }
        return waits.short(task.waitingFor)
    }

    private func name(_ task: TaskRecord) -> String {
        "\(TerminalText.shown(task.request.identifier)) (\(host(task)))"
    }

    private func host(_ task: TaskRecord) -> String {
        TerminalText.shown(task.request.host ?? "none")
    }

    private func line(_ run: TaskRun) -> String {
        let triggers = run.triggers.map(\.rawValue).joined(separator: " and ")
        let on = triggers.isEmpty ? "" : ", on \(triggers)"
        return "launch \(run.launch): \(time.full(run.startedAt))\(on): \(ending(run))"
    }

    private func ending(_ run: TaskRun) -> String {
        let failed = run.exitStatus.flatMap { $0 == 0 ? nil : $0 }
        let status = failed.map { ", exit status \($0)" } ?? ""
        if let result = run.result { return result.rawValue + status }
        if let expiration = run.expiration { return expiration.text + status }
        return run.endedAt == nil ? "runs" : "ended, and no engine saw how"
    }
}
