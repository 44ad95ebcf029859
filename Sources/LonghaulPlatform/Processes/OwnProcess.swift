internal import CLonghaul
internal import Glibc

package enum OwnProcess {
    /// Settings of the whole process that serve transfers: how memory is kept, no statistics of
    /// SQLite's, and that the ends of its processes can be asked for. For a program of our own,
    /// before anything else; an embedder's process is left as it is.
    package static func tune() {
        lh_process_tune()
    }

    /// Stops here as Ctrl-Z does where nobody catches it; returns when the process is continued.
    package static func suspend() {
        _ = lh_suspend()
    }

    /// Ends this process as the signal would have: shells and service managers see why.
    package static func end(by kind: Int32) -> Never {
        var only = sigset_t()
        sigemptyset(&only)
        sigaddset(&only, kind)
        signal(kind, SIG_DFL)
        kill(getpid(), kind)
        // The signal may be blocked in all threads but those that hang.
        pthread_sigmask(SIG_UNBLOCK, &only, nil)
        _exit(128 + kind)
    }

    /// What it was called with, as bytes and without its own name.
    package static var arguments: [[UInt8]] {
        var count: Int32 = 0
        guard let list = lh_arguments(&count) else { return [] }
        return (0..<Int(count)).dropFirst().compactMap { index in
            list[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        }
    }

    /// How many files this process may have open now (`ulimit -n`).
    package static var openFilesMax: Int {
        let most = sysconf(Int32(_SC_OPEN_MAX))
        return most < 0 ? .max : most
    }

    /// How large a file may be that it writes (`ulimit -f`); `nil` = no limit.
    package static var fileBytesMax: UInt64? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return nil }
        return limit.rlim_cur == rlim_t.max ? nil : UInt64(limit.rlim_cur)
    }
}

private import Synchronization

/// What is to be done when the process ends in order (a return from `main`, `exit`): threads of
/// ours leave before the libraries that they use take their tables down.
///
/// The handlers of atexit(3) run in the reverse order of registration, so whoever brings such a
/// library in says ``goFirst()`` afterwards.
package enum ExitWork {
    private static let works = Mutex<[Int: @Sendable () -> Void]>([:])

    /// Replaces what was to be done under this key; `nil` = nothing.
    package static func set(_ key: Int, _ work: (@Sendable () -> Void)?) {
        let isFirst = works.withLock { works in
            defer { works[key] = work }
            return works.isEmpty
        }
        if isFirst { goFirst() }
    }

    /// The work is done before that of all who have registered something until now. Without work,
    /// nothing happens.
    package static func goFirst() {
        guard works.withLock({ !$0.isEmpty }) else { return }
        atexit { ExitWork.perform() }
    }

    /// Once, however often it was registered.
    private static func perform() {
        let due = works.withLock { works in
            defer { works.removeAll() }
            return works
        }
        for work in due.values { work() }
    }
}
