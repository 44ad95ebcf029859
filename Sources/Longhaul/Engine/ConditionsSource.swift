internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulPlatform
internal import Synchronization

/// A source of conditions that has not answered by then counts as missing until it does.
private let engineConditionsSeconds: Double = 1

/// The machine's conditions for an engine: looked at once, and listened to.
final class ConditionsSource: ConditionsPort {
    private let queue: TransferQueue
    private struct Listener: Sendable {
        var report: @Sendable (Conditions) -> Void
        var onEvent: @Sendable (MachineEvent) -> Void
    }

    private let listener = Mutex<Listener?>(nil)
    private let interest = Mutex(ConditionInterest())
    private static let marks: ConditionInterest = [
        .machineEvents, .idleEnd, .wakes, .mounts, .stayAwake,
    ]
    private let followed = Mutex(Set<TaskTrigger>())
    private let watching = Mutex<ConditionsWatch?>(nil)

    /// Start of this process's environment, which does not change.
    private let environmentSince: Timestamp

    init(_ queue: TransferQueue) {
        self.queue = queue
        environmentSince = queue.now
    }

    private func overrides() throws(LonghaulError) -> ConditionOverrides {
        var overrides = try ConditionReader(queue).overrides()
        overrides.environmentSince = environmentSince
        return overrides
    }

    func listen(
        _ report: @escaping @Sendable (Conditions) -> Void,
        onEvent: @escaping @Sendable (MachineEvent) -> Void
    ) {
        listener.withLock { $0 = Listener(report: report, onEvent: onEvent) }
    }

    func attend(_ isWanted: Bool) {
        mark(.machineEvents, isWanted)
    }

    func follow(_ triggers: Set<TaskTrigger>) {
        let isNew = followed.withLock { followed in
            defer { followed = triggers }
            return followed != triggers
        }
        guard isNew else { return }
        mark(.wakes, triggers.contains(.resume))
        mark(.mounts, triggers.contains(.mount))
        let paths = triggers.filter { $0.event == TaskTrigger.pathEvent }
        if !paths.isEmpty || watching.withLock({ $0 != nil }) { started()?.setPaths(paths) }
    }

    func guardIdleness(_ isWanted: Bool) {
        mark(.idleEnd, isWanted)
    }

    func keepAwake(_ isWanted: Bool) {
        mark(.stayAwake, isWanted)
    }

    private func mark(_ mark: ConditionInterest, _ isWanted: Bool) {
        // Without a watch there is nothing to update.
        guard isWanted || watching.withLock({ $0 != nil }), let watch = started() else { return }
        let interest = interest.withLock { interest in
            if isWanted { interest.insert(mark) } else { interest.remove(mark) }
            return interest
        }
        watch.setInterest(interest)
    }

    func watch(_ interest: ConditionNeeds) -> Conditions {
        // If all conditions are unknown, transfers with requirements wait and all others run.
        guard let watch = started() else { return .unknown(since: queue.now) }
        let all = self.interest.withLock { all in
            all = all.intersection(Self.marks).union(ConditionInterest(interest))
            return all
        }
        watch.setInterest(all, fileSystems: interest.mounts)
        return watch.read(within: engineConditionsSeconds)
    }

    func lookAgain() {
        guard let watch = watching.withLock({ $0 }),
            let overrides = try? overrides()
        else { return }
        watch.setOverrides(overrides)
    }

    func stop() {
        listener.withLock { $0 = nil }
        watching.withLock { $0 }?.stop()
    }

    private func started() -> ConditionsWatch? {
        watching.withLock { watching in
            if let watching { return watching }
            watching = try? ConditionsWatch.start(
                .machine(environment: Environment.all()), interest: [],
                overrides: overrides()
            ) { [weak self] new in
                self?.listener.withLock { $0 }?.report(new)
            } onEvent: { [weak self] event in
                self?.listener.withLock { $0 }?.onEvent(event)
            }
            return watching
        }
    }
}
