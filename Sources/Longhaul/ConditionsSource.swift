internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulSystem
internal import Synchronization

/// The machine's conditions for an engine: looked at once, and listened to.
final class MachineConditions: ConditionsPort {
    private let queue: TransferQueue
    private let report = Mutex<(@Sendable (Conditions) -> Void)?>(nil)
    private let watching = Mutex<ConditionsWatch?>(nil)

    /// A source that has not answered by then counts as not there until it does.
    private static let patienceSeconds: Double = 1

    init(_ queue: TransferQueue) {
        self.queue = queue
    }

    func listen(_ report: @escaping @Sendable (Conditions) -> Void) {
        self.report.withLock { $0 = report }
    }

    func watch(_ interest: ConditionNeeds) -> Conditions {
        // With all unknown, requirements wait and everything else goes on.
        guard let watch = started() else { return Conditions() }
        watch.setInterest(ConditionInterest(interest))
        return watch.read(within: Self.patienceSeconds)
    }

    func lookAgain() {
        guard let watch = watching.withLock({ $0 }), let overrides = try? queue.conditionOverrides()
        else { return }
        watch.setOverrides(overrides)
    }

    func stop() {
        report.withLock { $0 = nil }
        watching.withLock { $0 }?.stop()
    }

    private func started() -> ConditionsWatch? {
        watching.withLock { watching in
            if let watching { return watching }
            watching = try? ConditionsWatch.start(
                .machine(environment: Environment.all()), interest: [],
                overrides: queue.conditionOverrides()
            ) { [weak self] new in
                self?.report.withLock { $0 }?(new)
            }
            return watching
        }
    }
}

extension ConditionInterest {
    init(_ needs: ConditionNeeds) {
        self = []
        // External power serves where a charge is asked for.
        if needs.power || needs.battery != nil { insert(.power) }
        if needs.battery != nil { insert(.battery) }
        if needs.network || needs.unmetered { insert(.network) }
        if needs.idle { insert(.idle) }
    }
}
