import Glibc

/// A condition did not come true in time.
package struct TimedOut: Error, CustomStringConvertible {
    package var description: String
}

/// How long a test waits for an expected event.
///
/// Time that a busy machine takes from the test does not count: between two checks at most 20 ms
/// do. So a limit bounds the time of the work itself.
package struct Patience {
    /// Long enough that only a real fault can use it up.
    package static let usual = Duration.seconds(60)

    private let limit: Duration
    private var last = ContinuousClock.now
    private var waited = Duration.zero

    package init(_ limit: Duration = usual) { self.limit = limit }

    /// Whether to check once more; called after each check.
    package mutating func lasts() -> Bool {
        let now = ContinuousClock.now
        waited += min(now - last, .milliseconds(20))
        last = now
        return waited < limit
    }
}

/// Waits until the condition holds, checking every few milliseconds.
///
/// - Parameters:
///   - limit: after this long it throws; given only if the promise is to be that quick.
///   - what: for the error; evaluated at the end, so it may contain what was seen instead.
/// - Throws: `TimedOut`, or what the condition threw.
package func eventually(
    within limit: Duration = Patience.usual, _ what: @autoclosure () -> String = "condition",
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    var patience = Patience(limit)
    while try await !condition() {
        guard patience.lasts() else {
            throw TimedOut(description: "not within \(limit): \(what())")
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// The same on this thread, for synchronous code.
func untilTrue(
    within limit: Duration = Patience.usual, _ what: @autoclosure () -> String,
    _ condition: () throws -> Bool
) throws {
    var patience = Patience(limit)
    while try !condition() {
        guard patience.lasts() else {
            throw TimedOut(description: "not within \(limit): \(what())")
        }
        usleep(2_000)
    }
}
