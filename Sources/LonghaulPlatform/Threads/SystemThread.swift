internal import CLonghaul
internal import Glibc
internal import LonghaulModel
private import Synchronization

/// Threads have shallow stacks; the workers' closures hash and copy with buffers on the heap.
private let threadStackBytes = 512 * 1024

/// A kernel thread that runs one closure, for blocking calls, which must not occupy a thread of
/// Swift's concurrency pool.
///
/// All signals are blocked in it: they go to the program's other threads, and interrupt no call on
/// this one.
package final class SystemThread: Sendable {
    private let handle: Mutex<pthread_t?>

    private final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// - Parameter name: shown by `ps -T`; the kernel keeps 15 bytes of it.
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemFailure) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, threadStackBytes)

        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        // The new thread inherits the signal mask of its creator.
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                lh_name_thread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        if failure != 0 {
            start.release()
            throw SystemFailure(operation: "pthread_create", path: name, errno: failure)
        }
        handle = Mutex(thread)
    }

    /// Returns when the closure has. Called on the thread itself or a second time, it returns at
    /// once.
    package func join() {
        let thread = handle.withLock { handle -> pthread_t? in
            guard let thread = handle, pthread_equal(thread, pthread_self()) == 0 else {
                return nil
            }
            handle = nil
            return thread
        }
        if let thread { pthread_join(thread, nil) }
    }

    var isCurrent: Bool {
        handle.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    deinit {
        if let thread = handle.withLock({ $0 }) { pthread_detach(thread) }
    }
}

/// A thread for a call that may block without a limit.
package enum DetachedThread {
    package typealias Start =
        @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool

    /// Runs `body` on a new thread; if none can be created, on the caller's. For a `body` that
    /// ends.
    package static func start(name: String, _ body: @escaping @Sendable () -> Void) {
        if !begin(name: name, body) { body() }
    }

    /// Runs `body` on a new thread; `false` if none can be created.
    package static func begin(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        (try? SystemThread(name: name, body)) != nil
    }
}

/// The calling thread's disk priority. I/O schedulers without priorities (`none`, `mq-deadline` in
/// its default settings) ignore it.
package enum DiskPriority {
    /// `true`: served only when the disk is otherwise idle; `false`: the process's own priority.
    package static func setIdle(_ isIdle: Bool) {
        lh_disk_priority(isIdle ? 1 : 0)
    }
}

/// Reports if a shutdown takes too long: a thread in a system call on a hanging disk cannot be
/// ended, only waited for.
package final class LeavingWatch: Sendable {
    private let seconds: Double
    private let overdue: @Sendable () -> Void
    private let ended = Mailbox<Void>()

    /// - Parameter overdue: called on a separate thread, `seconds` after ``begin()`` unless
    ///   ``end()`` comes first.
    package init(_ seconds: Double, overdue: @escaping @Sendable () -> Void) {
        self.seconds = seconds
        self.overdue = overdue
    }

    /// To be called once.
    package func begin() {
        let (seconds, overdue, ended) = (seconds, overdue, ended)
        // If no thread can be had, the delay is not reported.
        _ = try? SystemThread(name: "longhaul-leave") {
            if ended.take(within: seconds).isEmpty { overdue() }
        }
    }

    package func end() {
        ended.put([()])
    }
}
