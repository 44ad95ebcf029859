internal import LonghaulCore

/// Waiting transfers that the engine holds in memory; the rest stay in the store.
private let lookAhead = 256
/// How long a transfer that was made ready may wait for its connection.
private let surplusSeconds: Double = 1
/// Requests that wait in the transport: enough to keep it busy for a moment without the engine.
private let busyRequests = 32
/// Rows of the queue that a plan reads beyond its places while transfers are prefetched.
private let rowsBeyondPlaces = 32

/// How many transfers are made ready before the wire has a place for them, where files end faster
/// than the next could be started and opened in between. See ``PrefetchRate``.
struct Prefetch {
    /// Part files that may be open besides ``SchedulerLimits/running``.
    var partFilesMax = Limits.openPartFiles
    /// The highest number of part files, prefetched ones included.
    var partFilesCap = Int.max
    /// When to check for transfers that are ready and do not go out; `nil` = none is ready.
    private(set) var surplusCheckAt: Instant?

    /// Part files that may still be opened for prefetched transfers.
    func room(active: Int) -> Int { max(0, min(partFilesMax, partFilesCap) - active) }

    /// Part files that may still be opened for any purpose. Files that wait for a slow disk hold
    /// back others that would wait behind them.
    func partFilesLeft(active: Int, _ limits: SchedulerLimits) -> Int {
        max(0, min(partFilesMax + limits.running, partFilesCap) - active)
    }

    /// How many transfers of an origin may be ready beyond its connections, and how many are: by
    /// the rate of its transfers, and by the part files that may be open. New places are subtracted
    /// from `room`.
    func share(
        of site: OriginSite, from room: inout Int, _ limits: SchedulerLimits, now: Moment
    ) -> (granted: Int, ready: Int) {
        let ready = ready(at: site, limits, now: now)
        let granted = min(site.pace.prefetched(at: now.monotonic), ready + room)
        room -= max(0, granted - ready)
        assert(room >= 0, "no more is granted than there is room for")
        return (granted, ready)
    }

    private func ready(at site: OriginSite, _ limits: SchedulerLimits, now: Moment) -> Int {
        if site.held.places == 0 { return 0 }
        return max(0, site.held.places - limits.connections(to: site.state(now: now)))
    }

    func isAny(of origins: Origins, now: Moment) -> Bool {
        origins.all.contains { $0.pace.prefetched(at: now.monotonic) > 0 }
    }

    /// Requests that are ready and were not sent within a second: long files have come after small
    /// ones, and more urgent transfers must not wait behind them all. They return to the queue.
    mutating func surplus(
        of fetches: ActiveFetches, _ origins: Origins, _ limits: SchedulerLimits, now: Moment
    ) -> [SegmentKey] {
        guard origins.all.contains(where: { ready(at: $0, limits, now: now) > 0 }) else {
            surplusCheckAt = nil
            return []
        }
        let checkAt = surplusCheckAt ?? now.monotonic + surplusSeconds
        surplusCheckAt = checkAt
        guard checkAt <= now.monotonic else { return [] }
        surplusCheckAt = now.monotonic + surplusSeconds
        let since = now.monotonic + -surplusSeconds
        return fetches.all.filter { ready(at: $0.site, limits, now: now) > 0 }
            .compactMap { $0.machine.unanswered(since: since) }
            .sorted { $0.fetch < $1.fetch }
    }

    /// The next plan waits until half of the prefetched requests have been sent: then it starts
    /// many at once.
    func wantsPlan(
        _ origins: Origins, active: Int, _ limits: SchedulerLimits, now: Moment
    ) -> Bool {
        origins.freed.contains { site in
            var room = room(active: active)
            let share = share(of: site, from: &room, limits, now: now)
            return share.granted == 0 || share.ready <= share.granted / 2
        }
    }

    /// Tells whether enough requests wait in the transport that events may gather before the next
    /// turn.
    func isWellAhead(_ origins: Origins, now: Moment) -> Bool {
        origins.all.contains { site in
            site.held.places >= busyRequests
                && site.pace.prefetched(at: now.monotonic) >= busyRequests
        }
    }

    /// Rows of the queue that a plan reads. While transfers are prefetched, plans follow each other
    /// within milliseconds, and each would read again the rows that the previous one has left: a
    /// few more rows than there are places suffice.
    func rowsToRead(
        _ origins: Origins, active: Int, _ limits: SchedulerLimits, now: Moment
    ) -> Int {
        var places = limits.running
        var room = room(active: active)
        var isAny = false
        for site in origins.all {
            let share = share(of: site, from: &room, limits, now: now)
            if share.granted == 0 { continue }
            isAny = true
            places += max(0, share.granted - share.ready)
        }
        return isAny ? min(lookAhead, places + rowsBeyondPlaces) : lookAhead
    }
}
