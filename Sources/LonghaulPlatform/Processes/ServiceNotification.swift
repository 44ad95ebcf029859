internal import CSystemd
internal import Glibc
internal import LonghaulCore

/// What a service manager is told of this process (sd_notify(3)); silent when none asked.
package struct ServiceNotification: Sendable {
    /// How soon a sign of life must follow the last one, as the manager wants it.
    package let watchdogSeconds: Double?

    /// `nil` = nobody wants to know.
    package init?(environment: [String: String]) {
        guard let socket = environment["NOTIFY_SOCKET"], !socket.isEmpty else { return nil }
        var microseconds: UInt64 = 0
        // Only when the watchdog is meant for this process (WATCHDOG_PID).
        watchdogSeconds =
            sd_watchdog_enabled(0, &microseconds) > 0 ? Double(microseconds) / 1e6 : nil
    }

    /// Never fails: whoever does not listen has no use for it.
    package func send(_ facts: [Fact]) {
        sd_notify(0, facts.map(\.line).joined(separator: "\n"))
    }

    package enum Fact: Sendable {
        case ready
        case reloading
        case stopping
        case alive
        /// A line for people.
        case status(String)

        var line: String {
            switch self {
            case .ready: "READY=1"
            case .reloading:
                // CLOCK_MONOTONIC, by which the manager tells this from an earlier one.
                "RELOADING=1\nMONOTONIC_USEC=\(Self.monotonicMicroseconds())"
            case .stopping: "STOPPING=1"
            case .alive: "WATCHDOG=1"
            case .status(let text): "STATUS=\(TerminalText.shown(text))"
            }
        }

        private static func monotonicMicroseconds() -> Int64 {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        }
    }
}
