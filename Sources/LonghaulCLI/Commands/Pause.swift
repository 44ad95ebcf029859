import ArgumentParser
import Longhaul

struct Pause: ChangingCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop transfers and keep their bytes until `resume`.",
        discussion: """
              longhaul pause 12
              longhaul pause --session photos

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    static let done = "paused"

    @OptionGroup var which: SelectionOptions

    @OptionGroup var output: OutputOptions

    func change(_ queue: TransferQueue) throws(LonghaulError) -> [ChangeOutcome] {
        try queue.pause(which.selection)
    }
}
