internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// Poll interval for commits without inotify.
private let commitPollSeconds = 0.1
/// Checks after a write come at growing intervals, from this one…
private let settlingFirstSeconds = 0.001
/// …to this one.
private let settlingLastSeconds: Double = 5

/// Lets a thread sleep until any process writes to a file, or until ``call()``.
///
/// The kernel reports the write, not its meaning. SQLite writes to its log first; other connections
/// see the commit a moment later (perhaps after a sync of the disk). So the waiter checks several
/// times after a write, see ``WriteSettling``.
package final class CommitWatch: Sendable {
    package struct Woken: Sendable {
        package var isWritten = false
        package var isCalled = false
        /// The other descriptor is readable.
        package var isOther = false
        /// A signal was caught.
        package var isInterrupted = false
    }

    private let prefix: [UInt8]
    private let calling: Descriptor
    /// `nil` if this user has no inotify instance left.
    private let watch: Descriptor?

    /// - Parameter prefix: the beginning of the files' names, directly in `directory`.
    package init(of prefix: String, in directory: String) throws(SystemFailure) {
        self.prefix = Array(prefix.utf8)
        calling = Descriptor(owning: try check(lh_eventfd(), "eventfd", directory))
        let number = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        guard number >= 0 else {
            watch = nil
            return
        }
        let opened = Descriptor(owning: number)
        let events = UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO)
        watch = inotify_add_watch(number, directory, events) < 0 ? nil : opened
    }

    /// Ends the present wait, or the next one. From any thread; returns at once.
    package func call() {
        lh_eventfd_raise(calling.number)
    }

    /// Waits for a write, a call, or the seconds to pass; `nil` = without a limit. After any of
    /// them there may be changes.
    ///
    /// - Parameter other: Another descriptor that ends the wait when it is readable.
    package func wait(atMost seconds: Double?, other: Int32? = nil) -> Woken {
        var left = seconds
        if watch == nil { left = min(left ?? .infinity, commitPollSeconds) }
        // poll(2) ignores a negative descriptor.
        var polled = [
            pollfd(fd: calling.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: watch?.number ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: other ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        // Rounded up: a timer that is nearly due must not make a loop spin.
        let milliseconds = left.map { Int32(min(max($0, 0), 86_400) * 1000 + 0.999) } ?? -1
        let answer = poll(&polled, nfds_t(polled.count), milliseconds)
        let number = Glibc.errno
        if answer < 0, number != EINTR { usleep(10_000) }
        var woken = Woken()
        woken.isInterrupted = answer < 0 && number == EINTR
        guard answer > 0 else { return woken }
        if polled[0].revents != 0 { woken.isCalled = lh_eventfd_take(calling.number) > 0 }
        if polled[1].revents != 0, takeWrites() { woken.isWritten = true }
        woken.isOther = polled[2].revents != 0
        return woken
    }

    /// True if one of the pending events concerns these files.
    private func takeWrites() -> Bool {
        guard let watch else { return true }
        var isOurs = false
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(watch.number, &buffer, buffer.count)
            if count <= 0 { return isOurs }
            isOurs = isOurs || hasOurs(buffer[..<count])
        }
    }

    /// A lost event has no name and counts as a match.
    private func hasOurs(_ notices: ArraySlice<UInt8>) -> Bool {
        DirectoryEvent.all(notices).contains { $0.name.isEmpty || $0.name.starts(with: prefix) }
    }
}

/// When to check again after a write: at growing intervals, until the commit is visible even if the
/// disk takes seconds to sync.
package struct WriteSettling: Sendable {
    /// Seconds until the next check; `nil` = no commit is expected.
    package private(set) var pause: Double?

    package init() {}

    package mutating func written() {
        pause = settlingFirstSeconds
    }

    /// To be called after each check.
    package mutating func looked() {
        guard let pause else { return }
        self.pause = pause < settlingLastSeconds ? pause * 2 : nil
    }
}
