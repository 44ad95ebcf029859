import Longhaul
import LonghaulPlatform

/// The progress of transfers that others move, for `watch` and `wait`.
final class QueueProgress {
    private let queue: TransferQueue
    private let display: ProgressDisplay
    /// `nil` = all transfers that have not ended, of one session or of all.
    private let ids: [TransferID]?
    private let session: String?
    private var running: Set<TransferID> = []
    private var completed = 0
    private var failed = 0

    init(
        _ queue: TransferQueue, ids: [TransferID]? = nil, session: String? = nil,
        display: ProgressDisplay
    ) {
        self.queue = queue
        self.ids = ids
        self.session = session
        self.display = display
    }

    var tickSeconds: Double { display.tickSeconds }
    var isShown: Bool { display.isShown }

    /// Draws how they are. Returns whether some are left.
    ///
    /// - Parameter namingEnded: Without a terminal, one that begins and one that ends has a line.
    func refresh(namingEnded: Bool) throws -> Bool {
        let unfinished = try read().map(\.asShown)
        let moving = unfinished.filter { $0.state == .running }
        let ended = running.subtracting(unfinished.map(\.id)).sorted()
        for transfer in try queue.transfers(ended) where transfer.state.hasEnded {
            if transfer.state == .completed { completed += 1 } else { failed += 1 }
            if namingEnded {
                display.ended(transfer, movingFor: queue.movingSeconds(of: transfer))
            }
        }
        if namingEnded {
            for transfer in moving where !running.contains(transfer.id) { display.began(transfer) }
        }
        running = Set(moving.map(\.id))
        display.looked(at: unfinished)
        let tasks = ids == nil && session == nil ? try queue.tasks.runningContinued() : []
        if display.isDue(at: SystemClock.now().monotonic) {
            let shown = moving + unfinished.filter { $0.state != .running }.prefix(8)
            var totals: ProgressView.Totals?
            if unfinished.count > 1 {
                totals = ProgressView.Totals(
                    moving: moving, pending: try count(unfinished.count), bytesOfEnded: 0)
                totals?.completed = completed
                totals?.failed = failed
            }
            display.show(shown, totals, tasks: tasks.map(TaskText.progress))
        }
        return !tasks.isEmpty || unfinished.contains { $0.state != .paused }
    }

    func clear() { display.clear() }

    private func read() throws -> [Transfer] {
        if let ids {
            return try queue.transfers(Array(ids.prefix(Limits.watchedPerRead)))
                .filter { !$0.state.hasEnded }
        }
        var found: [Transfer] = []
        for state in [TransferState.running, .waiting] {
            var filter = TransferFilter()
            filter.states = [state]
            filter.session = session
            filter.includeAll = true
            filter.limit = Limits.watchedPerRead
            found += try queue.transfers(filter)
        }
        return found
    }

    /// Counts transfers; waiting ones are counted, not read.
    private func count(_ read: Int) throws -> Int {
        if ids != nil || session != nil { return read }
        let counts = try queue.status().counts
        return (counts[.running] ?? 0) + (counts[.waiting] ?? 0)
    }
}

extension TransferQueue {
    /// Seconds during which an ended transfer ran, its waits left out; `nil`: unknown.
    func movingSeconds(of transfer: Transfer) -> Double? {
        guard let started = transfer.startedAt, let finished = transfer.finishedAt else {
            return nil
        }
        let attempts = (try? attempts(of: transfer.id)) ?? []
        // Of many attempts the first ones are forgotten.
        if attempts.count < transfer.attempts { return finished - started }
        return attempts.reduce(0) { $0 + max(0, $1.endedAt - $1.startedAt) }
    }
}
