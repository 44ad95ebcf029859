internal import LonghaulCore

/// Serials of requests that each start of a fetch reserves.
private let serialsPerFetch: Int64 = 1 << 20
/// After a disk was found full, each transfer checks for room for so long: longer than it takes
/// until the transfer that found it full checks again.
private let spaceIsShortSeconds = 2 * Limits.storageCheckSeconds
/// Share of the limit for all transfers, from which on it counts as used up.
private let usedRateShare = 0.8

/// The fetches in memory: on the wire, or on their way to or from it. A reference: decisions read
/// the table while a transaction is open, and a copy of it for each turn would cost O(n).
final class ActiveFetches {
    private var byID: [FetchID: ActiveFetch] = [:]
    private(set) var placeTime = PlaceTime()
    /// The sessions of active fetches have been charged for their places until then.
    private var chargedAt: Instant?
    /// No tick is due before; the first one may be due later. It saves each turn a search in all
    /// machines.
    private(set) var soonestTick: Instant?
    private var nextSerial: Int64 = 1
    /// Transfers that may have an unrecorded part file after a crash, and since when.
    var unrecordedSince: [TransferID: Timestamp] = [:]
    /// A transfer has found a disk full: until then each one checks for room before its first
    /// request.
    private var spaceIsShortUntil: Instant?
    /// Bytes per second of all of them together; `nil` = unlimited.
    var totalRate: Int64?

    var count: Int { byID.count }
    var isEmpty: Bool { byID.isEmpty }
    var all: Dictionary<FetchID, ActiveFetch>.Values { byID.values }
    var sortedIDs: [FetchID] { byID.keys.sorted() }

    subscript(id: FetchID) -> ActiveFetch? { byID[id] }

    func insert(_ entry: ActiveFetch) {
        let before = byID.updateValue(entry, forKey: entry.id)
        precondition(before == nil, "a fetch is started once")
    }

    func remove(_ id: FetchID, now: Instant) -> ActiveFetch? {
        let entry = byID.removeValue(forKey: id)
        if let entry { charge(entry, now: now) }
        assert(entry.map { $0.connections == 0 } ?? true, "a fetch that leaves has given back all")
        return entry
    }

    /// Serials of one fetch never repeat in this process, however often it is started.
    func takeSerials() -> Int64 {
        defer { nextSerial += serialsPerFetch }
        return nextSerial
    }

    var originNames: Set<String> { Set(byID.values.flatMap(\.sources.names)) }

    /// The running fetches as the scheduler counts them, by the ids of their fetches.
    func running(now: Moment) -> [Running] {
        for entry in byID.values { charge(entry, now: now.monotonic) }
        chargedAt = now.monotonic
        placeTime.halve(at: now.monotonic)
        return sortedIDs.compactMap { byID[$0]?.asRunning(now: now, placeTime) }
    }

    private func charge(_ entry: ActiveFetch, now: Instant) {
        let since = max(chargedAt ?? entry.start.at, entry.start.at)
        if entry.holdsPlace { placeTime.add(max(0, now - since), to: entry.start.session) }
    }

    /// The conditions that matter to active fetches.
    var interest: ConditionNeeds {
        byID.values.reduce(ConditionNeeds()) { $0.union($1.subscribers.interest) }
    }

    /// Something runs that stops when the machine is used.
    var runsWhileIdle: Bool {
        byID.values.contains { $0.holdsPlace && $0.subscribers.interest.idle }
    }

    /// Body bytes received by this engine for fetches that are still active.
    var bytesReceived: Int64 { byID.values.reduce(0) { $0 + $1.received } }

    /// The sent bytes among ``bytesReceived``.
    var bytesSent: Int64 { byID.values.reduce(0) { $0 + ($1.isUpload ? $1.received : 0) } }

    // MARK: - Ticks

    func recount(_ entry: ActiveFetch, after step: FetchStep) {
        entry.recount(after: step)
        if let at = step.status.nextTick { soonestTick = min(soonestTick ?? at, at) }
    }

    /// Fetches whose tick is due, in the order of their ids.
    func dueForTick(at now: Instant) -> [FetchID] {
        guard let soonestTick, soonestTick <= now else { return [] }
        var due: [FetchID] = []
        for (fetch, entry) in byID {
            if let at = entry.status.nextTick, at <= now { due.append(fetch) }
        }
        return due.sorted()
    }

    /// After those ticks.
    func findSoonestTick(at now: Instant) {
        guard let soonestTick, soonestTick <= now else { return }
        self.soonestTick = byID.values.compactMap(\.status.nextTick).min()
    }

    /// Unanswered fetches that ask the same origin with the same credentials.
    func unanswered(like entry: ActiveFetch) -> [FetchID] {
        byID.values.filter {
            $0 !== entry && $0.sources.own === entry.sources.own && $0.holdsPlace
                && $0.start.credentials == entry.start.credentials && $0.received == 0
        }.map(\.id).sorted()
    }

    // MARK: - The rate of all

    /// The fetches use nearly all of the rate limit.
    var areHeldBack: Bool {
        guard let totalRate else { return false }
        let rate = byID.values.reduce(0) { $0 + $1.rate.bytesPerSecond }
        return rate >= usedRateShare * Double(totalRate)
    }

    // MARK: - Full disks

    func foundDiskFull(at now: Instant) {
        spaceIsShortUntil = now + spaceIsShortSeconds
    }

    func isSpaceShort(at now: Instant) -> Bool { spaceIsShortUntil.map { now < $0 } ?? false }

    // MARK: - The network

    /// Requests whose answers may never come, because they were sent over another network. Requests
    /// that can be repeated without loss are sent again over this one.
    var suspects: [SegmentKey] {
        byID.values.flatMap { entry -> [SegmentKey] in
            guard entry.stage == .moving, entry.subscribers.leader.eligibility.usesNetwork,
                entry.goesOnWhenAskedAgain
            else { return [] }
            return entry.machine.requests
        }
    }

    /// Preserves durations when the clock is set by `jump` milliseconds.
    func follow(_ jump: Int64, now: Moment) {
        for entry in byID.values {
            for subscriber in entry.subscribers.all {
                entry.subscribers.admit(subscriber.moved(by: jump, now: now.wall))
            }
            entry.machine.frame.serve(entry.subscribers)
        }
    }
}
