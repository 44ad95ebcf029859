package import LonghaulCore

extension Engine {
    /// Fetches in memory: on the wire, or on their way to or from it.
    package var activeCount: Int { active.count }

    /// New limits, from the next plan on. What runs goes on, even if it is more than now may.
    package func setLimits(_ limits: SchedulerLimits) {
        if limits == policy.limits { return }
        policy.limits = limits
        mustPublishView = true
        needsPlan = true
    }

    /// Whether a fetch runs of which all would be lost if it left the wire.
    package var hasUnresumable: Bool { active.values.contains(where: isUnresumable) }

    /// The time is over: those stay, all others leave the wire. A box that is over begins nothing.
    package func finishUnresumable(now: Moment) {
        for fetch in active.keys.sorted() {
            guard let entry = active[fetch], !isUnresumable(entry) else { continue }
            handle(.leave(.requeue), of: fetch, now: now)
        }
    }

    private func isUnresumable(_ entry: ActiveFetch) -> Bool {
        entry.machine.isUnresumable(entry.sources.own.known)
    }

    /// The machine goes to sleep: everything off the wire, checkpointed, and on the disk, and
    /// nothing starts before ``wakeUp(now:)``. Done when a turn is quiet.
    package func lieDown(now: Moment) {
        journal?.liesDown()
        beginLeaving(now: now)
        // Not relaxed as going back to the queue is: a battery may run out during the sleep.
        unwritten.durable = true
        mustPublishView = true
        // There may be work, only not now.
        needsPlan = true
    }

    /// Looks at everything again: much may have changed meanwhile.
    package func wakeUp(now: Moment) {
        journal?.getsUp()
        isLeaving = false
        mustPublishView = true
        needsLook = true
        needsPlan = true
        gates.isStale = true
    }
}
