internal import Glibc
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
