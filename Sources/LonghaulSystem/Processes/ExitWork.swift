internal import Glibc
private import Synchronization

/// What is to be done when the process ends in order (a return from `main`, `exit`), before
/// libraries whose own turn was registered earlier take down what threads of ours still use.
package enum ExitWork {
    private static let works = Mutex<[Int: @Sendable () -> Void]>([:])
    private static let isRegistered: Bool = atexit { ExitWork.perform() } == 0

    /// Replaces what was to be done under this key; `nil` = nothing.
    package static func set(_ key: Int, _ work: (@Sendable () -> Void)?) {
        works.withLock { $0[key] = work }
        _ = isRegistered
    }

    private static func perform() {
        for work in works.withLock({ Array($0.values) }) { work() }
    }
}
