internal import CLonghaul
internal import Glibc
private import Synchronization

/// A kernel thread that runs one closure, for work that blocks in calls which Swift's own threads
/// must not be held up by.
///
/// All signals are blocked in it: they go to the threads of the program around us, and no call of
/// ours is interrupted.
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

    /// Ours call little; the closures that workers run hash and copy with buffers on the heap.
    private static let stackBytes = 512 * 1024

    /// - Parameter name: shown by `ps -T`; the kernel keeps 15 bytes of it.
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemFailure) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, Self.stackBytes)

        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        // The new thread inherits the mask of its maker.
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

    /// Returns when the closure has. From the thread itself, and the second time, it returns at
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
