import ArgumentParser
import Longhaul

struct Cancel: ChangingCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "End transfers for good and delete the bytes received so far.",
        discussion: """
              longhaul cancel 12 13
              longhaul cancel 12 --keep-bytes     `longhaul retry 12` resumes it

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    var done: String { "cancelled" }

    @OptionGroup var which: SelectionOptions

    @Flag(help: "Keep the part file for a later `retry`.")
    var keepBytes = false

    @OptionGroup var output: OutputOptions

    func change(_ queue: TransferQueue) throws(LonghaulError) -> [ChangeOutcome] {
        try queue.cancel(which.selection, keepingBytes: keepBytes, by: .command)
    }
}
