internal import LonghaulCore

/// A fetch in memory. A reference, as its machine is large and is fed in place; it never leaves the
/// engine's thread.
final class ActiveFetch {
    var machine: FetchMachine
    /// Where it counts: the origin of the source that it began at.
    let site: OriginSite
    let sources: FetchSources
    let session: String
    /// Those that it serves.
    var subscribers: Subscribers {
        didSet {
            eligibility = subscribers.eligibility
            isShared = subscribers.isShared
        }
    }
    private(set) var eligibility: EligibilityKey
    private(set) var isShared: Bool
    let identityKey: Int64
    /// Those whose copies are being made.
    var copying: Set<TransferID> = []
    /// Its leader, too, was given a copy.
    var isGivenAway = false
    /// When it was started for having waited longest.
    let overdueSince: Timestamp?
    /// Of the requests whose cells stand on the board; few.
    var targets: [(key: SegmentKey, target: SegmentTarget)] = []
    /// What the fetch had received before this engine took it.
    let receivedBefore: Int64
    var rate = RateMeter()
    /// Bytes per second that each of its requests may take; `nil` = unlimited.
    var rateShare: Int64?
    /// What the machine said after its last event, see ``FetchStep``: asked for more often than a
    /// large value may be copied.
    private(set) var nextTick: Instant?
    private(set) var isWhole = false
    /// Its part of ``OriginSite/held``.
    var counted = HeldAtOrigin()

    init(
        machine: FetchMachine, sources: FetchSources, session: String, subscribers: Subscribers,
        identityKey: Int64, overdueSince: Timestamp?, receivedBefore: Int64
    ) {
        self.machine = machine
        self.sources = sources
        site = sources.site(of: machine.url)
        self.session = session
        self.subscribers = subscribers
        eligibility = subscribers.eligibility
        isShared = subscribers.isShared
        self.identityKey = identityKey
        self.overdueSince = overdueSince
        self.receivedBefore = receivedBefore
    }

    /// Another moment is wanted than the one with which it was claimed: back in the queue that
    /// counts.
    func beginAgain(_ earliest: Timestamp?) {
        var leader = subscribers.leader
        leader.request.earliestBegin = earliest
        subscribers.admit(leader)
    }

    /// What only waits for the disk holds no place.
    var holdsPlace: Bool {
        switch machine.stage {
        case .verifying, .securing, .sharing, .publishing, .left: false
        case .preparing, .moving, .settling: true
        }
    }

    /// It needs nothing of the wire any more, and no condition takes it off. What it has may be all
    /// there is and no good: then it is being asked for anew.
    var isLetFinish: Bool { !holdsPlace || isWhole }

    func note(_ step: FetchStep) {
        nextTick = step.nextTick
        isWhole = step.isWhole
    }

    /// How the scheduler counts it.
    var asRunning: Running? {
        guard holdsPlace else { return nil }
        return Running(
            id: machine.transfer, session: session, origin: OriginID(rawValue: site.name),
            connections: max(1, machine.segments.count), eligibility: eligibility,
            overdueSince: overdueSince)
    }
}

extension Engine {
    /// Once its machine has been fed.
    func recount(_ entry: ActiveFetch, after step: FetchStep) {
        entry.note(step)
        divideRate(of: entry)
        if let at = step.nextTick { soonestTick = min(soonestTick ?? at, at) }
        let hasLeft = entry.machine.stage == .left
        let now = HeldAtOrigin(
            connections: hasLeft ? 0 : max(1, entry.machine.segments.count),
            places: entry.holdsPlace ? 1 : 0)
        if now == entry.counted { return }
        entry.site.held.connections += now.connections - entry.counted.connections
        entry.site.held.places += now.places - entry.counted.places
        entry.counted = now
    }
}

/// Smoothed throughput of one fetch.
struct RateMeter {
    private(set) var bytesPerSecond: Double = 0
    private var last: (at: Instant, bytes: Int64)?

    mutating func sample(_ bytes: Int64, at now: Instant) {
        guard let last else {
            self.last = (now, bytes)
            return
        }
        let seconds = now - last.at
        guard seconds >= 0.2 else { return }
        let current = Double(bytes - last.bytes) / seconds
        let weight = min(1, seconds / 2)
        bytesPerSecond =
            bytesPerSecond == 0
            ? current : bytesPerSecond * (1 - weight) + current * weight
        self.last = (now, bytes)
    }
}
