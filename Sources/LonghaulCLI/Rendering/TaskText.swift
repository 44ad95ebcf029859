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
        let rows = tasks.map { task in
            [
                TerminalText.shown(task.request.identifier), host(task),
                task.request.kind.rawValue, task.state.rawValue, note(task),
            ]
        }
        return TableLayout.lines(
            [
                .init(title: "TASK"), .init(title: "HOST", dropRank: 1),
                .init(title: "KIND", dropRank: 2), .init(title: "STATE"),
                .init(title: "WAITS FOR", shrinksTo: 12),
            ], rows, terminal)
    }

    func lines(_ task: TaskRecord) -> [String] {
        let request = task.request
        var lines = TextLine.table(of: task, moment: time.full)
        if task.state == .done {
            lines = [
                TextLine(0, "task", TerminalText.shown(request.identifier)),
                TextLine(2, "state", task.state.rawValue),
            ]
        } else {
            lines += definition(task)
        }
        lines += [
            TextLine(1, "host", host(task)),
            TextLine(8, "waits for", all: task.waitingFor.map(waits.long)),
            TextLine(9, "progress", task.progress.map(progress)),
            TextLine(9, "forecast", forecast(task)),
        ]
        return TextLine.ordered(lines) + task.runs.map(line)
    }

    private func progress(_ progress: TaskProgress) -> String {
        "\(progress.percent) %, \(progress.completedUnitCount) of \(progress.totalUnitCount)"
    }

    /// A request of `host show`.
    func short(_ task: TaskRecord) -> String {
        "task \(TerminalText.shown(task.request.identifier)): " + forecast(task)
    }

    /// The lines that several facts of a pending request make.
    private func definition(_ task: TaskRecord) -> [TextLine] {
        let request = task.request
        let emptyRuns = request.repetition.flatMap { repetition -> String? in
            if task.emptyRuns == 0 { return nil }
            let now = Units.duration(repetition.interval(afterEmpty: task.emptyRuns))
            return "\(Units.counted(task.emptyRuns, "run")) in a row; every \(now)"
                + " until one succeeds"
        }
        return [
            TextLine(4, "every", TaskText.interval(request)),
            TextLine(
                6, "requires",
                request.requirements.isEmpty
                    ? nil : request.requirements.names.joined(separator: ", ") + whenLost(request)),
            TextLine(
                6, "payload", request.payload.map { TerminalText.shown(ShownOutput.text($0)) }),
            TextLine(7, "failures", task.failures > 0 ? "\(task.failures) in a row" : nil),
            TextLine(7, "no data", emptyRuns),
        ]
    }

    /// The interval of a request; `nil`: it does not repeat after one.
    static func interval(_ request: TaskRequest) -> String? {
        request.repetition.map {
            "\(Units.duration($0.interval)), up to \(Units.duration($0.slack)) earlier"
        }
    }

    private func whenLost(_ request: TaskRequest) -> String {
        if !request.expiresWhenRequirementIsLost { return "; continues when it is lost" }
        return request.returnsAfterExpiration ? "" : "; is dropped when it is lost"
    }

    private func forecast(_ task: TaskRecord) -> String {
        task.forecast(now: time.now) { time.short($0) }.text
    }

    /// Title and progress of a continued task.
    static func progress(_ task: TaskRecord) -> String {
        let percent = task.progress.map { "\($0.percent) %" }
        return [task.continued?.title, task.continued?.subtitle, percent]
            .compactMap { $0.map { TerminalText.shown($0) } }.joined(separator: ", ")
    }

    /// A line of `list`.
    static func listed(_ task: TaskRecord) -> String {
        "task \(TerminalText.shown(task.request.identifier)): " + progress(task)
    }

    private func note(_ task: TaskRecord) -> String {
        if task.state != .waiting { return Self.progress(task) }
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
