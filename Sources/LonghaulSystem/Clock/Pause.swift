internal import Glibc

/// Waiting for a bounded time, for those who poll because nothing tells them.
package enum Pause {
    package static func seconds(_ seconds: Double) {
        guard seconds > 0 else { return }
        var time = timespec()
        time.tv_sec = Int(seconds)
        time.tv_nsec = Int((seconds - Double(time.tv_sec)) * 1e9)
        var rest = timespec()
        while nanosleep(&time, &rest) < 0, errno == EINTR { time = rest }
    }
}
