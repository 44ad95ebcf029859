import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Watch: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show the progress of running transfers until none is left.",
        discussion: """
            The lines of `get`, for all transfers that run or wait and for continued tasks that \
            run, until none is left. Moves \
            nothing itself: `longhaul status` says whether an engine runs. Ctrl-C ends it, and \
            nothing else.

              longhaul watch
              longhaul watch --session photos

            \(ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable, .interrupted]))
            """)

    @Option(help: "Only transfers of this session.", completion: Candidates.sessions)
    var session: String?

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        if let session, try queue.session(session) == nil {
            throw LonghaulError.noSuchSession(session)
        }
        Signals.watch()
        let changes = StoreChanges(of: queue)
        let progress = QueueProgress(
            queue, session: session, display: .standard(console, count: 1))
        defer { progress.clear() }
        if try !progress.refresh(namingEnded: true) {
            console.say("longhaul: \(try nothing(in: queue))")
            return .done
        }
        while try progress.refresh(namingEnded: true) {
            if let status = try console.flushBeforeWait() { return status }
            changes.wait(timeout: progress.tickSeconds)
        }
        return .done
    }

    private func nothing(in queue: TransferQueue) throws -> String {
        let session = session.map { " of session \(TerminalText.shown($0))" } ?? ""
        let paused = self.session == nil ? try queue.status().counts[.paused] ?? 0 : 0
        return "no transfer\(session) runs or waits"
            + (paused > 0 ? "; \(Units.count(paused)) paused (`longhaul resume --all`)" : "")
    }
}
