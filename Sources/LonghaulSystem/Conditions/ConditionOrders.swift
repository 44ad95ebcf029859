internal import CLonghaul
internal import LonghaulCore
private import Synchronization

/// What a ``ConditionsWatch`` and its thread share: what is wanted, and what was found.
final class ConditionOrders: Sendable {
    struct Wants: Sendable {
        var interest: ConditionInterest = []
        var overrides = ConditionOverrides()
        /// Once: what is not told of is read again.
        var looksAnew = false
        /// Counts the changes.
        fileprivate(set) var round = 0
    }

    private struct State {
        var wants = Wants()
        var isStopping = false
        var conditions = Conditions()
        /// The last round of wants for which every source has answered.
        var readRound = -1
    }

    private let state = Mutex(State())
    private let wake: Descriptor
    private let onChange: @Sendable (Conditions) -> Void
    private let onEvent: @Sendable (MachineEvent) -> Void
    /// Has a word whenever another round is complete.
    private let read = Mailbox<Void>()

    init(
        onChange: @escaping @Sendable (Conditions) -> Void,
        onEvent: @escaping @Sendable (MachineEvent) -> Void
    ) throws(SystemFailure) {
        wake = Descriptor(owning: try check(lh_eventfd(), "eventfd", ""))
        self.onChange = onChange
        self.onEvent = onEvent
    }

    // MARK: - For the watch

    func change(_ body: (inout Wants) -> Void) {
        state.withLock { state in
            body(&state.wants)
            state.wants.round += 1
        }
        lh_eventfd_raise(wake.number)
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        lh_eventfd_raise(wake.number)
    }

    var conditions: Conditions { state.withLock { $0.conditions } }

    /// Waits until every source has answered to what is wanted now. For one caller at a time.
    func waitUntilRead(within seconds: Double) {
        let end = SystemClock.now().monotonic + seconds
        while true {
            let isComplete = state.withLock { $0.readRound >= $0.wants.round }
            let left = end - SystemClock.now().monotonic
            if isComplete || left <= 0 { return }
            _ = read.take(within: left)
        }
    }

    // MARK: - For the thread

    var descriptor: Int32 { wake.number }

    var wants: Wants { state.withLock { $0.wants } }

    /// What is wanted now; `nil` = to stop.
    func take() -> Wants? {
        _ = lh_eventfd_take(wake.number)
        return state.withLock { state in
            defer { state.wants.looksAnew = false }
            return state.isStopping ? nil : state.wants
        }
    }

    /// - Parameter complete: whether every source has answered to these wants.
    func tell(_ conditions: Conditions, _ wants: Wants, complete: Bool) {
        let (isNew, isFirst) = state.withLock { state in
            let isNew = state.conditions != conditions
            let isFirst = complete && state.readRound < wants.round
            state.conditions = conditions
            if isFirst { state.readRound = wants.round }
            return (isNew, isFirst)
        }
        if isNew { onChange(conditions) }
        if isFirst { read.put([()]) }
    }

    func tell(_ event: MachineEvent) {
        onEvent(event)
    }
}
