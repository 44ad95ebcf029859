internal import CLonghaul
internal import Glibc
internal import LonghaulCore

/// Tells when a file of a directory was written to, by any process of this machine, without looking
/// at it meanwhile (inotify(7)). What is written through a memory map is not noticed.
package final class WriteWatch: Sendable {
    private let watch: Descriptor?
    private let stopping: Descriptor
    private let names: [[UInt8]]

    /// Where the kernel has no watch left for this user, waiting takes at most this long.
    private static let blindMilliseconds: Int32 = 250

    /// - Parameter prefix: how the names of the files begin.
    package init(directory: String, names: [String]) throws(SystemFailure) {
        stopping = Descriptor(owning: try check(lh_eventfd(), "eventfd", directory))
        self.names = names.map { Array($0.utf8) }
        let number = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        let watch = number < 0 ? nil : Descriptor(owning: number)
        let mask = UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO)
        if let watch, inotify_add_watch(watch.number, directory, mask) >= 0 {
            self.watch = watch
        } else {
            self.watch = nil
        }
    }

    package enum Woken: Sendable {
        /// One of them may have been written to.
        case written
        case timeIsOver
        /// A signal was caught, or somebody said so.
        case interrupted
    }

    package func wait(seconds: Double) -> Woken {
        var asked = [
            pollfd(fd: stopping.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: watch?.number ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        let end = lh_clock_boottime().addingClamped(Int64(min(max(0, seconds), 1e6) * 1e9))
        while true {
            let left = Int32(max(0, (end - lh_clock_boottime() + 999_999) / 1_000_000))
            let pause = watch == nil ? min(left, Self.blindMilliseconds) : left
            let count = poll(&asked, 2, pause)
            if count == 0 { return watch == nil && pause < left ? .written : .timeIsOver }
            if count < 0 || asked[0].revents != 0 { return .interrupted }
            if take() { return .written }
        }
    }

    /// Ends a wait that is under way, and every later one at once.
    package func cancel() {
        lh_eventfd_raise(stopping.number)
    }

    /// Whether one of the names is among the notices.
    private func take() -> Bool {
        guard let watch else { return true }
        var found = false
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(watch.number, &buffer, buffer.count)
            if count <= 0 { return found }
            var offset = 0
            // inotify_event: watch, mask, cookie, length of the name; the name, padded with nulls.
            while offset + 16 <= count {
                let mask = number(buffer, at: offset + 4)
                let length = Int(number(buffer, at: offset + 12))
                let name = buffer[(offset + 16)..<min(count, offset + 16 + length)]
                if mask & UInt32(IN_Q_OVERFLOW) != 0
                    || names.contains(where: name.prefix(while: { $0 != 0 }).elementsEqual)
                {
                    found = true
                }
                offset += 16 + length
            }
        }
    }

    private func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
    }
}
