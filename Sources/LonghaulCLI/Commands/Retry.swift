import ArgumentParser
import Longhaul

struct Retry: ResumingCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Try failed and cancelled transfers again, from the bytes that are kept.",
        discussion: """
            A relative deadline starts again. One that waits out a back-off is tried now, unless its \
            server has asked for the pause. Names transfers that still wait for conditions. --all \
            and --session leave out transfers that a newer one has replaced (--on-duplicate \
            replace). Starts a background engine when none runs.

              longhaul retry 12
              longhaul retry --session photos

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    var done: String { "queued again" }

    @OptionGroup var which: SelectionOptions

    @OptionGroup var start: StartOptions

    @OptionGroup var output: OutputOptions

    func resume(_ queue: TransferQueue) throws(LonghaulError) -> [ChangeOutcome] {
        try queue.retry(which.selection)
    }
}
