internal import LonghaulCore

/// Making transfers ready before the wire has a place for them, where files end faster than one
/// could be claimed and opened in between. See ``PrefetchRate``.
extension Engine {
    /// How many of an origin may be ready beyond its connections, and how many are: as its pace
    /// says, and no more than part files may be open. What is granted beyond those that are ready
    /// is taken off `room`.
    func prefetched(
        at site: OriginSite, taking room: inout Int, now: Moment
    ) -> (granted: Int, ready: Int) {
        let ready = ready(at: site, now: now)
        let granted = min(site.pace.prefetched(at: now.monotonic), ready + room)
        room -= max(0, granted - ready)
        return (granted, ready)
    }

    private func ready(at site: OriginSite, now: Moment) -> Int {
        if site.held.places == 0 { return 0 }
        let connections = policy.limits.connections(to: site.state(now: now))
        return max(0, site.held.places - connections)
    }

    /// What is ready and has not gone out a second later goes back to the queue: files that take
    /// long have come after the small ones, and what is more urgent must not wait behind them all.
    func withdrawSurplus(now: Moment) {
        guard sites.values.contains(where: { ready(at: $0, now: now) > 0 }) else {
            surplusLookAt = nil
            return
        }
        let lookAt = surplusLookAt ?? now.monotonic + Engine.surplusSeconds
        surplusLookAt = lookAt
        guard lookAt <= now.monotonic else { return }
        surplusLookAt = now.monotonic + Engine.surplusSeconds
        let since = now.monotonic + -Engine.surplusSeconds
        let keys = active.values.filter { ready(at: $0.site, now: now) > 0 }
            .compactMap { $0.machine.unanswered(since: since) }
        if !keys.isEmpty { wire.withdraw(keys.sorted { $0.fetch < $1.fetch }) }
    }

    /// How long what is ready may wait for its connection.
    private static let surplusSeconds: Double = 1

    /// Part files that may still be opened for what is made ready ahead.
    var aheadRoom: Int { max(0, min(partFilesMax, partFilesCap) - active.count) }

    /// The same for everything. Files that wait for a slow disk hold back what would come to wait
    /// behind them.
    var partFilesLeft: Int {
        max(0, min(partFilesMax + policy.limits.running, partFilesCap) - active.count)
    }

    func isAnyAhead(now: Moment) -> Bool {
        sites.values.contains { $0.pace.prefetched(at: now.monotonic) > 0 }
    }

    /// While transfers are made ready ahead, the next plan waits until half of those have gone out:
    /// then it starts many at once. What changes the queue or the conditions is planned at once.
    func mustPlan(now: Moment) -> Bool {
        if isLeaving { return false }
        if needsPlan { return true }
        return roomAt.contains { site in
            var room = aheadRoom
            let prefetched = prefetched(at: site, taking: &room, now: now)
            return prefetched.granted == 0 || prefetched.ready <= prefetched.granted / 2
        }
    }

    /// So many requests wait in the transport that it does without the engine for a moment.
    func isWellAhead(now: Moment) -> Bool {
        sites.values.contains { site in
            site.held.places >= Engine.gatherAhead
                && site.pace.prefetched(at: now.monotonic) >= Engine.gatherAhead
        }
    }

    static let gatherAhead = 32

    /// While transfers are made ready ahead, plans follow each other within milliseconds, and each
    /// would read anew what the one before has left behind: a few more than there are places do.
    func lookAhead(now: Moment) -> Int {
        var places = policy.limits.running
        var room = aheadRoom
        var isAhead = false
        for site in sites.values {
            let prefetched = prefetched(at: site, taking: &room, now: now)
            if prefetched.granted == 0 { continue }
            isAhead = true
            places += max(0, prefetched.granted - prefetched.ready)
        }
        return isAhead ? min(Limits.lookAhead, places + Engine.lookBeyond) : Limits.lookAhead
    }

    private static let lookBeyond = 32
}
