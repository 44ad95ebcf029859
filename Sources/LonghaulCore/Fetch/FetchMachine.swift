/// The life of one fetch from claim to leaving, as a value: events in, writes and effects out. It
/// knows no clock, no store and no wire; the engine feeds it and performs what it says. Everything
/// that decides about a user's bytes passes through here.
///
/// Invariants: `have` holds only bytes of the representation that `state.validator` pins;
/// `state.durable` is a part of `have`; nothing is published unless `have` covers `0..<bytesTotal`.
package struct FetchMachine: Sendable {
    package enum Stage: Hashable, Sendable {
        /// The part file is being opened.
        case preparing
        /// At least one request is out, or is about to be.
        case moving
        /// The wire is quiet and stays so: stopping, or the last checkpoint before leaving.
        case settling
        case verifying
        /// All bytes are there; made durable together with others.
        case securing
        /// Whole and durable, and others are given their copies first.
        case sharing
        case publishing
        /// Gone: nothing may follow.
        case left
    }

    /// What becomes of the transfer once the wire is quiet and the last checkpoint is made.
    package enum Leaving: Hashable, Sendable {
        case requeue
        case retry(Failure)
        /// What is missing is asked for when the server wants to be asked again. No failure: the
        /// answers before it were good.
        case pause(AskedPause)
        case waitForStorage(LonghaulError, needs: StorageNeed)
        case fail(LonghaulError)
        /// Goes on with another URL or credentials, if somebody can be asked for them.
        case needInput(LonghaulError)
        case cancel(keepingBytes: Bool)
    }

    /// Of several that share the fetch, the one that leads.
    package internal(set) var transfer: TransferID
    package var request: TransferRequest
    /// Absolute path of the reserved destination.
    package internal(set) var destination: String
    package internal(set) var deadline: Timestamp?
    /// Others wait for copies of the whole file.
    package internal(set) var isShared = false
    /// Digests that the file, of which this one is a copy, was found to have.
    package var proven: [Checksum] = []
    /// A file that may be copied if the server says that its version is the current one.
    package var kept: KeptFile?
    /// See ``Subscriber/partSuffix``.
    package var partSuffix = 0
    /// See ``PartOrder/leftSince``.
    package var leftSince: Timestamp?

    package internal(set) var state: FetchState
    package internal(set) var stage: Stage = .preparing
    /// Bytes in the part file: durable, or written in this boot.
    package internal(set) var have: ByteRanges
    package internal(set) var segments: [ActiveSegment] = []
    /// Requests that have ended and whose bytes no checkpoint covers yet. Their cells stay on the
    /// board: a successor in this boot learns from nothing else what they wrote.
    var retired: [SegmentKey] = []
    package internal(set) var leaving: Leaving?
    /// What the sync that is under way will have made durable.
    package internal(set) var syncing: PendingSync?
    package internal(set) var lastCheckpoint: Instant?
    var lastTick: Instant?
    /// When to record what the bytes are of that were let in at once.
    var pinDue: Instant?
    var auto = AutoConnections()
    var lastSample: ThroughputSample?
    var silence = SilenceWatch()
    /// One request of this stay on the wire has brought all that it was sent for.
    var hasEndedWell = false
    /// A request whose body waits until what its head means has been committed.
    package internal(set) var held: HeldBody?
    /// The part file is about to be emptied: what is written before that has happened is lost.
    var isEmptying = false
    /// Why the next request starts from zero whatever is held.
    package internal(set) var fromZero: RestartReason?
    /// Bytes that this stay on the wire has gained.
    package internal(set) var gained: Int64 = 0
    /// What was held when the file was opened, and how often it had been given up by then.
    var atStart: (held: Int64, restarts: Int) = (0, 0)
    /// A 206 came: the origin honours ranges for this file.
    package internal(set) var rangesProven = false
    /// The answer that said what the file is has promised ranges.
    var rangesOffered = false
    /// A parallel request came back with something else: one connection it is.
    package internal(set) var rangesRefused = false
    /// One was refused, or cut off at once: no more than have worked, for a while.
    var ceiling = ConnectionCeiling()
    /// The server has asked for time beside an answer that went on.
    var pause: AskedPause?
    package internal(set) var lastHTTPVersion = 0
    /// Sources that have failed in this stay on the wire; each gets its chance before the transfer
    /// backs off or fails.
    var sourcesFailed = 0
    /// One of them may fare better later: the transfer does, too. Of several the one that wants
    /// the least time.
    var passingFailure: Failure?
    /// What has become of the transfer's own URL: said of it when no source is left.
    var ownFailure: Failure?
    package internal(set) var startedMoving: Instant?
    var receivedAtStart: Int64 = 0
    var nextSerial: Int64
    var nextToken: Int64 = 1

    package init(
        transfer: TransferID, request: TransferRequest, destination: String, deadline: Timestamp?,
        state: FetchState, firstSerial: Int64
    ) {
        self.transfer = transfer
        self.request = request
        self.destination = destination
        self.deadline = deadline
        self.state = state
        have = state.durable
        nextSerial = firstSerial
        findSource()
        if !state.mayHaveItsName { self.state.publication = nil }
    }

    /// The sources in the order they are tried.
    package var sources: [String] { [request.url] + request.options.mirrors }

    package var url: String {
        if request.options.mirrors.isEmpty { return request.url }
        let all = sources
        return all[state.source % all.count]
    }

    /// The list may be another one than when the source in use was chosen: it is looked for by its
    /// URL. Another one has to prove that it has the same version, unless it has named it before.
    private mutating func findSource() {
        if let asked = state.askedURL, !asked.isExactly(request.url) {
            state.validator = state.validator?.withoutIdentity
            state.source = 0
        } else if let mirror = state.validator?.mirror, mirror != url {
            if let index = sources.firstIndex(of: mirror) {
                state.source = index
            } else {
                state.source = 0
                state.validator = state.validator?.moved(from: mirror, to: url)
            }
        }
        // Of a longer list.
        state.source %= sources.count
    }

    var isAtOwnOrigin: Bool { url == request.url }

    /// Of the source in use: what is learned of a mirror is not the own origin's.
    func asked(_ context: FetchContext) -> OriginMemory? {
        isAtOwnOrigin ? context.origin : context.mirrors[url]
    }

    /// The first source, from the one in use on, that is not among those to be left alone.
    package mutating func begin(elsewhereThan resting: Set<String>) {
        for _ in sources where resting.contains(url) { nextSource() }
    }

    /// Every byte is there.
    package var isWhole: Bool {
        guard let total = state.bytesTotal else { return false }
        return have.contains(0..<total)
    }

    /// Whether leaving the wire would cost all that has come: the server has told nothing that
    /// could prove the rest, or it sends no parts of a file.
    package func isUnresumable(_ origin: OriginMemory) -> Bool {
        guard stage == .moving, let validator = state.validator else { return false }
        return validator.isEmpty || origin.ignoresRanges
            || segments.contains { $0.head?.headers.refusesRanges == true }
    }

    /// Its only request, if it was made so long ago and no answer to it has begun.
    package func unanswered(since moment: Instant) -> SegmentKey? {
        guard stage == .moving, segments.count == 1, let startedMoving, startedMoving <= moment,
            segments[0].head == nil, segments[0].received == 0
        else { return nil }
        return segments[0].key
    }

    /// What this stay on the wire is worth: bytes that only take the place of those that were given
    /// up during it are none, or a server whose answers disagree would be asked for ever.
    var progress: Int64 {
        state.restarts == atStart.restarts ? gained : max(0, min(gained, have.count - atStart.held))
    }

    package var totals: TransferTotals { TransferTotals(state, bytesDone: have.count) }

    package func part(needs: Int64?) -> PartOrder {
        var order = PartOrder(
            destination: destination, transfer: transfer, expected: state.partIdentity,
            path: state.partPath, publication: state.publication ?? finalDestination, needs: needs)
        order.held = have.count
        order.heldEnd = have.ranges.last?.upperBound ?? 0
        order.isBackground = request.isDiscretionary
        order.disk = state.partDisk
        order.partSuffix = partSuffix
        order.leftSince = leftSince
        return order
    }

    /// The first step: open the part file.
    ///
    /// - Parameter spaceIsShort: Where the size is not known, room for one byte is looked for: of
    ///   thousands of transfers to a full disk each would make a file, and a request.
    package mutating func begin(spaceIsShort: Bool = false) -> FetchStep {
        var step = FetchStep()
        step.isWhole = isWhole
        let size = state.bytesTotal ?? request.expectedBytes
        let needs = size.map { max(0, $0 - have.count) } ?? (spaceIsShort ? 1 : nil)
        var order = part(needs: needs)
        order.isNeedExpected = state.bytesTotal == nil && size != nil
        step.effects.append(.prepare(order))
        return step
    }
}

/// No request before a moment, by the server's word.
package struct AskedPause: Hashable, Sendable {
    package var until: Timestamp
    package var error: LonghaulError
}

/// A request on the wire.
package struct ActiveSegment: Hashable, Sendable {
    package let key: SegmentKey
    package let number: Int
    package let ask: RangeRequest
    package let url: String
    package let startedAt: Timestamp
    /// The same moment, for how long it has taken.
    package let begunAt: Instant
    /// Where its writing starts: the plan's position after the overlap.
    package var start: Int64
    /// Where its range ends; `nil` = open.
    package var end: Int64?
    /// File offset after the last byte written.
    package var written: Int64
    package var received: Int64 = 0
    package var head: ResponseHead?
    package var decision: ResumeDecision?
    package var isParallel: Bool
    /// When it was sent, or something last came of it.
    package internal(set) var heardAt: Instant
    /// It was silent, and is to end so that others take what it leaves.
    package internal(set) var isGivenUp = false
    /// It asks whether the version of the kept file is still the current one: else a 304 answers
    /// nothing.
    package internal(set) var asksForChange = false
    /// False while its body is held back: its cell still says where it was meant to begin, in a
    /// version that may be given up by now. What it says then is nothing that was written.
    package var isOpen = true

    package init(
        key: SegmentKey, number: Int, ask: RangeRequest, url: String, startedAt: Moment,
        isParallel: Bool
    ) {
        self.key = key
        self.number = number
        self.ask = ask
        self.url = url
        self.startedAt = startedAt.wall
        begunAt = startedAt.monotonic
        heardAt = startedAt.monotonic
        self.isParallel = isParallel
        start = ask.position
        end = ask.end
        written = start
    }

    /// The head told where the body's bytes go.
    mutating func begins(at start: Int64, end: Int64?) {
        self.start = start
        self.end = end
        written = start
    }
}

/// A sync under way, and what it will have made durable.
package struct PendingSync: Hashable, Sendable {
    package var token: Int64
    package var covers: ByteRanges
    /// So many of the retired requests, the first ones, are covered by it.
    package var retired: Int
}

/// See ``HeadVerdict/hold``.
package struct HeldBody: Hashable, Sendable {
    package var key: SegmentKey
    package var plan: BodyPlan
}

/// What the machine may know besides the event: the turn's one `now`, the origin, and what stands
/// on the progress board.
package struct FetchContext: Sendable {
    package var now: Moment
    /// Of the transfer's own URL.
    package var origin: OriginMemory
    /// The origins of its mirrors, by the mirrors' URLs.
    package var mirrors: [String: OriginMemory] = [:]
    /// Requests that the origin's budget allows this fetch to have at a time.
    package var connectionsAllowed: Int
    /// The turn's randomness, for back-off jitter.
    package var seed: UInt64

    package init(
        now: Moment, origin: OriginMemory, connectionsAllowed: Int, seed: UInt64
    ) {
        self.now = now
        self.origin = origin
        self.connectionsAllowed = connectionsAllowed
        self.seed = seed
    }
}
