import ArgumentParser
import Longhaul

struct Why: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Say what a transfer waits for, and when it will run.",
        discussion: """
            Every condition that holds it: the required and the present value, since when, and \
            when it is checked again; and the forecast. Of a host: its wake-ups that wait.

              longhaul why 12
              longhaul why com.example.feed
              longhaul why 12 --json | jq -r '.waitingFor[].reason'

            \(ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The transfer's id, or the name of a host.", completion: Candidates.ids)
    var id: String

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        guard let id = TransferID(argument: id) else { return try explainHost(queue, on: console) }
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

    private func explainHost(_ queue: TransferQueue, on console: Console) throws -> ExitStatus {
        guard let host = try queue.host(id) else {
            throw LonghaulError.usage(
                "\(TerminalText.shown(id)) is neither the id of a transfer nor the name of a host")
        }
        let waiting = host.wakeUps.filter { $0.state == .waiting }
        if console.isJSON {
            for wakeUp in waiting { try console.line { $0.value(wakeUp) } }
            return .done
        }
        let text = HostText(time: .current())
        let lines = waiting.flatMap { text.lines($0) }
        for line in lines.isEmpty ? ["no wake-up waits"] : lines { try console.line(line) }
        return .done
    }
}
