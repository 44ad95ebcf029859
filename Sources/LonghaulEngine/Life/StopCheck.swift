internal import LonghaulCore
internal import LonghaulStore

/// An engine that leaves when nothing can start stays for a host that is due within this time.
/// Less than the delay after a failed host: that one is for a later run.
private let hostDueSeconds: Double = 30
/// An engine that leaves when idle stays for a host that is due within this time.
private let hostWaitedForSeconds: Double = 900

/// Compares the engine's totals with its stop conditions.
struct StopCheck {
    let stopConditions: StopConditions
    let started: Instant
    var reason: EngineReport.StoppedBy?
    private var idleSince: Instant?
    private var awaited: AwaitedEnds
    private var seenEnds = -1
    private var isPastEnd = false
    /// `nil` before the first check.
    /// Of the store, at the last check, if that found nothing to do.
    private var drainedVersion: Int64?
    private var patience: DrainTimeout

    init(stopConditions: StopConditions, started: Instant) {
        self.stopConditions = stopConditions
        self.started = started
        awaited = AwaitedEnds(stopConditions.until ?? [])
        patience = DrainTimeout(started: started)
    }

    /// Sets `reason` when it is time to leave; returns seconds until the next check, `nil` = only
    /// when something happens.
    mutating func check(
        _ engine: Engine, _ outcome: TurnOutcome, store: Store, now: Moment
    ) throws(LonghaulError) -> Double? {
        if reason != nil { return nil }
        var wake = outcome.wakeAt
        if let seconds = stopConditions.maxSeconds {
            let end = started + seconds
            // Another turn follows at once, for what leaves the wire then.
            if !isPastEnd { wake = min(wake ?? end, end) }
            if now.monotonic >= end, !finishesUnresumable(engine, now: now) { reason = .maxTime }
        }
        if let bytes = stopConditions.maxBytes, engine.bytesReceived >= bytes { reason = .maxBytes }
        if stopConditions.until != nil, !engine.isAborting, try haveEnded(engine, store, now: now) {
            reason = .drained
        }
        if stopConditions.untilDrained {
            if try isDrained(engine, outcome, store, now: now) {
                // Rows that bundles, folders and clients have recorded since the turn are seen by
                // the next one.
                let version = try store.dataVersion()
                if version == drainedVersion { reason = .drained } else { wake = now.monotonic }
                drainedVersion = version
            } else {
                drainedVersion = nil
            }
        }
        if let seconds = stopConditions.exitWhenIdle {
            if outcome.isDrained, outcome.nextReady == nil, !outcome.waitsForConditions,
                !outcome.hosts.hasPendingTasks,
                !isHostDue(outcome, within: hostWaitedForSeconds, now: now),
                try !isSetDue(store)
            {
                // Fulfilled, as far as possible. Work that came since the turn is seen by the next
                // one, which always precedes the engine's end.
                if idleSince == nil { _ = try store.settings.withdrawEngine() }
                let since = idleSince ?? now.monotonic
                if idleSince != nil, now.monotonic >= since + seconds { reason = .drained }
                idleSince = since
                wake = min(wake ?? since + seconds, since + seconds)
            } else {
                idleSince = nil
            }
        }
        return wake.map { max(0, $0 - now.monotonic) }
    }

    /// After the end of the box: whether what cannot be resumed exceeds it.
    private mutating func finishesUnresumable(_ engine: Engine, now: Moment) -> Bool {
        guard engine.hasUnresumable(stopConditions.unresumable) else { return false }
        if !isPastEnd {
            isPastEnd = true
            engine.finishUnresumable(stopConditions.unresumable, now: now)
        }
        return true
    }

    private mutating func isDrained(
        _ engine: Engine, _ outcome: TurnOutcome, _ store: Store, now: Moment
    ) throws(LonghaulError) -> Bool {
        guard outcome.isDrained, try !store.bundleWork.isAnyDue(), try !store.folders.isAnyDue()
        else { return false }
        if isHostDue(outcome, within: hostDueSeconds, now: now) { return false }
        guard let next = outcome.nextReady else { return true }
        if let seconds = stopConditions.maxSeconds {
            return now.monotonic + (next - now.wall) > started + seconds
        }
        let gain = DrainTimeout.Gain(
            bytes: engine.bytesReceived, ended: engine.totals.completed + engine.totals.failed,
            changes: try store.dataVersion())
        return patience.isOver(outcome, gain, now: now)
    }

    /// A started program runs, or one is to be started soon.
    private func isHostDue(_ outcome: TurnOutcome, within seconds: Double, now: Moment) -> Bool {
        if outcome.hosts.isBusy { return true }
        return outcome.hosts.nextLaunch.map { $0 - now.wall <= seconds } ?? false
    }

    /// A bundle has work that is not a transfer yet, or is checked again by itself; or a folder is
    /// watched.
    private func isSetDue(_ store: Store) throws(LonghaulError) -> Bool {
        if try store.folders.isAnyWatched() { return true }
        if try store.bundleWork.isAnyDue() { return true }
        return try store.bundleWork.nextCheck() != nil
    }

    private mutating func haveEnded(
        _ engine: Engine, _ store: Store, now: Moment
    ) throws(LonghaulError) -> Bool {
        // Read only after something has ended here, or another process has changed the store.
        let ends = engine.endsSeen
        guard ends != seenEnds else { return awaited.areOver }
        seenEnds = ends
        try awaited.dropEnded { id throws(LonghaulError) in
            try store.transfers.find(id, now: now.wall)?.state.hasEnded ?? true
        }
        return awaited.areOver
    }
}

/// Transfers that an engine is to bring to their end. While one of them has not ended, the others
/// need not be read.
struct AwaitedEnds {
    private var pending: [TransferID]

    init(_ ids: [TransferID]) {
        pending = ids.reversed()
    }

    var areOver: Bool { pending.isEmpty }

    mutating func dropEnded<Failure>(
        _ hasEnded: (TransferID) throws(Failure) -> Bool
    ) throws(Failure) {
        while let id = pending.last, try hasEnded(id) { pending.removeLast() }
    }
}
