internal import CLonghaul
internal import Glibc
private import Synchronization

/// Turns signals into calls on a separate thread, which need not be async-signal-safe.
///
/// A signal that was ignored when this process started stays ignored: `nohup` and background jobs
/// of a shell rely on that.
package final class SignalTrap: Sendable {
    /// The signals that ask a process to end.
    package static let leaving: [Int32] = [SIGINT, SIGTERM, SIGHUP]
    package static let hangUp = SIGHUP
    /// Ctrl-Z.
    package static let suspending = SIGTSTP
    /// Asks an engine to make room for its successor in the same process.
    package static let handingOver = SIGUSR2

    private let signals: [Int32]
    private let stopping: Descriptor
    private let thread: SystemThread
    private let isStopped = Atomic(false)

    /// - Parameter onSignal: called once per signal that was delivered; several of a kind may
    ///   arrive as one.
    /// - Throws: EBUSY while the process has another trap.
    package init(
        _ signals: [Int32] = leaving, onSignal: @escaping @Sendable (Int32) -> Void
    ) throws(SystemFailure) {
        let pipe = try Self.pipe.get()
        let stopping = Descriptor(owning: try check(lh_eventfd(), "eventfd", ""))
        guard !Self.isInUse.exchange(true, ordering: .relaxed) else {
            throw SystemFailure(operation: "sigaction", path: "", errno: EBUSY)
        }
        // Signals that an earlier trap has not read.
        var byte: UInt8 = 0
        while read(pipe.readEnd.number, &byte, 1) == 1 {}
        do {
            self.thread = try SystemThread(name: "longhaul-signal") {
                Self.listen(pipe.readEnd, stopping, onSignal)
            }
        } catch {
            Self.isInUse.store(false, ordering: .relaxed)
            throw error
        }
        self.stopping = stopping
        self.signals = signals
        for signal in signals {
            let answer = lh_signal_catch(signal, pipe.writeEnd.number)
            if answer < 0 {
                stop()
                throw .answered(answer, "sigaction", String(signal))
            }
            // The program before this one in the process has held it back: OwnProcess.become.
            if signal == Self.handingOver { OwnProcess.setHeldBack(signal, false) }
        }
    }

    /// Restores the previous handlers. When it returns, `onSignal` is not called any more.
    package func stop() {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        for signal in signals { lh_signal_restore(signal) }
        lh_eventfd_raise(stopping.number)
        thread.join()
        Self.isInUse.store(false, ordering: .relaxed)
    }

    deinit {
        stop()
    }

    /// A write to a closed connection then fails with EPIPE, and does not end the process.
    package static func ignoreBrokenPipes() {
        _ = lh_signal_ignore(SIGPIPE)
    }

    // MARK: -

    private struct Pipe {
        let readEnd: Descriptor
        let writeEnd: Descriptor
    }

    /// Made once and never closed: a handler may still run in another thread when a trap ends, and
    /// would write its byte to another file that got the number.
    private static let pipe = Result<Pipe, SystemFailure> { () throws(SystemFailure) in
        var ends: [Int32] = [-1, -1]
        try check(lh_pipe(&ends), "pipe", "")
        return Pipe(
            readEnd: Descriptor(owning: ends[0]), writeEnd: Descriptor(owning: ends[1]))
    }
    private static let isInUse = Atomic(false)

    private static func listen(
        _ readEnd: Descriptor, _ stopping: Descriptor, _ onSignal: @Sendable (Int32) -> Void
    ) {
        var polled = [
            pollfd(fd: stopping.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: readEnd.number, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            if poll(&polled, 2, -1) < 0 {
                if Glibc.errno != EINTR { usleep(100_000) }
                continue
            }
            if polled[0].revents != 0 { return }
            var byte: UInt8 = 0
            while read(readEnd.number, &byte, 1) == 1 { onSignal(Int32(byte)) }
        }
    }
}
