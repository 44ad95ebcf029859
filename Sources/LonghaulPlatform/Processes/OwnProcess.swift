internal import CLonghaul
internal import Glibc

package enum OwnProcess {
    /// Sets process-wide settings that serve transfers: allocator thresholds, no memory statistics
    /// in SQLite, and the default action of SIGCHLD. For an executable of this project, before
    /// anything else; an embedding program's process is left unchanged.
    package static func tune() {
        lh_process_tune()
    }

    /// Stops this process by the default action of SIGTSTP; returns when it is continued.
    package static func suspend() {
        _ = lh_suspend()
    }

    /// Ends this process by the signal itself, so that shells and service managers see the cause.
    package static func end(by kind: Int32) -> Never {
        var only = sigset_t()
        sigemptyset(&only)
        sigaddset(&only, kind)
        signal(kind, SIG_DFL)
        kill(getpid(), kind)
        // The signal may be blocked in all threads but some that hang.
        pthread_sigmask(SIG_UNBLOCK, &only, nil)
        _exit(128 + kind)
    }

    /// Runs the work of a normal exit (``ExitWork``) first.
    package static func exit(_ status: Int32) -> Never {
        Glibc.exit(status)
    }

    /// Runs another program in this process, with its descriptors and environment. Returns only
    /// when there is no such program.
    package static func become(_ program: String, _ arguments: [[UInt8]]) -> SystemFailure {
        var words = ([Array(program.utf8)] + arguments).map { word in
            strdup(word.map { CChar(bitPattern: $0) } + [0])
        }
        words.append(nil)
        execv(program, &words)
        return .last("start", program)
    }

    /// Keeps the signal from being delivered to the calling thread, and to the program that it
    /// executes, until it is let through again.
    package static func setHeldBack(_ signal: Int32, _ isHeldBack: Bool) {
        var only = sigset_t()
        sigemptyset(&only)
        sigaddset(&only, signal)
        pthread_sigmask(isHeldBack ? SIG_BLOCK : SIG_UNBLOCK, &only, nil)
    }

    /// Lets the program that this process becomes have the descriptor, too.
    package static func setInherited(_ descriptor: Int32) throws(SystemFailure) {
        if fcntl(descriptor, F_SETFD, 0) < 0 { throw .last("fcntl", "descriptor \(descriptor)") }
    }

    /// Exits without waiting for other threads: one may hang in a call on a disk.
    package static func exitNow(_ status: Int32) -> Never {
        _exit(status)
    }

    /// The arguments of this process as bytes, without its name.
    package static var arguments: [[UInt8]] {
        var count: Int32 = 0
        guard let list = lh_arguments(&count) else { return [] }
        return (0..<Int(count)).dropFirst().compactMap { index in
            list[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        }
    }

    /// The most files that this process may have open (`ulimit -n`).
    package static var openFilesMax: Int {
        let most = sysconf(Int32(_SC_OPEN_MAX))
        return most < 0 ? .max : most
    }

    /// The number of processors that are online.
    package static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// The largest file that this process may write (`ulimit -f`); `nil` = no limit.
    package static var fileBytesMax: UInt64? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return nil }
        return limit.rlim_cur == rlim_t.max ? nil : UInt64(limit.rlim_cur)
    }
}

private import Synchronization

/// Work to do at a normal exit of the process (a return from `main`, `exit`): threads of this
/// library end before the libraries that they use destroy their tables.
///
/// The handlers of atexit(3) run in the reverse order of registration, so code that loads such a
/// library calls ``goFirst()`` afterwards.
package enum ExitWork {
    private static let works = Mutex<[Int: @Sendable () -> Void]>([:])

    /// Replaces the work under this key; `nil` = none.
    package static func set(_ key: Int, _ work: (@Sendable () -> Void)?) {
        let isFirst = works.withLock { works in
            defer { works[key] = work }
            return works.isEmpty
        }
        if isFirst { goFirst() }
    }

    /// Makes the work run before all handlers registered until now. Without work it does nothing.
    package static func goFirst() {
        guard works.withLock({ !$0.isEmpty }) else { return }
        atexit { ExitWork.perform() }
    }

    /// Runs the work once, however often it was registered.
    private static func perform() {
        let due = works.withLock { works in
            defer { works.removeAll() }
            return works
        }
        for work in due.values { work() }
    }
}
