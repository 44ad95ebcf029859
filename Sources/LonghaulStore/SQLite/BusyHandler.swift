internal import LonghaulCore

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// Waits while another connection writes. SQLite's own handler soon asks only ten times a second,
/// and misses the gaps that a busy engine leaves.
final class BusyHandler: Sendable {
    private let seconds: Double
    /// Used by the thread that uses the connection.
    private nonisolated(unsafe) var since: Double = 0

    init(seconds: Double) {
        self.seconds = seconds
    }

    func goesOn(after tries: Int) -> Bool {
        let now = BusyHandler.now()
        if tries == 0 { since = now }
        if now - since >= seconds { return false }
        usleep(
            tries < Limits.busyShortPauses
                ? Limits.busyShortPauseMicroseconds : Limits.busyPauseMicroseconds)
        return true
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
