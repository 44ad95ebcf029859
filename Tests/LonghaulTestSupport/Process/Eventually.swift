import Glibc

/// A condition did not come true in time.
package struct TimedOut: Error, CustomStringConvertible {
    package var description: String
}

/// Waits until the condition holds, looking every few milliseconds.
///
/// - Parameters:
///   - limit: after this long it throws; choose it so that only a real fault can use it up.
///   - what: said in the error; evaluated at the end, so it may tell what was seen instead.
/// - Throws: `TimedOut`, or what the condition threw.
package func eventually(
    within limit: Duration = .seconds(10), _ what: @autoclosure () -> String = "condition",
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while true {
        if try await condition() { return }
        guard ContinuousClock.now < deadline else {
            throw TimedOut(description: "not within \(limit): \(what())")
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// The same on this thread, for what is not asynchronous.
func untilTrue(
    within limit: Duration = .seconds(10), _ what: @autoclosure () -> String,
    _ condition: () throws -> Bool
) throws {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < deadline else {
            throw TimedOut(description: "not within \(limit): \(what())")
        }
        usleep(2_000)
    }
}
