package import LonghaulCore

/// Keeps an eye on what the machine is like, on a thread of its own: power, battery, network and
/// idleness, from the services of the desktop where they run and from the kernel where they do not.
///
/// It listens and does not poll. The exceptions hold only while somebody waits for the condition,
/// and only without the service that would tell: see ``ConditionContext``. With nothing of
/// interest it holds no connection and never wakes.
package final class ConditionsWatch: Sendable {
    private let orders: ConditionOrders
    private let thread: SystemThread

    /// Starts to watch.
    ///
    /// - Parameters:
    ///   - interest: what is looked at; the others stay unknown, with no `since`.
    ///   - onChange: called on the watch's thread when a reading has changed, its source or value.
    ///   - onEvent: called on the watch's thread when `interest` has
    ///     ``ConditionInterest/machineEvents``.
    /// - Throws: when the process is out of threads or descriptors. A missing bus, service or file
    ///   is no error: the next source is taken, and in the end the value is unknown.
    package static func start(
        _ snapshot: ConditionContext, interest: ConditionInterest,
        overrides: ConditionOverrides = ConditionOverrides(),
        onChange: @escaping @Sendable (Conditions) -> Void = { _ in },
        onEvent: @escaping @Sendable (MachineEvent) -> Void = { _ in }
    ) throws(SystemFailure) -> ConditionsWatch {
        let orders = try ConditionOrders(onChange: onChange, onEvent: onEvent)
        orders.change { wants in
            wants.interest = interest
            wants.overrides = overrides
        }
        return try ConditionsWatch(orders, snapshot)
    }

    private init(
        _ orders: ConditionOrders, _ snapshot: ConditionContext
    ) throws(SystemFailure) {
        self.orders = orders
        thread = try SystemThread(name: "longhaul-cond") {
            ConditionsLoop(orders, snapshot).run()
        }
    }

    deinit {
        stop()
    }

    /// As last told to `onChange`; all unknown before the first time.
    package var current: Conditions { orders.conditions }

    /// Waits until every source has answered to the present interest, at most so many seconds, and
    /// says what is known then. For one caller at a time.
    package func read(within seconds: Double) -> Conditions {
        orders.waitUntilRead(within: seconds)
        return current
    }

    /// What is of interest from now on.
    package func setInterest(_ interest: ConditionInterest) {
        orders.change { $0.interest = interest }
    }

    /// Overrides from now on.
    package func setOverrides(_ overrides: ConditionOverrides) {
        orders.change { $0.overrides = overrides }
    }

    /// Reads again what is not told of, and looks for a bus that was not there.
    package func lookAnew() {
        orders.change { $0.looksAnew = true }
    }

    /// Ends the thread. When it returns, nothing is called any more, and the machine waits for us
    /// no longer, but for permits that were handed out. From within a call, that call is the last.
    package func stop() {
        orders.stop()
        thread.join()
    }
}
