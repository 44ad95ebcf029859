import ArgumentParser
import Longhaul

struct Why: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Say what a transfer waits for, and when it will run.",
        discussion: """
            Every condition that holds it: the required and the present value, since when, and \
            when it is checked again; and the forecast.

              longhaul why 12
              longhaul why 12 --json | jq -r '.waitingFor[].reason'

            \(ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The transfer's id.", completion: Candidates.ids)
    var id: TransferID

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        guard let transfer = try queue.transfer(id) else { throw LonghaulError.noSuch(id) }
        if console.isJSON {
            let forecast = try queue.forecast(of: transfer) { RFC3339.format($0) }
            try console.line { $0.value((transfer, forecast), as: Transfer.why) }
            return .done
        }
        let time = TimeText.current()
        let forecast = try queue.forecast(of: transfer) { time.short($0) }
        for line in WhyText(time: time).lines(transfer, forecast) { try console.line(line) }
        return .done
    }
}
