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

/// Facts about a fetch that its owner reads with each event. The machine is large, and is copied
/// for what is read in it.
package struct FetchStatus: Hashable, Sendable {
    package internal(set) var stage = FetchStage.preparing
    /// A cancel is under way, and may still be taken back.
    package internal(set) var isBeingCancelled = false
    /// The fetch is on its way off the wire, for whatever reason.
    package internal(set) var isLeaving = false
    /// Requests that are out.
    package internal(set) var requests = 0
    /// Body bytes ever moved for it.
    package internal(set) var bytesFetched: Int64 = 0
    /// When to look again for lack of events; `nil` while off the wire.
    package internal(set) var nextTick: Instant?
    /// Every byte is there, and none is to be asked for anew.
    package internal(set) var isWhole = false

    init() {}

    init(_ frame: FetchFrame, _ stage: FetchStage, _ leaving: FetchLeaving?) {
        self.stage = stage
        isBeingCancelled = leaving?.isCancel ?? false
        isLeaving = leaving != nil
        bytesFetched = frame.bytes.state.bytesFetched
    }
}

/// A write for the engine's commit. A value, so that a commit that failed (disk full) can be tried
/// again unchanged.
package indirect enum StoreWrite: Hashable, Sendable {
    case save(FetchState)
    /// Back to the queue; due at once if `readyAt` is nil.
    case queued(TransferID, readyAt: Timestamp?, waitingFor: [WaitReason])
    /// Why its last attempt gained nothing; `nil` = one has gained bytes since.
    case lastError(TransferID, LonghaulError?)
    /// Terminal states carry their event in the same write, so that the two cannot be split.
    case completed(TransferID, path: String, TransferTotals)
    /// Completed as well: another file stands under the name and is kept, as was asked for.
    case skipped(TransferID, LonghaulError, path: String, TransferTotals)
    case failed(TransferID, LonghaulError, TransferTotals)
    /// Waits for another URL or credentials if its session has a host that can be asked; else it
    /// has failed.
    case needsInput(TransferID, LonghaulError, TransferTotals)
    case cancelled(TransferID, TransferTotals)
    case restarted(TransferID, reason: String, bytesLost: Int64)
    case attempt(TransferID, AttemptRecord)
    /// The state of this upload is of no more use; the server may still have the upload.
    case abandonUpload(TransferID, FetchState)
    /// The fetch row is of no more use.
    case dropFetch(TransferID)
    /// This state, of a copy of the shared file, is the transfer's own from now on. The digests
    /// are those that the file was found to have.
    case give(TransferID, FetchState, proven: [Checksum])
    /// The shared fetch serves this transfer no more.
    case leave(TransferID)
    /// The shared fetch serves no transfer any more.
    case discard(FetchID)
    /// Nothing is left of a part file that was given up.
    case forget(OrphanedPart)
    case learn(origin: String, OriginLesson)
    case originFailed(origin: String, Failure, gained: Int64)
    case originWorked(origin: String, bytesPerSecond: Double?, http2: Bool)
    /// The three above, once folded into the origin's memory.
    case saveOrigin(OriginMemory)
}

/// The reported numbers of a transfer. They are copied to its row when it ends.
package struct TransferTotals: Hashable, Sendable {
    package var bytesTotal: Int64?
    /// Bytes that are kept and count towards the file.
    package var bytesDone: Int64
    /// Body bytes ever received.
    package var bytesFetched: Int64
    package var attempts: Int
    package var restarts: Int

    package init(
        bytesTotal: Int64? = nil, bytesDone: Int64 = 0, bytesFetched: Int64 = 0,
        attempts: Int = 0, restarts: Int = 0
    ) {
        self.bytesTotal = bytesTotal
        self.bytesDone = bytesDone
        self.bytesFetched = bytesFetched
        self.attempts = attempts
        self.restarts = restarts
    }

    package init(_ state: FetchState, bytesDone: Int64) {
        self.init(
            bytesTotal: state.bytesTotal, bytesDone: bytesDone,
            bytesFetched: state.bytesFetched, attempts: state.attempts, restarts: state.restarts)
    }

    /// Numbers of a fetch of which only the durable bytes are known.
    package init(_ state: FetchState) {
        self.init(state, bytesDone: state.durable.count)
    }
}

/// An action after the commit. Its outcome comes back as an event.
package enum FetchEffect: Sendable {
    indirect case prepare(PartOrder)
    /// Open the file that an upload sends.
    case openSource(path: String)
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
    /// Make the whole file durable; batched with others.
    case secure(length: Int64)
    /// Fill the empty part file with a copy of this one, if it is still what it was.
    indirect case fill(KeptFile)
    /// Give those that share the fetch their copies.
    case handOut
    /// Give it its name; batched with others.
    indirect case publish(PublicationOrder)
    /// Close the part file and free its cells; delete it too if it is of no more use.
    case close(deletingPart: Bool)
}

package struct PartOrder: Hashable, Sendable {
    package var destination: String
    package var transfer: TransferID
    /// The part file that must be found, if one was made.
    package var expected: FileIdentity?
    package var path: String
    /// Disk on which the part file was made, where that is known.
    package var disk: MountedDisk?
    /// Path of the part file if it was renamed and that was not recorded.
    package var publication: String
    /// Bytes still to come, as far as known: refused if the disk has not got them.
    package var needs: Int64?
    /// Bytes that are in the part file.
    package var held: Int64 = 0
    /// End of the last byte held.
    package var heldEnd: Int64 = 0
    /// Known only from what the user expects.
    package var isNeedExpected = false
    /// Discretionary: the disk and its cache belong to others first.
    package var isBackground = false
    /// See ``Subscriber/partSuffix``.
    package var partSuffix = 0
    /// A crash came before its part file was recorded: what has its name, and has been made since
    /// then, is that.
    package var leftSince: Timestamp?

    package init(
        destination: String, transfer: TransferID, expected: FileIdentity?, path: String,
        publication: String, needs: Int64?
    ) {
        self.destination = destination
        self.transfer = transfer
        self.expected = expected
        self.path = path
        self.publication = publication
        self.needs = needs
    }

    /// - Parameter publication: Where the file may stand unless something else is recorded.
    init(_ target: FetchTarget, _ bytes: FetchBytes, publication: String, needs: Int64?) {
        self.init(
            destination: target.destination, transfer: target.transfer,
            expected: bytes.state.partIdentity, path: bytes.state.partPath,
            publication: bytes.state.publication ?? publication, needs: needs)
        held = bytes.have.count
        heldEnd = bytes.have.ranges.last?.upperBound ?? 0
        assert(held <= heldEnd, "what is held ends with its last byte")
        isBackground = target.request.isDiscretionary
        disk = bytes.state.partDisk
        partSuffix = target.partSuffix
        leftSince = target.leftSince
    }
}

package struct PublicationOrder: Hashable, Sendable {
    /// The name to take now.
    package var destination: String
    /// The name that was asked for: another one is numbered after it.
    package var wanted: String
    package var policy: ExistingFilePolicy
    /// The modification time that the file gets; `nil` = it keeps its own.
    package var modified: Timestamp?
    /// The file that is replaced if it is still what it was.
    package var continued: KeptFile?

    package init(destination: String, wanted: String, policy: ExistingFilePolicy) {
        self.destination = destination
        self.wanted = wanted
        self.policy = policy
    }

    init(
        destination: String, wanted: String, _ options: TransferOptions, _ validator: Validator?
    ) {
        self.init(destination: destination, wanted: wanted, policy: options.ifExists)
        if options.remoteTime { modified = validator?.modified }
        continued = options.continued.map(KeptFile.init)
    }
}

package struct SegmentAsk: Hashable, Sendable {
    package var key: SegmentKey
    package var url: String
    package var ask: RangeRequest
    package var pinned: Validator?
    package var maxSize: Int64?
    /// Asked for unless the version of a file that is here is still the current one.
    package var condition = HeaderFields()
    /// The URL is not the request's own: its credentials are not for another server.
    package var isForMirror: Bool { ask.isForMirror }
    /// The request is one of several at a time: only a 206 under the pinned validator is of use, on
    /// a connection of its own.
    package var isParallel: Bool

    package init(
        key: SegmentKey, url: String, ask: RangeRequest, pinned: Validator?, maxSize: Int64?,
        isParallel: Bool
    ) {
        self.key = key
        self.url = url
        self.ask = ask
        self.pinned = pinned
        self.maxSize = maxSize
        self.isParallel = isParallel
    }
}

/// A request of an upload.
package struct UploadAsk: Hashable, Sendable {
    package var key: SegmentKey
    package var exchange: UploadExchange

    package init(key: SegmentKey, exchange: UploadExchange) {
        self.key = key
        self.exchange = exchange
    }
}

/// A copy of a fetch's whole part file, for one of those that share the fetch.
package struct CopyOrder: Hashable, Sendable {
    package var transfer: TransferID
    /// Path beside which the copy is made, under the transfer's own part name.
    package var destination: String
    /// See ``Subscriber/partSuffix``.
    package var partSuffix: Int

    package init(transfer: TransferID, destination: String, partSuffix: Int = 0) {
        self.transfer = transfer
        self.destination = destination
        self.partSuffix = partSuffix
    }
}
