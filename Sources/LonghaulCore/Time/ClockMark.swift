/// How the wall clock stood to the time since boot: two of them, of one boot, tell by how much the
/// clock was set in between.
package struct ClockMark: Hashable, Sendable {
    package var boot: String
    /// Of wall clock over time since boot.
    package var milliseconds: Int64

    /// Less than this is a clock that is steered, not set.
    package static let smallestJump: Int64 = 60_000

    /// - Parameter boot: see `BootID`; no blank in it.
    package init(boot: String, at moment: Moment) {
        self.boot = boot
        milliseconds = moment.wall.milliseconds.subtractingClamped(
            moment.monotonic.nanoseconds / 1_000_000)
    }

    /// By how many milliseconds the clock was set since, backwards below zero; `nil` where it was
    /// not, and across a boot, where nobody can say.
    package func jump(since earlier: ClockMark) -> Int64? {
        guard boot == earlier.boot else { return nil }
        let jump = milliseconds.subtractingClamped(earlier.milliseconds)
        return jump.magnitude < ClockMark.smallestJump.magnitude ? nil : jump
    }

    /// As it is stored.
    package var text: String { "\(boot) \(milliseconds)" }

    package init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let milliseconds = Int64(words[1]) else { return nil }
        boot = String(words[0])
        self.milliseconds = milliseconds
    }
}
