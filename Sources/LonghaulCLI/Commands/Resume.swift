import ArgumentParser
import Longhaul

struct Resume: ResumingCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract:
            "Resume paused transfers, and try failed ones again, from the bytes that are kept.",
        discussion: """
            One that waits out a back-off is tried now, unless its server has asked for the pause. \
            Names transfers that still wait for conditions. A completed one is not changed. \
            Starts a background engine when none runs, as `enqueue` does.

              longhaul resume 12
              longhaul resume --all --no-start

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    var done: String { "resumed" }

    @OptionGroup var which: SelectionOptions

    @OptionGroup var start: StartOptions

    @OptionGroup var output: OutputOptions

    func resume(_ queue: TransferQueue) throws(LonghaulError) -> [ChangeOutcome] {
        try queue.resume(which.selection)
    }
}
