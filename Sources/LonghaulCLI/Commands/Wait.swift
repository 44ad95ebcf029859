import ArgumentParser
import Longhaul
import LonghaulPlatform

/// Longest delay of noticing a change whose notification is lost.
private let waitPollSeconds: Double = 1

struct Wait: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until transfers have ended, then say how.",
        discussion: """
            Moves nothing itself: `longhaul status` says whether an engine runs. A terminal shows \
            the progress meanwhile. With --session and --all, what had failed before counts too.

              longhaul wait 12 13
              longhaul wait --session photos --timeout 2h

            \(ExitStatus.help(endings))
            """)

    private static let endings: [ExitStatus] = [
        .done, .transferFailed, .timedOut, .noSuchTransfer, .usage, .storeUnavailable, .interrupted,
    ]

    @OptionGroup var which: SelectionOptions

    @Option(help: "Wait no longer than this: 90s, 15m, 2h.")
    var timeout: String?

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let seconds = try timeout.map { try OptionText.duration($0, "--timeout") }
        let end = seconds.map { SystemClock.now().monotonic + $0 }
        let queue = try TransferQueue()
        try which.checkSession(of: queue)
        Signals.watch()
        let changes = StoreChanges(of: queue)
        for id in which.ids where try queue.transfer(id) == nil { throw LonghaulError.noSuch(id) }
        let progress = QueueProgress(
            queue, ids: which.ids.isEmpty ? nil : which.ids, session: which.session,
            display: .onTerminal(console))
        defer { progress.clear() }
        let pause = {
            try Self.pause(changes, progress, until: end, on: console)
        }
        return which.ids.isEmpty
            ? try waitForAll(queue, progress, pause, on: console)
            : try waitForNamed(queue, progress, pause, on: console)
    }

    /// Waits a moment; `nil` = check again.
    private typealias Pause = () throws -> ExitStatus?

    private func waitForNamed(
        _ queue: TransferQueue, _ progress: QueueProgress, _ pause: Pause, on console: Console
    ) throws -> ExitStatus {
        var watch = TransferWatch(which.ids)
        while true {
            let ended = try watch.refresh({ try queue.transfers($0) }).ended
            if !ended.isEmpty { progress.clear() }
            for transfer in ended { try show(transfer, on: console) }
            if let id = watch.gone.first { throw LonghaulError.noSuch(id) }
            if watch.isOver { return ExitStatus(ended: watch.ended.values) }
            if let status = try pause() { return status }
        }
    }

    private func waitForAll(
        _ queue: TransferQueue, _ progress: QueueProgress, _ pause: Pause, on console: Console
    ) throws -> ExitStatus {
        var unfinished = filter([.waiting, .running, .paused])
        unfinished.limit = 1
        while try !queue.transfers(unfinished).isEmpty {
            if let status = try pause() { return status }
        }
        progress.clear()
        var status = ExitStatus.done
        let states: Set<TransferState> =
            console.isJSON ? [.completed, .failed, .cancelled] : [.failed, .cancelled]
        try queue.forEachTransfer(filter(states)) { transfer in
            if transfer.state != .completed { status = .transferFailed }
            try show(transfer, on: console)
        }
        return status
    }

    private static func pause(
        _ changes: StoreChanges, _ progress: QueueProgress, until end: Instant?,
        on console: Console
    ) throws -> ExitStatus? {
        if let status = try console.flushBeforeWait() { return status }
        let left = end.map { $0 - SystemClock.now().monotonic } ?? .infinity
        if left <= 0 {
            console.complain("longhaul: the time is over")
            return .timedOut
        }
        var tick = waitPollSeconds
        if progress.isShown {
            _ = try progress.refresh(namingEnded: false)
            tick = progress.tickSeconds
        }
        changes.wait(timeout: min(tick, left))
        return nil
    }

    private func show(_ transfer: Transfer, on console: Console) throws {
        if console.isJSON || transfer.state != .completed { return try console.result(transfer) }
        if transfer.isSkipped {
            console.skipped(transfer.path, isCompared: transfer.checksum == nil)
        }
        try console.line("\(transfer.id) ", path: transfer.path)
    }

    private func filter(_ states: Set<TransferState>) -> TransferFilter {
        var filter = TransferFilter()
        filter.states = states
        filter.session = which.session
        filter.limit = nil
        filter.includeAll = true
        return filter
    }
}
