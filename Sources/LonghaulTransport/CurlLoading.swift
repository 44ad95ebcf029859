/// Loads libcurl, and with it its TLS library, on a thread of its own: several milliseconds, in
/// which others can open files. What fails here fails again, and is told, when a ``Transport`` is
/// made.
package final class CurlLoading: Sendable {
    private let thread: LoopThread?

    package init() {
        thread = try? LoopThread(name: "longhaul-load") { try? CurlGlobal.start() }
    }

    /// Returns when all is loaded. The process must not exit before: libraries that set themselves
    /// up would be taken down at the same time.
    package func wait() {
        thread?.join()
    }
}
