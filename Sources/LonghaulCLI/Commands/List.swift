import ArgumentParser
import Longhaul
import LonghaulPlatform

/// Rows laid out together; later pages keep the column widths.
private let listRowsPerPage = 500

struct List: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List transfers: state, progress, and what they wait for.",
        discussion: """
            Without options: the newest 50 unfinished ones, or where there is room the ones that \
            ended last, and the continued tasks that run.

              longhaul list --state failed
              longhaul list --long
              longhaul ls --all --json | jq 'select(.bytesDone > 1e9).destination'

            \(ExitStatus.help([.done, .usage, .storeUnavailable]))
            """,
        aliases: ["ls"])

    @Option(name: .customLong("state"), help: "Only transfers in this state (repeatable).")
    var states: [TransferState] = []

    @Option(help: "Only transfers of this session.", completion: Candidates.sessions)
    var session: String?

    @Option(help: "List at most this number, unfinished ones first.")
    var limit: Int?

    @Flag(help: "All transfers, also ones that ended long ago.")
    var all = false

    @Flag(name: .shortAndLong, help: "Show session, priority and URL, and cut nothing off.")
    var long = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1") }
    }

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue.toShow(on: console)
        if console.isJSON {
            try forEachTransfer(in: queue) { transfer in
                try console.line { $0.value(transfer, as: Transfer.listed) }
            }
            return .done
        }
        var table = TransferTable(
            terminal: .of(1), time: .current(), home: Environment.value("HOME"), isLong: long)
        var page: [Transfer] = []
        var isFirstPage = true
        func show() throws {
            for line in table.lines(page, isFirstPage: isFirstPage) { try console.line(line) }
            page.removeAll(keepingCapacity: true)
            isFirstPage = false
        }
        try forEachTransfer(in: queue) { transfer in
            page.append(transfer.asShown)
            if page.count == listRowsPerPage { try show() }
        }
        if !page.isEmpty { try show() }
        let tasks = try session == nil && states.isEmpty ? queue.tasks.runningContinued() : []
        for task in tasks { try console.line(TaskText.listed(task)) }
        if isFirstPage, tasks.isEmpty { console.say("no transfers") }
        return .done
    }

    /// Without a limit the transfers are read in pages: there may be millions.
    private func forEachTransfer(
        in queue: TransferQueue, _ body: (Transfer) throws -> Void
    ) throws {
        let filter = filter
        if filter.limit == nil { return try queue.forEachTransfer(filter, body) }
        for transfer in try queue.transfers(filter) { try body(transfer) }
    }

    var filter: TransferFilter {
        var filter = TransferFilter()
        filter.states = states.isEmpty ? nil : Set(states)
        filter.session = session
        filter.includeAll = all
        // A filter by state includes transfers that ended long ago.
        if !states.isEmpty { filter.includeAll = true }
        filter.limit = limit ?? (filter.includeAll ? nil : 50)
        return filter
    }
}
