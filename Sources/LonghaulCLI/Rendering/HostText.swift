import Longhaul

/// Hosts and their launches, for people.
struct HostText {
    var time: TimeText

    func table(_ hosts: [HostRecord], _ terminal: TerminalFacts) -> [String] {
        let rows = hosts.map { host in
            [
                TerminalText.shown(host.name), state(host.state), "\(host.failures)",
                program(host.settings),
            ]
        }
        return TableLayout.lines(
            [
                .init(title: "HOST"), .init(title: "STATE"), .init(title: "FAILURES"),
                .init(title: "PROGRAM"),
            ], rows, terminal)
    }

    /// - Parameter tasks: Its requests that wait or run.
    func lines(_ host: HostRecord, _ tasks: [TaskRecord] = []) -> [String] {
        let settings = host.settings
        let budgets = [
            settings.eventBudget ?? HostSettings.defaultEventBudget,
            settings.taskBudget ?? HostSettings.defaultTaskBudget,
        ].map { Units.duration($0) }
        let permitted = settings.permitted.map { TerminalText.shown($0) }.joined(separator: ", ")
        var lines =
            TextLine.table(of: host, moment: time.full) + [
                TextLine(1, "program", program(settings)), TextLine(1, "state", state(host.state)),
            ]
        if !host.isJob {
            lines += [
                TextLine(
                    3, "budgets",
                    "events, refreshes and wake-ups \(budgets[0]), processing \(budgets[1])"),
                TextLine(3, "memory", settings.maxMemory.map { "at most \(Units.size($0))" }),
                TextLine(3, "permitted", permitted.isEmpty ? "none" : permitted),
                TextLine(
                    3, "notifies",
                    settings.notifies ? "when a task or an activity has used up its time" : nil),
            ]
        } else {
            let name = TerminalText.shown(host.name)
            lines.append(TextLine(3, "kind", "job, see `longhaul job show \(name)`"))
        }
        let urgency = host.urgencyLostUntil.map { until in
            "lost until \(time.full(until)): \(Limits.urgentFailures) urgent wake-ups in"
                + " a row were not handled; `host reset` gives it back"
        }
        lines.append(TextLine(4, "urgency", urgency))
        lines.append(TextLine(4, "token", host.hasToken ? "wakes it over HTTP" : nil))
        return TextLine.ordered(lines) + tasks.map { TaskText(time: time).short($0) }
            + host.subscriptions.map(self.line) + host.wakeUps.flatMap(self.lines)
            + host.launches.flatMap(self.lines)
    }

    private func line(_ subscription: PushSubscription) -> String {
        let url = TerminalText.shown(Redaction.url(subscription.url))
        let name = "push \(url)" + (subscription.isUrgent ? ", urgent" : "")
        if let since = subscription.connectedAt {
            return "\(name): connected since \(time.full(since))"
        }
        let next = subscription.retryAt.map { ", tried again \(time.distance(max($0, time.now)))" }
        guard let error = subscription.error else { return "\(name): not connected\(next ?? "")" }
        let why = TerminalText.shown(Redaction.text(error.message))
        return "\(name): failed\(next ?? ""): \(why)"
    }

    func lines(_ wakeUp: WakeUpRecord) -> [String] {
        let name = wakeUp.identifier.map { " " + TerminalText.shown($0) } ?? ""
        let kind = "wake-up\(name)" + (wakeUp.isUrgent ? ", urgent" : "")
        let at = wakeUp.endedAt.map(time.full) ?? ""
        switch wakeUp.state {
        case .waiting:
            let expires = wakeUp.expiresAt.map { "; expires \(time.distance($0))" } ?? ""
            return ["\(kind): \(wakeUp.forecast?.text ?? "it waits")\(expires)"]
                + wakeUp.waitingFor.map { "    waits for  " + WaitText(time: time).long($0) }
        case .dropped:
            return ["\(kind): dropped \(at), since it expired: \(why(wakeUp.droppedFor))"]
        case .failed:
            return ["\(kind): not handled by launch \(wakeUp.launch ?? 0), \(at)"]
        }
    }

    private func why(_ obstacle: WaitReason.Reason?) -> String {
        switch obstacle {
        case .backoff: "its host waited after a failure"
        case .host: "its host was attached, busy or could not be run"
        case .budget: "its host had been launched for others"
        case nil, .engine: "no engine ran in time"
        case let other?: "it waited for \(other.condition ?? other.rawValue)"
        }
    }

    private func program(_ settings: HostSettings) -> String {
        TerminalText.shown(ShownOutput.arguments(settings.argv).joined(separator: " "))
    }

    private func state(_ state: HostState) -> String {
        switch state {
        case .idle: "nothing is due for it"
        case .attached: "attached"
        case .running: "runs"
        case .due(let at): "due " + time.distance(at)
        case .delayed(let at): "failed; started again " + time.distance(at)
        case .blocked(.removed): "not known any more"
        case .blocked(.missing): "its program is missing; due launches wait"
        case .blocked(.notExecutable): "its program may not be run; due launches wait"
        }
    }

    private func lines(_ launch: LaunchRecord) -> [String] {
        var parts = [time.full(launch.startedAt), launch.reason.rawValue]
        if let session = launch.session { parts.append("session " + TerminalText.shown(session)) }
        if launch.session != nil || launch.handed > 0 {
            parts.append(Units.counted(launch.handed, "event"))
        }
        parts += launch.tasks.map { TerminalText.shown($0) }
        let used = launch.processorSeconds.map { ", \(Units.duration($0)) of a processor" } ?? ""
        var lines = [
            "launch \(launch.id): \(parts.joined(separator: ", ")): \(ending(launch))\(used)"
        ]
        let output = ShownOutput.text(launch.output ?? "").byteLines.filter { !$0.isEmpty }
        for line in output.suffix(5) { lines.append("    " + TerminalText.shown(String(line))) }
        return lines
    }

    private func ending(_ launch: LaunchRecord) -> String {
        switch launch.ending {
        case nil: "runs"
        case let ending?: ending.text(status: launch.status, launch.expiration)
        }
    }
}

extension EngineFailure {
    /// The failure as a line.
    var text: String {
        switch self {
        case .transfer(let id, let error):
            return "transfer \(id) failed: \(TerminalText.shown(Redaction.text(error.message)))"
        case .host(let host, let failure):
            return "host \(TerminalText.shown(host)) failed: " + failure.text
        case .job(let job, let failure):
            return "job \(TerminalText.shown(job)) failed: " + failure.text
                + "; `longhaul job log \(TerminalText.shown(job))`"
        case .task(let task, let host):
            return "task \(TerminalText.shown(task)) of host \(TerminalText.shown(host)) failed"
        }
    }
}

extension LaunchFailure {
    /// The failure of the launch, and the last line of its output.
    fileprivate var text: String {
        how + (lastLine.map { "; it said: " + TerminalText.shown($0) } ?? "")
    }
}
