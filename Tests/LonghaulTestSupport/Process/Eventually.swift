import Glibc

/// A condition did not come true in time.
package struct TimedOut: Error, CustomStringConvertible {
    package var description: String
}

/// How long a test waits for what must come.
///
/// What a busy machine keeps from the test does not count: of the time from one look to the next no
/// more than 20 ms does. So a bound says how long something may take where it can get on.
package struct Patience {
    /// Long enough that only a real fault can use it up.
    package static let usual = Duration.seconds(60)

    private let limit: Duration
    private var last = ContinuousClock.now
    private var waited = Duration.zero

    package init(_ limit: Duration = usual) { self.limit = limit }

    /// Whether to look once more; called after each look.
    package mutating func lasts() -> Bool {
        let now = ContinuousClock.now
        waited += min(now - last, .milliseconds(20))
        last = now
        return waited < limit
    }
}

/// Waits until the condition holds, looking every few milliseconds.
///
/// - Parameters:
///   - limit: after this long it throws; given only where the promise is to be that quick.
///   - what: said in the error; evaluated at the end, so it may tell what was seen instead.
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

/// The same on this thread, for what is not asynchronous.
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
