internal import CLonghaul

/// What the transports of an engine have together: the connections that may be open, and the rate.
package final class TransportBudget: @unchecked Sendable {
    /// May be used on any thread, see budget_shim.h.
    let pointer: OpaquePointer

    package init() {
        guard let pointer = lh_budget_new() else { preconditionFailure("no memory at all") }
        self.pointer = pointer
    }

    deinit {
        lh_budget_free(pointer)
    }

    /// Bytes per second; 0 = unlimited.
    var rate: Int64 { lh_budget_rate(pointer) }

    func setRate(_ rate: Int64, now: Int64) { lh_budget_set_rate(pointer, rate, now) }

    func fill(now: Int64) { lh_budget_fill(pointer, now) }

    /// Nanoseconds until there are enough bytes to resume a paused request.
    var wait: Int64 { lh_budget_wait(pointer) }

    /// Bounds the connections to one origin, and to all together.
    func bound(perOrigin: Int, inAll: Int) {
        lh_budget_bound(pointer, max(1, perOrigin), max(1, inAll))
    }
}
