/// Says so where something that has begun to leave takes too long: a thread in a system call on a
/// disk that hangs cannot be ended, only waited for.
package final class LeavingWatch: Sendable {
    private let seconds: Double
    private let overdue: @Sendable () -> Void
    private let ended = Mailbox<Void>()

    /// - Parameter overdue: called on a thread of its own, `seconds` after ``begin()`` unless
    ///   ``end()`` comes first.
    package init(_ seconds: Double, overdue: @escaping @Sendable () -> Void) {
        self.seconds = seconds
        self.overdue = overdue
    }

    /// Once.
    package func begin() {
        let (seconds, overdue, ended) = (seconds, overdue, ended)
        // Without a thread nobody is told.
        _ = try? SystemThread(name: "longhaul-leave") {
            if ended.take(within: seconds).isEmpty { overdue() }
        }
    }

    package func end() {
        ended.put([()])
    }
}
