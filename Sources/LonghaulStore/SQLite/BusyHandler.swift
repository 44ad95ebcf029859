#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// Waits while another connection writes. SQLite's own way asks only ten times a second after a
/// while, and misses the gaps that a busy engine leaves.
final class BusyHandler: Sendable {
    /// How long a call waits for another process's transaction.
    static let seconds: Double = 10

    private let seconds: Double
    /// Touched by the thread that uses the connection.
    private nonisolated(unsafe) var since: Double = 0

    private static let firstPauses = 10
    private static let firstMicroseconds: UInt32 = 1_000
    /// Less than any gap: see `WriterYield`.
    private static let microseconds: UInt32 = 4_000

    init(seconds: Double) {
        self.seconds = seconds
    }

    func goesOn(after tries: Int) -> Bool {
        let now = BusyHandler.now()
        if tries == 0 { since = now }
        if now - since >= seconds { return false }
        usleep(
            tries < BusyHandler.firstPauses
                ? BusyHandler.firstMicroseconds : BusyHandler.microseconds)
        return true
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
