import ArgumentParser
import Longhaul

struct Clean: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "clean",
        abstract: "Forget all ended transfers and delete their part files.",
        discussion: """
            A completed file is never deleted.

              longhaul clean
              longhaul clean --older-than 30d

            \(ExitStatus.help([.done, .usage, .storeUnavailable]))
            """)

    @Option(help: "Only what ended longer ago than this: 90s, 15m, 2h, 7d.")
    var olderThan: String?

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let seconds = try olderThan.map { try OptionText.duration($0, "--older-than") } ?? 0
        let queue = try TransferQueue()
        // Transfers whose cancellation is still pending count as just ended.
        if seconds == 0 { try PendingCancels.wait(for: nil, in: queue) }
        let count = try queue.clean(endedBefore: seconds)
        if console.isJSON {
            try console.line { $0.object { $0.field("removed", count) } }
        } else {
            try console.line("\(Units.counted(count, "transfer")) removed")
        }
        return .done
    }
}
