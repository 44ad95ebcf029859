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
    }

    private struct State {
        var wants = Wants()
        var isStopping = false
        var conditions = Conditions()
        var isRead = false
    }

    private let state = Mutex(State())
    private let wake: Descriptor
    private let onChange: @Sendable (Conditions) -> Void
    private let onEvent: @Sendable (MachineEvent) -> Void
    /// Has a word once the first reading is complete.
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
        state.withLock { body(&$0.wants) }
        lh_eventfd_raise(wake.number)
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        lh_eventfd_raise(wake.number)
    }

    var conditions: Conditions { state.withLock { $0.conditions } }

    func waitUntilRead(within seconds: Double) {
        if state.withLock({ $0.isRead }) { return }
        _ = read.take(within: seconds)
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

    func tell(_ conditions: Conditions, isRead: Bool) {
        let (isNew, isFirst) = state.withLock { state in
            defer {
                state.conditions = conditions
                state.isRead = state.isRead || isRead
            }
            return (state.conditions != conditions, isRead && !state.isRead)
        }
        if isNew { onChange(conditions) }
        if isFirst { read.put([()]) }
    }

    func tell(_ event: MachineEvent) {
        onEvent(event)
    }
}
