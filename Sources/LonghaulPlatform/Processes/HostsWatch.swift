internal import CLonghaul
internal import Glibc
private import Synchronization

/// What happens to the processes of hosts.
package enum HostNotice: Sendable {
    /// A line of its standard output that begins like a JSON object.
    case line(Int64, [UInt8])
    /// It has ended; with the last of what it wrote.
    case ended(Int64, ProcessEnd, output: String)
    /// A program has attached itself, or gone away, perhaps.
    case attachments
}

/// Makes, watches and ends the processes of launches, on a thread of its own that sleeps until
/// something happens.
package final class HostsWatch: Sendable {
    private let orders: HostOrders
    private let thread: SystemThread

    /// - Parameters:
    ///   - keeping: bytes of its output that are kept of each.
    ///   - notice: called on the thread.
    package init(
        directory: String, keeping: Int, notice: @escaping @Sendable (HostNotice) -> Void
    ) throws(SystemFailure) {
        let orders = HostOrders(try check(lh_eventfd(), "eventfd", directory))
        let home = try DirectoryHandle(opening: directory)
        self.orders = orders
        thread = try SystemThread(name: "longhaul-hosts") {
            HostsLoop(orders, home: home, keeping: keeping, notice: notice).run()
        }
    }

    deinit { stop() }

    /// What is left in the state directory of a launch that is not watched any more.
    package static func removeStreams(of launch: Int64, in directory: String) {
        guard let home = try? DirectoryHandle(opening: directory) else { return }
        HostProcess.removeStreams(id: launch, in: home)
    }

    /// Runs `body` on the thread, in order with everything else that is asked for.
    package func perform(_ body: @escaping @Sendable (HostsLoop) -> Void) {
        orders.put(body)
    }

    /// Ends the thread. Processes that have begun go on; one that has not does not any more.
    package func stop() {
        orders.stop()
        thread.join()
    }
}

/// What the thread is to do.
final class HostOrders: Sendable {
    let wake: Descriptor
    private let state = Mutex(State())

    private struct State {
        var bodies: [@Sendable (HostsLoop) -> Void] = []
        var isStopped = false
    }

    init(_ wake: Int32) {
        self.wake = Descriptor(owning: wake)
    }

    func put(_ body: @escaping @Sendable (HostsLoop) -> Void) {
        state.withLock { $0.bodies.append(body) }
        lh_eventfd_raise(wake.number)
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        lh_eventfd_raise(wake.number)
    }

    /// `nil` = the thread is to end.
    func take() -> [@Sendable (HostsLoop) -> Void]? {
        _ = lh_eventfd_take(wake.number)
        return state.withLock { state in
            if state.isStopped { return nil }
            defer { state.bodies.removeAll() }
            return state.bodies
        }
    }
}
