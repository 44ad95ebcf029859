/// A thread for a call that blocks for as long as it likes.
package enum DetachedThread {
    package typealias Start =
        @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool

    /// Runs `body` on a thread of its own; on the caller's if none can be had: for what ends.
    package static func start(name: String, _ body: @escaping @Sendable () -> Void) {
        if !begin(name: name, body) { body() }
    }

    /// Runs `body` on a thread of its own; `false` if none can be had.
    package static func begin(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        (try? SystemThread(name: name, body)) != nil
    }
}
