/// Loads libcurl and its TLS library on a thread of its own: this takes several milliseconds, in
/// which other threads can open files. A failure occurs again, and is reported, when a
/// ``Transport`` is made.
package final class CurlLoading: Sendable {
    private let thread: LoopThread?

    package init() {
        thread = try? LoopThread(name: "longhaul-load") { try? CurlGlobal.start() }
    }

    /// Returns when loading is done. The process must not exit earlier: libraries would be
    /// initialized and destroyed at the same time.
    package func wait() {
        thread?.join()
    }
}
