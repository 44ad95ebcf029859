internal import CLonghaul
internal import Glibc

/// Wakes one thread from another, where the thread must also wake up for a signal: poll(2) ends
/// when one is caught, and its timeout does not depend on the wall clock. Elsewhere a ``Mailbox``
/// serves.
package final class Doorbell: Sendable {
    private let event: Descriptor

    package init() throws(SystemFailure) {
        event = Descriptor(owning: try check(lh_eventfd(), "eventfd", ""))
    }

    package func ring() {
        lh_eventfd_raise(event.number)
    }

    /// Returns when it was rung, a signal was caught, or the time is over; check again in each
    /// case.
    package func wait(timeout seconds: Double) {
        var entry = pollfd(fd: event.number, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, Int32(min(seconds, 1e6) * 1000)) > 0 else { return }
        _ = lh_eventfd_take(event.number)
    }
}
