internal import LonghaulCore

/// Making transfers ready before the wire has a place for them, where files end faster than one
/// could be claimed and opened in between. See ``StartPace``.
extension Engine {
    /// How many of an origin may be ready beyond its connections, and how many are: as its pace
    /// says, and no more than part files may be open. What is granted beyond those that are ready
    /// is taken off `room`.
    func ahead(
        of origin: String, taking room: inout Int, now: Moment
    ) -> (granted: Int, ready: Int) {
        let ready = ready(at: origin, now: now)
        let granted = min(paces[origin]?.ahead(at: now.monotonic) ?? 0, ready + room)
        room -= max(0, granted - ready)
        return (granted, ready)
    }

    private func ready(at origin: String, now: Moment) -> Int {
        let connections = policy.limits.connections(
            to: OriginState(origins[origin] ?? OriginMemory(origin: origin), now: now.wall))
        return max(0, (held[origin]?.places ?? 0) - connections)
    }

    /// What is ready and has not gone out a second later goes back to the queue: files that take
    /// long have come after the small ones, and what is more urgent must not wait behind them all.
    func withdrawSurplus(now: Moment) {
        let crowded = held.keys.filter { ready(at: $0, now: now) > 0 }
        guard !crowded.isEmpty else {
            surplusLookAt = nil
            return
        }
        let lookAt = surplusLookAt ?? now.monotonic + Engine.surplusSeconds
        surplusLookAt = lookAt
        guard lookAt <= now.monotonic else { return }
        surplusLookAt = now.monotonic + Engine.surplusSeconds
        let since = now.monotonic + -Engine.surplusSeconds
        let keys = active.values.filter { crowded.contains($0.origin) }
            .compactMap { $0.machine.unanswered(since: since) }
        if !keys.isEmpty { wire.withdraw(keys.sorted { $0.fetch < $1.fetch }) }
    }

    /// How long what is ready may wait for its connection.
    private static let surplusSeconds: Double = 1

    /// Part files that may still be opened for what is made ready ahead.
    var aheadRoom: Int { max(0, partFilesMax - active.count) }

    /// The same for everything. Files that wait for a slow disk hold back what would come to wait
    /// behind them.
    var partFilesLeft: Int { max(0, partFilesMax + policy.limits.running - active.count) }

    func isAnyAhead(now: Moment) -> Bool {
        paces.values.contains { $0.ahead(at: now.monotonic) > 0 }
    }

    /// While transfers are made ready ahead, the next plan waits until half of those have gone out:
    /// then it starts many at once. What changes the queue or the conditions is planned at once.
    func mustPlan(now: Moment) -> Bool {
        if isLeaving { return false }
        if needsPlan { return true }
        return roomAt.contains { origin in
            var room = aheadRoom
            let ahead = ahead(of: origin, taking: &room, now: now)
            return ahead.granted == 0 || ahead.ready <= ahead.granted / 2
        }
    }

    /// So many requests wait in the transport that it does without the engine for a moment.
    func isWellAhead(now: Moment) -> Bool {
        held.contains { origin, held in
            held.places >= Engine.gatherAhead
                && paces[origin].map { $0.ahead(at: now.monotonic) >= Engine.gatherAhead } ?? false
        }
    }

    static let gatherAhead = 32

    /// While transfers are made ready ahead, plans follow each other within milliseconds, and each
    /// would read anew what the one before has left behind: a few more than there are places do.
    func lookAhead(now: Moment) -> Int {
        var places = policy.limits.running
        var room = aheadRoom
        var isAhead = false
        for origin in paces.keys {
            let ahead = ahead(of: origin, taking: &room, now: now)
            if ahead.granted == 0 { continue }
            isAhead = true
            places += max(0, ahead.granted - ahead.ready)
        }
        return isAhead ? min(Limits.lookAhead, places + Engine.lookBeyond) : Limits.lookAhead
    }

    private static let lookBeyond = 32
}
