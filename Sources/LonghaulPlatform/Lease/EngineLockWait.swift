internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// Poll interval if no inotify instance is left.
private let lockPollMilliseconds: Int64 = 100
/// Upper bound of a wait, for a lost notification, such as when the file is deleted while the
/// lock is held.
private let lockWaitMilliseconds: Int64 = 1_000

/// Waits for the engine lock on the calling thread. The kernel wakes it when a holder closes the
/// file or ends; ``cancel()`` ends the wait from any thread.
package final class EngineLockWait: Sendable {
    /// The kernel reports the close a moment before it releases the lock.
    private static let settleMilliseconds: [Int64] = [1, 2, 4, 8, 16, 32]

    private let home: DirectoryHandle
    private let cancellation: Descriptor

    package init(in directory: String) throws(SystemFailure) {
        home = try DirectoryHandle(opening: directory)
        cancellation = Descriptor(owning: try check(lh_eventfd(), "eventfd", directory))
    }

    /// Ends ``acquire(timeout:)``, also if that begins later.
    package func cancel() {
        lh_eventfd_raise(cancellation.number)
    }

    /// The lock, once it is free; `nil` if cancelled, or after `timeout` seconds. Waiters are
    /// served in no particular order.
    package func acquire(timeout: Double? = nil) throws(SystemFailure) -> EngineLock? {
        let end = timeout.map { lh_clock_boottime().addingClamped(Int64(bounding: $0 * 1e9)) }
        // All tries share one descriptor: closing one would wake all waiters, this one included.
        var candidate = try EngineLock.open(in: home)
        var watch = watch(candidate)
        var settling = Self.settleMilliseconds[...]
        while true {
            switch try EngineLock.attempt(candidate, in: home) {
            case .taken(let lock): return lock
            case .held: break
            case .deleted:
                candidate = try EngineLock.open(in: home)
                watch = self.watch(candidate)
            }
            var pause = watch == nil ? lockPollMilliseconds : lockWaitMilliseconds
            if let settle = settling.popFirst() { pause = min(pause, settle) }
            if let end {
                let left = (end - lh_clock_boottime() + 999_999) / 1_000_000
                if left <= 0 { return nil }
                pause = min(pause, left)
            }
            switch wait(watch, milliseconds: pause) {
            case .cancelled: return nil
            case .closed: settling = Self.settleMilliseconds[...]
            case .nothing: break
            }
        }
    }

    // MARK: -

    private enum Woken { case cancelled, closed, nothing }

    /// `nil` if this user has no inotify instance left.
    private func watch(_ candidate: Descriptor) -> Descriptor? {
        let number = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        guard number >= 0 else { return nil }
        let watch = Descriptor(owning: number)
        // Through the descriptor: the path may lead to another file.
        let path = "/proc/self/fd/\(candidate.number)"
        return inotify_add_watch(number, path, UInt32(IN_CLOSE_WRITE)) < 0 ? nil : watch
    }

    private func wait(_ watch: Descriptor?, milliseconds: Int64) -> Woken {
        // poll(2) ignores a negative descriptor.
        var polled = [
            pollfd(fd: cancellation.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: watch?.number ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        // An interrupted poll counts as no event: the caller tries again and waits.
        if poll(&polled, 2, Int32(milliseconds)) <= 0 { return .nothing }
        if polled[0].revents != 0 { return .cancelled }
        if let watch {
            var events = [UInt8](repeating: 0, count: 4_096)
            while read(watch.number, &events, events.count) > 0 {}
        }
        return .closed
    }
}
