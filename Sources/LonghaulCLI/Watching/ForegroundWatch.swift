import Longhaul
import LonghaulPlatform

/// Up to this many transfers are all read each time, so that waiting ones can show the reason.
private let waitingShown = 32
/// The time for another engine to stop the transfers that were paused here.
private let settleSeconds: Double = 10

/// Waits for transfers while an engine works on them: the one that runs, or else one in this
/// process, also if the other engine ends meanwhile.
final class ForegroundWatch {
    enum Ending {
        case allEnded
        case signalled(Int32)
        /// The caller no longer waits; another engine may continue them.
        case abandoned
    }

    private(set) var watch: TransferWatch
    /// The engine in this process could not end, and the process cannot exit normally.
    private(set) var isHanging = false
    /// The place for each transfer that ends.
    var report: RunReport?
    private let queue: TransferQueue
    /// Unused while the engine is in this process.
    private lazy var changes = StoreChanges(of: queue)
    private let display: ProgressDisplay
    /// The one in this process, if there was one.
    private var engine: EngineThread?
    /// Rung when it has ended.
    private let leaving: Doorbell
    private let options: EngineOptions
    private var completed = 0
    private var failed = 0
    private var bytesOfEnded: Int64 = 0
    private let count: Int

    init(
        _ ids: [TransferID], in queue: TransferQueue, limits: EngineLimits = EngineLimits(),
        display: ProgressDisplay
    ) throws(LonghaulError) {
        do {
            leaving = try Doorbell()
        } catch {
            throw LonghaulError(
                .io, "no descriptor can be had: \(error.reason); raise the limit (ulimit -n)",
                retryable: true)
        }
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
    ///
    /// - Parameter isAbandoned: Looked at whenever something may have changed.
    func run(until isAbandoned: () -> Bool = { false }) throws -> Ending {
        defer { display.clear() }
        while true {
            if isAbandoned() {
                try putDown(pausing: false)
                return .abandoned
            }
            if let signal = Signals.received {
                try putDown(pausing: signal == Signals.interrupt)
                return .signalled(signal)
            }
            if Signals.takeSuspension() { try standAside() }
            try refresh()
            if watch.isOver { break }
            try startEngineIfNoneRuns()
            if isEngine {
                leaving.wait(timeout: display.tickSeconds)
            } else {
                changes.wait(timeout: display.tickSeconds)
            }
            try throwFailure()
        }
        // The engine in this process ends by itself now that all transfers have ended.
        waitForLeaving()
        try throwFailure()
        return .allEnded
    }

    /// Waits for the engine's end, unless a disk blocks it for too long: bytes written there are
    /// recovered at the next start, as after a crash.
    private func waitForLeaving() {
        let end = SystemClock.now().monotonic + EngineOptions.leavingSeconds
        while isEngine {
            let left = end - SystemClock.now().monotonic
            if left <= 0 { break }
            leaving.wait(timeout: left)
        }
        isHanging = isEngine
        if isHanging { Console.sayHanging() }
    }

    // MARK: - The engine

    private var isEngine: Bool { engine.map { !$0.hasEnded } ?? false }

    private func startEngineIfNoneRuns() throws {
        if isEngine || queue.isEngineRunning { return }
        let thread = EngineThread(EngineRun(queue: queue, options: options)) { [leaving] in
            leaving.ring()
        }
        engine = thread
        if !thread.start() {
            // Closing the store needs a thread as well, and would wait for it before the error is
            // shown.
            _ = Unmanaged.passRetained(queue)
        }
    }

    /// An engine's failure fails the command; to find another engine at work is no failure.
    private func throwFailure() throws {
        guard !isEngine, let failure = engine?.failure else { return }
        engine = nil
        throw failure
    }

    /// A stopped process must not hold the lease: other processes work on the queue meanwhile.
    private func standAside() throws {
        engine?.stop()
        waitForLeaving()
        try throwFailure()
        display.clear()
        OwnProcess.suspend()
    }

    private func putDown(pausing: Bool) throws {
        if pausing { _ = try queue.pause(.ids(watch.pending)) }
        engine?.stop()
        waitForLeaving()
        let end = SystemClock.now().monotonic + settleSeconds
        while pausing, try isMoving(), SystemClock.now().monotonic < end {
            changes.wait(timeout: 0.1)
        }
        // The pause is recorded; if it cannot be applied now, an engine applies it later.
        if pausing, !queue.isEngineRunning { try? queue.settle() }
    }

    private func isMoving() throws -> Bool {
        try running().contains { watch.pending.contains($0.id) }
    }

    // MARK: - The display

    private func refresh() throws {
        let sight = try watch.refresh { try queue.transfers($0) }
        let unfinished = sight.unfinished.map(\.asShown)
        for transfer in sight.ended {
            if transfer.state == .completed { completed += 1 } else { failed += 1 }
            bytesOfEnded = bytesOfEnded.addingClamped(transfer.bytesDone)
            display.ended(transfer, movingFor: queue.movingSeconds(of: transfer))
            report?.add(transfer)
        }
        if !sight.ended.isEmpty { report?.flush() }
        display.looked(at: unfinished)
        guard display.isDue(at: SystemClock.now().monotonic) else { return }
        let moving = count <= waitingShown ? unfinished : try mine().map(\.asShown)
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
