import Longhaul

/// What `longhaul` without arguments shows on a terminal: how the queue is, and the commands that
/// are used most. The whole help is one option away.
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
            "  longhaul why ID            say what a transfer waits for",
            "",
            "`longhaul --help` shows all commands, `longhaul help COMMAND` the options of one",
        ]
    }

    private static func queue(_ status: QueueStatus) -> String {
        let counts = [TransferState.running, .waiting, .paused, .failed].compactMap { state in
            status.counts[state].flatMap {
                $0 > 0 ? "\(Units.count($0)) \(state.rawValue)" : nil
            }
        }
        if counts.isEmpty { return "nothing is queued" }
        let rate = status.bytesPerSecond > 0 ? " at \(Units.rate(status.bytesPerSecond))" : ""
        let engine = status.engine == nil ? "no engine runs" : "an engine runs"
        return "transfers: \(counts.joined(separator: ", "))\(rate); \(engine)"
    }
}
