internal import Glibc

/// A process; the time of its start distinguishes it from a later one with the same number.
package struct ProcessIdentity: Hashable, Sendable {
    package var pid: Int32
    /// Clock ticks after boot (proc(5)).
    package var startTicks: UInt64

    package init(pid: Int32, startTicks: UInt64) {
        self.pid = pid
        self.startTicks = startTicks
    }

    /// Identity of this process; the start is 0 if /proc is not mounted.
    package static var current: ProcessIdentity {
        let pid = getpid()
        return ProcessIdentity(pid: pid, startTicks: facts(of: pid)?.startTicks ?? 0)
    }

    /// The process with this number; `nil` if missing or a zombie.
    package static func of(pid: Int32) -> ProcessIdentity? {
        guard let facts = facts(of: pid), facts.isAlive else { return nil }
        return ProcessIdentity(pid: pid, startTicks: facts.startTicks)
    }

    /// True if this very process is running.
    package var isAlive: Bool { Self.of(pid: pid) == self }

    /// True if the process is stopped until it is continued (SIGSTOP, a debugger).
    package var isStopped: Bool {
        guard let facts = Self.facts(of: pid) else { return false }
        return facts.startTicks == startTicks && facts.isStopped
    }

    // MARK: -

    struct Facts: Equatable {
        var startTicks: UInt64
        /// See proc(5), `State`.
        var state: Substring

        var isAlive: Bool { state != "Z" && state != "X" && state != "x" }
        var isStopped: Bool { state == "T" || state == "t" }
    }

    private static func facts(of pid: Int32) -> Facts? {
        (try? smallFile("/proc/\(pid)/stat")).flatMap { parse($0) }
    }

    static func parse(_ stat: String) -> Facts? {
        // The second field is the program's name in parentheses, and may itself contain parentheses
        // and blanks.
        guard let end = stat.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = stat[stat.utf8.index(after: end)...].split(separator: " ")
        // Fields from the third one on, the state; the start is the 22nd field.
        guard fields.count > 19, let ticks = UInt64(fields[19]) else { return nil }
        return Facts(startTicks: ticks, state: fields[0])
    }
}
