internal import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// Lead of the activities' handlers before the machine sleeps or shuts down, at most half of
/// the time that is left.
private let activityMarginSeconds: Double = 1
/// An activity ends so long after its expiration although its handler has not returned.
private let activityHandlerSeconds: Double = 5
/// Time to wait for the answer about the delay lock; then no lock is assumed.
private let delayLockSeconds: Double = 2

/// The living activities of a process, and the one delay lock that they share.
///
/// Timers and handlers are Swift tasks. They belong to no caller's task: an activity that begins
/// inside of another one does not keep that one alive.
final class ActivityCenter: Sendable {
    typealias Handler = @Sendable () async -> Void

    static let shared = ActivityCenter(.machine(environment: Environment.all())) {
        $0.log()
    } onExpired: {
        await ProcessHost.record(expired: $0)
    }

    private struct Entry: Sendable {
        var name: String
        var budget: Double
        var end: Instant
        var onExpiration: Handler
        /// Runs until the budget is over; after that, until the handler should have returned.
        var timer: Task<Void, Never>
        var isExpired = false
    }

    /// The machine is about to sleep or shut down.
    private struct Announcement: Sendable {
        var permit: DelayPermit
        /// When the handlers run.
        var end: Instant
        var timer: Task<Void, Never>
    }

    private struct State: Sendable {
        var entries: [Int: Entry] = [:]
        var lastNumber = 0
        /// Kept from the first activity on; without activities it holds no connection.
        var watch: ConditionsWatch?
        var lock = DelayLockState.pending
        var lockTimer: Task<Void, Never>?
        var announcement: Announcement?
        var hasReportedMissingLock = false

        func remaining(_ entry: Entry) -> Double {
            if entry.isExpired { return 0 }
            let end = announcement.map { min($0.end, entry.end) } ?? entry.end
            return max(0, end - SystemClock.now().monotonic)
        }
    }

    private let state = Mutex(State())
    private let context: ConditionContext
    private let report: @Sendable (ProgramNotice) -> Void
    private let onExpired: @Sendable (String) async -> Void

    /// - Parameter onExpired: Called with the name of each activity whose time is over, before its
    ///   handler.
    init(
        _ context: ConditionContext, report: @escaping @Sendable (ProgramNotice) -> Void,
        onExpired: @escaping @Sendable (String) async -> Void = { _ in }
    ) {
        self.context = context
        self.report = report
        self.onExpired = onExpired
    }

    // MARK: - Activities

    func begin(_ name: String, budget: Double, _ onExpiration: @escaping Handler) -> Int {
        let (number, isLate) = state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            let now = SystemClock.now().monotonic
            state.entries[number] = Entry(
                name: name, budget: budget, end: now + budget, onExpiration: onExpiration,
                timer: after(budget) { $0.budgetIsOver(number) })
            if state.entries.count == 1 { delayMachine(reason: name, &state) }
            return (number, state.announcement.map { $0.end <= now } ?? false)
        }
        if isLate { expire([number]) }
        return number
    }

    func end(_ number: Int) {
        state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: number) else { return }
            entry.timer.cancel()
            guard state.entries.isEmpty else { return }
            state.watch?.setInterest([])
            state.lockTimer?.cancel()
            state.announcement?.timer.cancel()
            state.announcement?.permit.release()
            state.announcement = nil
        }
    }

    /// The activity's object is gone.
    func abandon(_ number: Int) {
        let leaked = state.withLock { state in
            state.entries[number].flatMap { $0.isExpired ? nil : $0.name }
        }
        guard let leaked else { return }
        end(number)
        report(.leaked(leaked))
    }

    func remainingTime(of number: Int) -> Double {
        state.withLock { state in state.entries[number].map(state.remaining) ?? 0 }
    }

    var holdsSleepBack: Bool {
        state.withLock { state in
            if state.entries.isEmpty { return false }
            return state.announcement.map { $0.permit.seconds > 0 } ?? (state.lock == .held)
        }
    }

    // MARK: - Expiration

    private func budgetIsOver(_ number: Int) {
        let overdue = state.withLock { state in
            state.entries[number].flatMap { $0.isExpired ? nil : $0 }
        }
        guard let overdue else { return }
        report(.overdue(overdue.name, overdue.budget))
        expire([number])
    }

    /// - Parameter numbers: `nil` = all.
    private func expire(_ numbers: [Int]? = nil) {
        let expired = state.withLock { state in
            (numbers ?? state.entries.keys.sorted()).compactMap { number -> (Int, Entry)? in
                guard var entry = state.entries[number], !entry.isExpired else { return nil }
                entry.isExpired = true
                entry.timer.cancel()
                entry.timer = after(activityHandlerSeconds) { $0.end(number) }
                state.entries[number] = entry
                return (number, entry)
            }
        }
        for (number, entry) in expired {
            Task.detached { [onExpired] in
                await onExpired(entry.name)
                await entry.onExpiration()
                self.end(number)
            }
        }
    }

    private func after(
        _ seconds: Double, _ body: @escaping @Sendable (ActivityCenter) -> Void
    ) -> Task<Void, Never> {
        Task.detached { [weak self] in
            try? await Task.sleep(for: .seconds(seconds))
            if !Task.isCancelled, let self { body(self) }
        }
    }

    // MARK: - Machine

    private func delayMachine(reason name: String, _ state: inout State) {
        state.lockTimer = after(delayLockSeconds) { $0.reportMissingLock(isKnown: false) }
        if state.watch == nil {
            // Without a thread for it, the timer reports that the lock is missing.
            state.watch = try? ConditionsWatch.start(
                context, interest: [],
                onEvent: { [weak self] event in self?.respond(to: event) },
                onDelayLock: { [weak self] lock in self?.respond(to: lock) })
        }
        state.watch?.delayMachine(reason: "background activity: \(name)")
    }

    private func respond(to lock: DelayLockState) {
        state.withLock { $0.lock = lock }
        if lock == .unavailable { reportMissingLock(isKnown: true) }
    }

    private func reportMissingLock(isKnown: Bool) {
        let isNew = state.withLock { state in
            guard !state.entries.isEmpty, state.announcement == nil,
                isKnown || state.lock != .held, !state.hasReportedMissingLock
            else { return false }
            state.hasReportedMissingLock = true
            return true
        }
        if isNew { report(.nothingHoldsSleepBack) }
    }

    private func respond(to event: MachineEvent) {
        switch event {
        case .willSleep(let permit), .willShutDown(let permit):
            // Without a lock the machine does not wait, and the handlers run at once.
            let seconds = permit.seconds - min(activityMarginSeconds, permit.seconds / 2)
            state.withLock { state in
                guard !state.entries.isEmpty else { return permit.release() }
                state.announcement?.timer.cancel()
                state.announcement = Announcement(
                    permit: permit, end: SystemClock.now().monotonic + seconds,
                    timer: after(min(seconds, Limits.activitySecondsMaximum)) { $0.expire() })
            }
        case .mounts, .paths: break
        case .didWake, .shutdownCancelled:
            state.withLock { state in
                state.announcement?.timer.cancel()
                state.announcement = nil
            }
        }
    }
}

extension ActivityCenter {
    /// See ``withBackgroundActivity(_:budget:_:onExpiration:)``.
    func run<Result: Sendable>(
        _ name: String, budget: Double, _ operation: @escaping @Sendable () async throws -> Result,
        onExpiration: @escaping Handler
    ) async throws -> Result {
        try Task.checkCancellation()
        // The operation waits for its activity, whose handler cancels the operation.
        let (begun, begin) = AsyncStream<BackgroundActivity>.makeStream()
        defer { begin.finish() }
        let task = Task {
            for await activity in begun {
                return try await BackgroundActivity.$current.withValue(activity) {
                    try await operation()
                }
            }
            throw CancellationError()
        }
        let activity = try BackgroundActivity(name, budget: budget, in: self) {
            await onExpiration()
            task.cancel()
            _ = await task.result
        }
        defer { activity.end() }
        begin.yield(activity)
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
