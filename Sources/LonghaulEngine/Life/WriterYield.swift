internal import LonghaulCore
internal import LonghaulPlatform

/// Between turns that follow each other because more is to be looked at than one takes. SQLite lets
/// nobody queue: those who want to write try again every few milliseconds, and without a gap
/// would find the store locked for as long as the backlog lasts.
enum WriterYield {
    /// Several tries of whoever waits.
    static let leastSeconds: Double = 0.02
    static let mostSeconds: Double = 0.2
    static let share: Double = 0.125

    static func seconds(afterTurnOf seconds: Double) -> Double {
        min(max(leastSeconds, seconds * share), mostSeconds)
    }

    static func leave(after outcome: TurnOutcome, begun: Moment) {
        guard outcome.isBehind else { return }
        Pause.seconds(seconds(afterTurnOf: SystemClock.now().monotonic - begun.monotonic))
    }
}
