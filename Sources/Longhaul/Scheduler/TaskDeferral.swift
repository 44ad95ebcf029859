internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// Interval of a task's check whether it is to stop, without a notification.
private let deferralPollSeconds: Double = 1

/// Reasons to stop a task at a good point, as they come up: the handler then saves its state and
/// throws ``BackgroundTask/Deferred``. Ends after ``Reason/time``, which every expiration is told
/// by although it cancels the Swift task of the handler. Where that is cancelled otherwise, it ends
/// without a reason.
///
///     for await reason in task.shouldDefer { … }
///
/// A requirement that is lost expires the launch as well, unless the request says otherwise
/// (``LonghaulModel/TaskRequest/expiresWhenRequirementIsLost``).
public struct TaskDeferral: AsyncSequence, Sendable {
    /// Why a task is to stop.
    public enum Reason: Hashable, Sendable {
        /// A requirement of the request does not hold any more.
        case requirement
        /// Less than five seconds are left, or the launch was asked to end.
        case time
    }

    /// The element: a reason.
    public typealias Element = Reason

    let task: BackgroundTask

    /// Begins with what holds by then.
    public func makeAsyncIterator() -> Iterator {
        Iterator(task: task)
    }

    /// Looks at the clock, and at the conditions that the engine has published.
    public struct Iterator: AsyncIteratorProtocol {
        private let task: BackgroundTask
        private var requirements: Requirements?
        private var hasBegun = false
        private var isLost = false
        private var isOver = false

        init(task: BackgroundTask) {
            self.task = task
        }

        /// The next reason; waits for one. `nil` after the last, and in a Swift task that was
        /// cancelled although its launch has not expired.
        public mutating func next() async -> Reason? {
            if !hasBegun {
                hasBegun = true
                requirements = await Requirements.open(task)
            }
            while !isOver {
                // First: an expiration cancels the Swift task, and is reported all the same.
                let left = task.remainingTime - Limits.deferralNoticeSeconds
                if left <= 0 {
                    isOver = true
                    return .time
                }
                if Task.isCancelled { break }
                let edition = requirements?.edition ?? 0
                let wasLost = isLost
                isLost = await requirements?.areLost() ?? false
                if isLost, !wasLost { return .requirement }
                let seconds = Swift.min(left, deferralPollSeconds)
                do {
                    try await pause(atMost: seconds, since: edition)
                } catch {
                    // There is nothing to wait by any more: the task is cancelled, its store is
                    // closed, or its world is over.
                    if !task.hasExpired { break }
                }
            }
            return nil
        }

        private func pause(atMost seconds: Double, since edition: UInt64) async throws {
            if let simulated = SimulatedLaunch.current {
                try await simulated.sleep(seconds)
            } else if let requirements {
                try await requirements.changed(since: edition, within: seconds)
            } else {
                try await Task.sleep(for: .seconds(seconds))
            }
        }
    }
}

/// The requirements of a running task, and the engine's view of the machine.
private final class Requirements: Sendable {
    private let sharedStore: SharedStore
    private let key: EligibilityKey
    private let time = LocalTime.ofProcess

    /// `nil`: the task requires nothing, or the store cannot be read.
    static func open(_ task: BackgroundTask) async -> Requirements? {
        guard let store = task.store else { return nil }
        let (identifier, host) = (task.identifier, task.host)
        let sharedStore = try? await Blocking.run { () throws(LonghaulError) in
            try SharedStore.enter(store)
        }
        guard let sharedStore else { return nil }
        let key = try? await sharedStore.executor.perform { context throws(LonghaulError) in
            try context.queue.store.tasks.find(identifier, host: host)
                .first { $0.launch != nil }?.request.eligibility.eligibility.waived
        }
        if let key = key ?? nil, !key.interest.isEmpty { return Requirements(sharedStore, key) }
        sharedStore.abandon()
        return nil
    }

    private init(_ sharedStore: SharedStore, _ key: EligibilityKey) {
        self.sharedStore = sharedStore
        self.key = key
    }

    deinit {
        sharedStore.abandon()
    }

    var edition: UInt64 { sharedStore.executor.edition }

    func changed(since edition: UInt64, within seconds: Double) async throws {
        try await sharedStore.executor.changed(since: edition, within: seconds)
    }

    /// An unknown condition is not lost.
    func areLost() async -> Bool {
        let (key, time) = (key, time)
        let isLost = try? await sharedStore.executor.perform { context throws(LonghaulError) in
            guard let view = try context.queue.store.settings.engineView(),
                view.conditions.hasSeen(key.interest)
            else { return false }
            let snapshot = ConditionSnapshot(
                conditions: view.conditions, time: time, networkSettlesAt: nil)
            return !key.gate(in: snapshot, now: context.queue.now, isRunning: true).isOpen
        }
        return isLost ?? false
    }
}
