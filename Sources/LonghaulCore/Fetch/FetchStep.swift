package import LonghaulModel

/// Consequences of an event, split by when they may be done: `writes` in the commit, `effects`
/// after it.
package struct FetchStep: Sendable {
    package var writes: [StoreWrite] = []
    package var effects: [FetchEffect] = []
    /// The writes include a terminal state, an event, a restart or a checkpoint: they must survive
    /// a power cut before any effect.
    package var durable = false
    /// The fetch after it.
    package internal(set) var status = FetchStatus()

    package init() {}
}

/// Facts about a fetch that its owner reads with each event.
package struct FetchStatus: Hashable, Sendable {
    package internal(set) var stage = FetchStage.preparing
    /// A cancel is under way, and may still be taken back.
    package internal(set) var isBeingCancelled = false
    /// The fetch is leaving the wire.
    package internal(set) var isLeaving = false
    /// Requests that are out.
    package internal(set) var requests = 0
    /// Body bytes ever moved for it.
    package internal(set) var bytesFetched: Int64 = 0
    /// When to look again for lack of events; `nil` while off the wire.
    package internal(set) var nextTick: Instant?
    /// Every byte is held, and none is requested again.
    package internal(set) var isWhole = false

    init() {}

    init(_ stage: FetchStage, _ leaving: FetchLeaving?, bytesFetched: Int64) {
        assert(stage != .moving || leaving == nil, "a fetch that is to leave stops its requests")
        self.stage = stage
        isBeingCancelled = leaving?.isCancel ?? false
        isLeaving = leaving != nil
        self.bytesFetched = bytesFetched
    }
}

/// An action after the commit. Its outcome comes back as an event.
package enum FetchEffect: Sendable {
    indirect case prepare(PartOrder)
    /// Open the file that an upload sends.
    case openSource(path: String)
    /// Look at the open file, which an upload follows.
    case lookAtSource
    indirect case send(UploadAsk)
    indirect case ask(SegmentAsk)
    indirect case proceed(SegmentKey, BodyPlan)
    /// Let the request end at this offset instead of its range's end.
    case shrink(SegmentKey, end: Int64)
    case stop([SegmentKey])
    /// Bytes of these requests are recorded: the board need not tell them any more.
    case release([SegmentKey])
    case reserve(bytes: Int64)
    /// Empty the part file and give its cells this generation.
    case truncate(generation: Int64)
    /// Also advance these digests over the bytes before `through`, while they are in the page
    /// cache.
    case sync(token: Int64, digests: [Checksum.Algorithm], through: Int64)
    case verify([Checksum], length: Int64)
    /// Read a piece of the open source and tell its digest.
    case digest(Range<Int64>, Checksum.Algorithm)
    /// Make the whole file durable; batched with others.
    case secure(length: Int64)
    /// Fill the empty part file with a copy of this one, if it has not changed.
    indirect case fill(KeptFile)
    /// Give the transfers that share the fetch their copies.
    case handOut
    /// Give it its name; batched with others.
    indirect case publish(PublicationOrder)
    /// Close the part file and free its cells; delete it too if it is of no more use.
    case close(deletingPart: Bool)
}
