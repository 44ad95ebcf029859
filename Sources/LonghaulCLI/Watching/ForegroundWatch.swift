import Longhaul

/// Waits for transfers while an engine works on them: the one that runs, or else one in this
/// process, also if the other engine ends meanwhile.
final class ForegroundWatch {
    enum Ending {
        case allEnded
        case signalled(Int32)
    }

    private(set) var watch: TransferWatch
    /// The engine in this process could not end, and the process cannot exit normally.
    private(set) var isHanging = false
    private let queue: TransferQueue
    /// Not used while the engine is in this process.
    private lazy var changes = StoreChanges(of: queue)
    private let display: ProgressDisplay
    private let seat: EngineSeat
    private let options: EngineOptions
    private var completed = 0
    private var failed = 0
    private var bytesOfEnded: Int64 = 0
    private let count: Int

    /// Up to so many transfers are all read each time, so that waiting ones can show the reason.
    private static let shownWaitingMaximum = 32
    /// The time for another engine to stop the transfers that were paused here.
    private static let settleSeconds: Double = 10

    init(
        _ ids: [TransferID], in queue: TransferQueue, limits: EngineLimits = EngineLimits(),
        display: ProgressDisplay
    ) throws(LonghaulError) {
        seat = try EngineSeat()
        self.queue = queue
        self.display = display
        watch = TransferWatch(ids)
        count = ids.count
        var options = EngineOptions(mode: .get)
        options.until = ids
        options.limits = limits
        self.options = options
    }

    /// Returns when all have ended or a signal came, with no engine running in this process.
    func run() throws -> Ending {
        defer { display.clear() }
        while true {
            if let signal = Signals.received {
                try putDown(pausing: signal == Signals.interrupt)
                return .signalled(signal)
            }
            if Signals.takeSuspension() { try standAside() }
            try look()
            if watch.isOver { break }
            try takeSeatIfFree()
            if seat.isTaken {
                seat.waitForLeaving(timeout: display.tickSeconds)
            } else {
                changes.wait(timeout: display.tickSeconds)
            }
            try noteLeaving()
        }
        // The engine in this process ends by itself now that all transfers have ended.
        waitForLeaving()
        try noteLeaving()
        return .allEnded
    }

    /// Waits for the engine's end, unless a disk blocks it for too long: bytes written there are
    /// recovered at the next start, as after a crash.
    private func waitForLeaving() {
        let end = Platform.uptime() + EngineOptions.leavingSeconds
        while seat.isTaken, Platform.uptime() < end {
            seat.waitForLeaving(timeout: end - Platform.uptime())
        }
        isHanging = seat.isTaken
        if isHanging { Console.sayHanging() }
    }

    // MARK: - The engine

    private func takeSeatIfFree() throws {
        if seat.isTaken || queue.isEngineRunning { return }
        do {
            try seat.take(EngineRun(queue: queue, options: options))
        } catch {
            // Closing the store needs a thread as well, and would wait for it before the error is
            // shown.
            _ = Unmanaged.passRetained(queue)
            throw error
        }
    }

    /// An engine's failure fails the command; to find another engine at work is no failure.
    private func noteLeaving() throws {
        _ = try seat.takeResult()?.get()
    }

    /// A stopped process must not hold the lease: other processes work on the queue meanwhile.
    private func standAside() throws {
        seat.stop()
        waitForLeaving()
        try noteLeaving()
        display.clear()
        Signals.suspend()
    }

    private func putDown(pausing: Bool) throws {
        if pausing { _ = try queue.pause(.ids(watch.pending)) }
        seat.stop()
        waitForLeaving()
        let end = Platform.uptime() + ForegroundWatch.settleSeconds
        while pausing, try isMoving(), Platform.uptime() < end { changes.wait(timeout: 0.1) }
        // The pause is recorded; if it cannot be applied now, an engine applies it later.
        if pausing, !queue.isEngineRunning { try? queue.settle() }
    }

    private func isMoving() throws -> Bool {
        try running().contains { watch.pending.contains($0.id) }
    }

    // MARK: - The display

    private func look() throws {
        let sight = try watch.look { try queue.transfers($0) }
        for transfer in sight.ended {
            if transfer.state == .completed { completed += 1 } else { failed += 1 }
            bytesOfEnded = bytesOfEnded.addingClamped(transfer.bytesDone)
            display.ended(transfer)
        }
        display.looked(at: sight.unfinished)
        guard display.isDue(at: Platform.uptime()) else { return }
        let moving = count <= ForegroundWatch.shownWaitingMaximum ? sight.unfinished : try mine()
        display.show(moving, totals(moving))
    }

    private func running() throws -> [Transfer] {
        var filter = TransferFilter()
        filter.states = [.running]
        filter.limit = nil
        filter.includeAll = true
        return try queue.transfers(filter)
    }

    private func mine() throws -> [Transfer] {
        let pending = Set(watch.pending)
        return try running().filter { pending.contains($0.id) }
    }

    private func totals(_ moving: [Transfer]) -> ProgressView.Totals? {
        if count == 1 { return nil }
        var totals = ProgressView.Totals(
            moving: moving, pending: watch.pending.count, bytesOfEnded: bytesOfEnded)
        totals.completed = completed
        totals.failed = failed
        return totals
    }
}
