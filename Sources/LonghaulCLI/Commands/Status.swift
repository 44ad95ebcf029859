import ArgumentParser
import Longhaul

/// Failing hosts and jobs with a line each.
private let failingShown = 5

struct Status: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract:
            "Show whether an engine runs, how many transfers there are, and their total rate.",
        discussion: """
              longhaul status
              longhaul status --json | jq .counts.waiting

            \(ExitStatus.help([.done, .usage, .storeUnavailable]))
            """)

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        var status = try TransferQueue.toShow(on: console).status()
        status.configuration = ConfigurationFile.inForce
        if console.isJSON {
            try console.line { $0.value(status) }
            return .done
        }
        for line in Status.lines(status, time: .current()) { try console.line(line) }
        return .done
    }

    static func lines(_ status: QueueStatus, time: TimeText) -> [String] {
        var lines: [String] = []
        if let engine = status.engine {
            lines.append(
                "Engine:     \(engine.mode.rawValue), pid \(engine.pid), since "
                    + "\(time.full(engine.since))"
                    + (engine.isStopped ? "; stopped: kill -CONT \(engine.pid)" : ""))
        } else {
            lines.append("Engine:     none runs; `longhaul run` or `longhaul daemon` starts one")
        }
        let counts = counts(of: TransferState.allCases, in: status)
        lines.append("Transfers:  " + (counts ?? "none"))
        lines += failing(status)
        lines.append("Rate:       " + Units.rate(status.bytesPerSecond))
        if let limit = status.rateLimit {
            lines.append("Limit:      " + LimitText.line(limit, time))
        }
        if let wake = status.nextWake {
            lines.append("Next wake:  \(time.full(wake)) (\(time.distance(wake)))")
        }
        if let path = status.configuration {
            lines.append("Configured: \(TerminalText.shown(path))")
        }
        return lines
    }

    /// A line for each of the first hosts and jobs that failed when they last ran.
    private static func failing(_ status: QueueStatus) -> [String] {
        let all =
            status.failingJobs.map { ("job", $0, "job log") }
            + status.failingHosts.map { ("host", $0, "host show") }
        let lines = all.prefix(failingShown).map { kind, name, command in
            let name = TerminalText.shown(name)
            return "Failing:    \(kind) \(name) (`longhaul \(command) \(name)`)"
        }
        let rest = all.count - lines.count
        return rest == 0
            ? lines
            : lines + ["            and \(Units.count(rest)) more (`longhaul doctor`)"]
    }

    /// Such as `2 running, 1 paused`; `nil` = no transfer is in these states.
    static func counts(of states: [TransferState], in status: QueueStatus) -> String? {
        let counts = states.compactMap { state -> String? in
            guard let count = status.counts[state], count > 0 else { return nil }
            return "\(Units.count(count)) \(state.rawValue)"
        }
        return counts.isEmpty ? nil : counts.joined(separator: ", ")
    }
}

/// Output of `longhaul` without arguments on a terminal: the state of the queue, and the most used
/// commands. The whole help is one option away.
enum Overview {
    static func show(on console: Console) -> ExitStatus {
        console.run {
            for line in lines(try TransferQueue().status()) { try console.line(line) }
            return .done
        }
    }

    static func lines(_ status: QueueStatus) -> [String] {
        [
            queue(status), "",
            "  longhaul get URL           download now and wait",
            "  longhaul enqueue URL       leave a download to the background",
            "  longhaul upload FILE URL   send a file",
            "  longhaul list              show how far everything is",
            "  longhaul why ID            say why a transfer waits",
            "",
            "`longhaul --help` shows all commands, `longhaul help COMMAND` the options of one",
        ]
    }

    private static func queue(_ status: QueueStatus) -> String {
        let counts = Status.counts(of: [.running, .waiting, .paused, .failed], in: status)
        guard let counts else { return "nothing is queued" }
        let rate = status.bytesPerSecond > 0 ? " at \(Units.rate(status.bytesPerSecond))" : ""
        let engine = status.engine == nil ? "no engine runs" : "an engine runs"
        return "transfers: \(counts)\(rate); \(engine)"
    }
}
