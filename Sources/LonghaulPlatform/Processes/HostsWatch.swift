internal import CLonghaul
internal import Glibc
private import Synchronization

/// An event of the processes of hosts.
package enum HostNotice: Sendable {
    /// A line of its standard output that begins like a JSON object.
    case line(Int64, [UInt8])
    /// The process has ended; with the last part of its output and, of a job, its processor time.
    case ended(Int64, ProcessEnd, output: String, processorSeconds: Double? = nil)
    /// A program may have attached itself or detached.
    case attachments
}

/// Makes, watches and ends the processes of launches, on a separate thread that sleeps until an
/// event arrives.
package final class HostsWatch: Sendable {
    private let commands: HostCommands
    private let thread: SystemThread

    /// - Parameters:
    ///   - keeping: the bytes of output that are kept of each process.
    ///   - notice: called on the thread.
    package init(
        directory: String, keeping: Int, notice: @escaping @Sendable (HostNotice) -> Void
    ) throws(SystemFailure) {
        let commands = HostCommands(try check(lh_eventfd(), "eventfd", directory))
        let home = try DirectoryHandle(opening: directory)
        self.commands = commands
        thread = try SystemThread(name: "longhaul-hosts") {
            HostsLoop(commands, home: home, keeping: keeping, notice: notice).run()
        }
    }

    deinit { stop() }

    /// Removes the files of a launch that is no longer watched from the state directory.
    package static func removeStreams(of launch: Int64, in directory: String) {
        guard let home = try? DirectoryHandle(opening: directory) else { return }
        HostProcess.removeStreams(id: launch, in: home)
    }

    /// Runs `body` on the thread, in order with all other requests.
    package func perform(_ body: @escaping @Sendable (HostsLoop) -> Void) {
        commands.put(body)
    }

    /// Ends the thread. Processes that have begun continue; a process that has not begun never
    /// does.
    package func stop() {
        commands.stop()
        thread.join()
    }
}

/// The requests to the thread.
final class HostCommands: Sendable {
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
    func removeFirst() -> [@Sendable (HostsLoop) -> Void]? {
        _ = lh_eventfd_take(wake.number)
        return state.withLock { state in
            if state.isStopped { return nil }
            defer { state.bodies.removeAll() }
            return state.bodies
        }
    }
}
