internal import LonghaulCore

/// A fetch in memory. It never leaves the engine's thread.
final class ActiveFetch {
    let id: FetchID
    let machine: FetchMachine
    /// The origin of the source that it began at: it counts there.
    let site: OriginSite
    let sources: FetchSources
    let start: Start
    /// The transfers that it serves.
    var subscribers: Subscribers {
        didSet {
            eligibility = subscribers.eligibility
            isShared = subscribers.isShared
        }
    }
    private(set) var eligibility: EligibilityKey
    private(set) var isShared: Bool
    var copies = Copies()
    /// Requests with a cell on the progress board; few.
    var targets: [(key: SegmentKey, target: SegmentTarget)] = []
    private(set) var rate = RateMeter()
    /// Bytes per second that each of its requests may use; `nil` = unlimited.
    var rateShare: Int64?
    /// The fetch after the last step of its machine.
    private(set) var status: FetchStatus
    /// Body bytes ever moved for it.
    private(set) var bytesFetched: Int64
    /// The part of this fetch in ``OriginSite/held``.
    private var counted = HeldAtOrigin()

    /// Facts that hold from the fetch's start to its end.
    struct Start {
        let session: String
        let identityKey: Int64
        let at: Instant
        /// When it was started for having waited longest.
        let overdueSince: Timestamp?
        /// Bytes that the fetch had received before this engine started it.
        let receivedBefore: Int64
        /// The credentials of its requests; `nil` = none.
        let credentials: Credentials?
    }

    /// The copies that are made of its whole file.
    struct Copies {
        /// Subscribers whose copies are being made.
        var ordered: Set<TransferID> = []
        /// The leader was given a copy, too.
        var isGivenAway = false
    }

    init(
        machine: FetchMachine, status: FetchStatus, sources: FetchSources,
        subscribers: Subscribers, start: Start
    ) {
        self.machine = machine
        id = machine.frame.bytes.state.id
        self.status = status
        bytesFetched = status.bytesFetched
        self.sources = sources
        site = sources.site(of: machine.url)
        self.subscribers = subscribers
        self.start = start
        eligibility = subscribers.eligibility
        isShared = subscribers.isShared
    }

    var stage: FetchStage { status.stage }

    /// The connections that it holds at its origin.
    var connections: Int { counted.connections }

    /// Records the consequences of an event for its server, see ``Origins/judge(_:_:at:with:)``.
    func judge(_ step: FetchStep, _ event: FetchEvent, in origins: Origins) -> Bool {
        if case .head = event { site.hasAnswered = true }
        return origins.judge(step, event, at: sources.own, with: start.credentials)
    }

    /// The throughput of its source is judged.
    var mayBeLeftForItsRate: Bool {
        let options = machine.frame.target.request.options
        return options.minRate != nil || !options.mirrors.isEmpty
    }

    /// The leader may begin at another moment than the one with which it was started: back in the
    /// queue, that one counts.
    func setEarliestBegin(_ earliest: Timestamp?) {
        var leader = subscribers.leader
        leader.request.earliestBegin = earliest
        subscribers.admit(leader)
    }

    /// A fetch that only waits for the disk holds no place.
    var holdsPlace: Bool {
        switch stage {
        case .verifying, .securing, .sharing, .publishing, .left: false
        case .preparing, .checking, .moving, .settling: true
        }
    }

    /// The fetch needs the network no more, and no condition stops it. Should its bytes turn out to
    /// be wrong, it needs the network again.
    var isLetFinish: Bool { !holdsPlace || status.isWhole }

    /// Tells whether another transfer may join the fetch, which serves these subscribers.
    func isOpen(_ subscribers: Subscribers) -> Bool {
        machine.isJoinable && subscribers.count < Limits.sharersPerFetch
            && subscribers.leader.request.options.onDuplicate != .separate
    }

    /// Tells whether all its bytes would be lost if the fetch left the wire.
    var isUnresumable: Bool {
        switch machine {
        case .download(let machine): machine.isUnresumable(sources.own.known)
        case .upload(let machine): machine.isSendingWhole(once: false)
        }
    }

    /// A request that leaves the wire is known to cost no byte.
    var goesOnWhenAskedAgain: Bool { machine.download?.goesOnWhenAskedAgain ?? false }

    /// Tells whether the fetch continues after the end of a time box. A request that must not be
    /// sent twice always does.
    func outlasts(_ policy: UnresumablePolicy) -> Bool {
        switch policy {
        case .finish: isUnresumable
        case .wait: machine.upload?.isSendingWhole(once: true) ?? false
        }
    }

    var isUpload: Bool { machine.upload != nil }

    /// Body bytes that this engine has received for it.
    var received: Int64 { max(0, bytesFetched - start.receivedBefore) }

    /// How the scheduler counts it.
    func asRunning(now: Moment, _ placeTime: PlaceTime) -> Running? {
        guard holdsPlace else { return nil }
        var running = Running(
            id: subscribers.leader.id, session: start.session,
            origin: OriginID(rawValue: site.name),
            connections: max(1, status.requests), eligibility: eligibility,
            overdueSince: start.overdueSince)
        if isShared { running.anyOf = subscribers.eligibilities(at: now.wall) }
        running.isLetFinish = isLetFinish || status.isBeingCancelled
        running.isLeaving = status.isLeaving
        running.priority = subscribers.leader.request.priority
        running.placeTime = placeTime[start.session]
        let isStaying = isShared || isLetFinish || eligibility.isAwaited || isUnresumable
        running.turnEndsAt =
            isStaying ? nil : now.wall + (start.at + Limits.turnSeconds - now.monotonic)
        return running
    }

    /// Reads the progress board, before the machine decides anything.
    func readBoard(_ files: any FilePort, now: Moment) {
        // Without a request nothing is received and nothing is written.
        if status.requests == 0 { return }
        let (bytesBefore, rateBefore) = (bytesFetched, rate.bytesPerSecond)
        for (key, target) in targets {
            bytesFetched = machine.moved(
                key, written: files.written(target), received: files.received(target),
                now: now.monotonic)
        }
        rate.sample(bytesFetched, at: now.monotonic)
        if bytesFetched != bytesBefore || rate.bytesPerSecond != rateBefore {
            files.publish(rate: rate.bytesPerSecond, fetched: bytesFetched, of: id)
        }
    }

    /// After each step of its machine.
    func recount(after step: FetchStep) {
        status = step.status
        bytesFetched = status.bytesFetched
        let hasLeft = stage == .left
        let now = HeldAtOrigin(
            connections: hasLeft ? 0 : max(1, status.requests),
            places: holdsPlace ? 1 : 0)
        if now == counted { return }
        site.recount(from: counted, to: now)
        counted = now
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
