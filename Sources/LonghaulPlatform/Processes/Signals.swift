internal import Glibc
private import Synchronization

/// Signals that ask a command to stop. The handler only stores the number; commands check it
/// between two steps, and blocking calls end with EINTR. An engine, which sleeps without a step,
/// has a ``SignalTrap``.
package enum Signals {
    package static let interrupt = SIGINT
    package static let hangUp = SIGHUP

    private static let number = Atomic<Int32>(0)

    /// A signal that came since ``watch()``.
    package static var received: Int32? {
        let value = number.load(ordering: .relaxed)
        return value == 0 ? nil : value
    }

    /// Records a signal for callers that learn of it in another way.
    package static func record(_ kind: Int32) {
        number.store(kind, ordering: .relaxed)
    }

    /// Makes a write to a closed pipe, or beyond the limit of a file's size (`ulimit -f`), fail
    /// instead of ending the process: an engine in this process has bytes to save.
    package static func ignoreFailedWrites() {
        SignalTrap.ignoreBrokenPipes()
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Makes a background process that reads from its terminal get an error instead of being
    /// stopped.
    package static func ignoreTerminalInput() { signal(SIGTTIN, SIG_IGN) }

    /// Records interrupt, terminate and hang-up from now on instead of ending the process; a second
    /// interrupt or terminate does end it. A hang-up comes twice where both the shell and the
    /// kernel send it. Signals that were ignored when the process started (nohup, `&` in a script)
    /// stay ignored.
    package static func watch() {
        number.store(0, ordering: .relaxed)
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { received in
            Signals.number.store(received, ordering: .relaxed)
        }
        for kind in SignalTrap.leaving where !isIgnored(kind) {
            action.sa_flags = kind == hangUp ? 0 : Int32(bitPattern: UInt32(SA_RESETHAND))
            sigaction(kind, &action, nil)
        }
    }

    // MARK: - Ctrl-Z

    private static let isToSuspend = Atomic(false)

    /// Records Ctrl-Z from now on instead of stopping the process, which may hold locks that other
    /// processes wait for.
    package static func watchSuspension() {
        if isIgnored(SIGTSTP) { return }
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in
            Signals.isToSuspend.store(true, ordering: .relaxed)
        }
        action.sa_flags = SA_RESTART
        sigaction(SIGTSTP, &action, nil)
    }

    /// Ctrl-Z was recorded since the last call; clears the record.
    package static func takeSuspension() -> Bool {
        isToSuspend.exchange(false, ordering: .relaxed)
    }

    /// Delays a stop by Ctrl-Z until `body` has ended.
    package static func withoutSuspension<T>(_ body: () throws -> T) rethrows -> T {
        watchSuspension()
        defer {
            signal(SIGTSTP, isIgnored(SIGTSTP) ? SIG_IGN : SIG_DFL)
            if takeSuspension() { raise(SIGTSTP) }
        }
        return try body()
    }

    private static func isIgnored(_ kind: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(kind, nil, &action) == 0 else { return false }
        // Functions cannot be compared.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
