import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Pause: ChangingCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop transfers and keep their bytes until `resume`.",
        discussion: """
            With --for they wait until then (`--earliest`), and run again by themselves. \
            `longhaul now` ends that pause. What was paused before stays paused.

              longhaul pause 12
              longhaul pause --session photos
              longhaul pause --all --for 1h

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    var done: String { period.map { "paused for \($0)" } ?? "paused" }

    @OptionGroup var which: SelectionOptions

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Run again after this: 90s, 15m, 2h.", valueName: "duration"))
    var period: String?

    @OptionGroup var output: OutputOptions

    func change(_ queue: TransferQueue) throws(LonghaulError) -> [ChangeOutcome] {
        guard let period else { return try queue.pause(which.selection) }
        let seconds = try OptionText.duration(period, "--for")
        let end = SystemClock.now().wall + seconds
        var change = TransferChange()
        change.earliestBegin = end
        var paused = TransferFilter()
        paused.states = [.paused]
        let before = Set(try queue.transfers(paused).map(\.id))
        var outcomes = try queue.pause(which.selection)
        let mine = outcomes.indices.filter {
            outcomes[$0].isDone && !before.contains(outcomes[$0].id)
        }
        for index in mine {
            let id = outcomes[index].id
            if let begin = try queue.transfer(id)?.earliestBegin, begin > end { continue }
            do {
                try queue.change(id, change)
            } catch {
                // Its deadline is earlier: it stays paused.
                outcomes[index].error = error
            }
        }
        _ = try queue.resume(.ids(mine.map { outcomes[$0] }.filter(\.isDone).map(\.id)))
        return outcomes
    }
}
