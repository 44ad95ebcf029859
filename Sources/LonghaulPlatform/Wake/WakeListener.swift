internal import CLonghaul
internal import Glibc
internal import LonghaulModel
private import Synchronization

/// The engine's end of the wake channel: a thread that sleeps until a hint arrives.
///
/// Only the holder of the engine lock may listen: an existing socket is the leftover of a dead
/// engine and is replaced.
package final class WakeListener: Sendable {
    private let socket: Descriptor
    private let stopping: Descriptor
    private let address: WakeAddress
    /// The identity of this engine's socket: if the directory was replaced, another engine's socket
    /// is there.
    private let identity: FileIdentity?
    private let thread: SystemThread
    private let isStopped = Atomic(false)

    /// - Parameter onWake: called on the listener's thread, once for all hints since the last call.
    package init(in directory: String, onWake: @escaping @Sendable () -> Void) throws(SystemFailure)
    {
        let path = PathParts.join(directory, WakeAddress.fileName)
        let address = try WakeAddress(in: directory)
        let socket = try WakeAddress.socket(path)
        let stopping = Descriptor(owning: try check(lh_eventfd(), "eventfd", path))
        // Linux gives the socket's file the mode of the socket less the umask, so at no moment can
        // other users send.
        if fchmod(socket.number, 0o600) < 0 { throw .last("fchmod", path) }
        address.remove()
        if address.with({ bind(socket.number, $0, $1) }) < 0 { throw .last("bind", path) }
        self.address = address
        identity = address.identity
        self.socket = socket
        self.stopping = stopping
        self.thread = try SystemThread(name: "longhaul-wake") {
            Self.listen(socket, stopping, onWake)
        }
    }

    /// Ends the thread and removes the socket. When it returns, `onWake` is not called any more;
    /// called from `onWake`, that call is the last. Call it before the engine lock is released.
    package func stop() {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        lh_eventfd_raise(stopping.number)
        thread.join()
        if address.identity == identity { address.remove() }
    }

    deinit {
        stop()
    }

    // MARK: -

    private static func listen(
        _ socket: Descriptor, _ stopping: Descriptor, _ onWake: @Sendable () -> Void
    ) {
        var polled = [
            pollfd(fd: stopping.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            if poll(&polled, 2, -1) < 0 {
                // If memory is short, poll may fail for a while (ENOMEM); without a pause the loop
                // would spin.
                if Glibc.errno != EINTR { usleep(100_000) }
                continue
            }
            if polled[0].revents != 0 { return }
            if takeAll(socket) { onWake() }
        }
    }

    private static func takeAll(_ socket: Descriptor) -> Bool {
        var any = false
        var byte: UInt8 = 0
        while recv(socket.number, &byte, 1, Int32(MSG_DONTWAIT)) >= 0 { any = true }
        return any
    }
}
