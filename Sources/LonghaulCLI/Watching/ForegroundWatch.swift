import Longhaul

/// Waits for transfers and sees to it that somebody moves them: the engine that runs, or else this
/// process; and if that other engine goes away, this process takes over.
final class ForegroundWatch {
    enum Ending {
        case allEnded
        case signalled(Int32)
    }

    private(set) var watch: TransferWatch
    /// Our engine could not leave, and the process cannot end in order.
    private(set) var isHanging = false
    private let queue: TransferQueue
    /// Of no use while the engine is here.
    private lazy var changes = StoreChanges(of: queue)
    private let display: ProgressDisplay
    private let seat: EngineSeat
    private let options: EngineOptions
    private var completed = 0
    private var failed = 0
    private var bytesOfEnded: Int64 = 0
    private let count: Int

    /// Up to so many transfers are all looked at each time, so that those that wait can say why.
    private static let shownWaitingMaximum = 32
    /// How long another engine is given to put down what we paused.
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

    /// Returns when all have ended or a signal came, with no engine left running in this process.
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
        // Ours leaves by itself now that all have ended.
        waitForLeaving()
        try noteLeaving()
        return .allEnded
    }

    /// The engine that is to leave, unless a disk keeps it for too long: what such a disk has got
    /// is found again, as after a crash.
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
            // To close the store takes a thread as well, and waits for it before anything is said.
            _ = Unmanaged.passRetained(queue)
            throw error
        }
    }

    /// An engine that cannot work is why the command fails; one that found another at work is not.
    private func noteLeaving() throws {
        _ = try seat.takeResult()?.get()
    }

    /// A stopped process holds no lease: others go on with the queue meanwhile.
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
        // The pause is recorded; an engine does what cannot be done now.
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
