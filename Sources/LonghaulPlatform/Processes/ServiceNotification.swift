internal import CSystemd
internal import Glibc
internal import LonghaulModel

/// The messages of this process to a service manager (sd_notify(3)); none are sent without one.
package struct ServiceNotification: Sendable {
    /// The manager's limit for the time between two watchdog messages.
    package let watchdogSeconds: Double?

    /// `nil` = no service manager asked for messages.
    package init?(environment: [String: String]) {
        guard let socket = environment["NOTIFY_SOCKET"], !socket.isEmpty else { return nil }
        var microseconds: UInt64 = 0
        // Set only if the watchdog is meant for this process (WATCHDOG_PID).
        watchdogSeconds =
            sd_watchdog_enabled(0, &microseconds) > 0 ? Double(microseconds) / 1e6 : nil
    }

    /// Never fails: a missing receiver does not matter.
    package func send(_ facts: [Fact]) {
        sd_notify(0, facts.map(\.line).joined(separator: "\n"))
    }

    package enum Fact: Sendable {
        case ready
        case reloading
        case stopping
        case alive
        /// A line for users.
        case status(String)

        var line: String {
            switch self {
            case .ready: "READY=1"
            case .reloading:
                // The manager distinguishes this message from an earlier one by CLOCK_MONOTONIC.
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
