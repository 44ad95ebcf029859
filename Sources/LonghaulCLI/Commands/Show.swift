import ArgumentParser
import Longhaul

struct Show: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about one transfer: its request, attempts and events.",
        discussion: """
              longhaul show 12
              longhaul show 12 --json | jq .attemptRecords

            \(ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The transfer's id.", completion: Candidates.ids)
    var id: TransferID

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue.toShow(on: console)
        guard let transfer = try queue.transfer(id) else { throw LonghaulError.noSuch(id) }
        let attempts = try queue.attempts(of: id)
        let events = try queue.events(of: id)
        if console.isJSON {
            let validator = try HeldVersion.validator(of: id, in: queue)
            try console.line {
                $0.value((transfer, validator, attempts, events), as: Transfer.fieldsOfHistory)
            }
            return .done
        }
        let text = TransferText(
            time: .current(), terminal: .of(1), limit: try RateControl(queue).limit())
        for line in text.lines(transfer.asShown, attempts: attempts, events: events) {
            try console.line(line)
        }
        return .done
    }
}

extension LonghaulError {
    static func noSuch(_ id: TransferID) -> LonghaulError {
        LonghaulError(
            .noSuchTransfer, "no such transfer; `longhaul list --all` shows all", transferID: id)
    }
}
