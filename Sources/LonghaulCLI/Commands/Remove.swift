import ArgumentParser
import Longhaul

struct Remove: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Forget ended transfers and delete their part files.",
        discussion: """
            A completed file is never deleted. A transfer that has not ended is refused: cancel \
            it first.

              longhaul remove 12 13
              longhaul cancel 14 && longhaul remove 14

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """,
        aliases: ["rm"])

    @Argument(help: "Ids, as `enqueue` and `list` print them.", completion: Candidates.ids)
    var ids: [TransferID]

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        try PendingCancels.wait(for: ids, in: queue)
        let outcomes = try queue.remove(ids)
        for outcome in outcomes {
            if var error = outcome.error {
                error.transferID = error.transferID ?? outcome.id
                try console.refuse(error)
            } else if console.isJSON {
                try console.line { json in
                    json.object {
                        $0.field("id", outcome.id.rawValue)
                        $0.field("removed", true)
                    }
                }
            } else {
                try console.line("\(outcome.id) removed")
            }
        }
        return ExitStatus(outcomes)
    }
}
