import ArgumentParser
import Longhaul

struct Now: ResumingCommand {
    static let configuration = CommandConfiguration(
        commandName: "now",
        abstract: "Run transfers now, despite their schedule and conditions.",
        discussion: """
            Sets --earliest, --window, --require and --prefer aside until the attempt ends; `show` \
            says so. Ends back-offs. Resumes a paused transfer and tries a failed one again. A \
            completed one is not changed. A missing network, a full disk and the limits on \
            running transfers still hold. Starts a background engine when none runs, as `enqueue` \
            does.

              longhaul now 12
              longhaul now --session photos

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    var done: String { "runs now" }
    var doneToMany: String { "run now" }

    @OptionGroup var which: SelectionOptions

    @OptionGroup var start: StartOptions

    @OptionGroup var output: OutputOptions

    func resume(_ queue: TransferQueue) throws(LonghaulError) -> [ChangeOutcome] {
        try queue.runNow(which.selection)
    }
}
