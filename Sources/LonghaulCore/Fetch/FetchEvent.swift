package import LonghaulModel

/// An event of a fetch. Every event names the fetch by being handed to its machine; events of a
/// request carry its key, and late reports of an earlier attempt are dropped.
package enum FetchEvent: Sendable {
    /// The part file is open. `created` = it is a new, empty file. `size`: of a file that was
    /// there; `nil` = not looked at. `mountPoint`: see ``FetchState/partMount``. `isReplacing`:
    /// another file had the name of the one that was there. One that is there and is another than
    /// before is known by its name alone.
    case prepared(
        FileIdentity, path: String, created: Bool, size: Int64? = nil, mountPoint: String? = nil,
        isReplacing: Bool = false)
    case prepareFailed(LocalFault)
    /// The file that an upload sends is open.
    case opened(SourceVersion)
    /// The open file that an upload follows, as it is now; `nil` = another file has its name, or
    /// none. `hasWriter`: a program has it open for writing.
    case looked(SourceVersion?, hasWriter: Bool)
    /// The server has told on the way how far an upload is.
    case interim(SegmentKey, ResponseHead)
    /// Space for the announced length was set aside.
    case reserved
    case reserveFailed(LocalFault)
    /// The part file is empty again and its cells carry the new generation.
    case truncated
    case truncateFailed(LocalFault)
    case head(SegmentKey, ResponseHead)
    case progress
    case ended(SegmentKey, SegmentEnd)
    /// Bytes written before sync number `token` was asked for are durable.
    case synced(token: Int64)
    case syncFailed(token: Int64, LocalFault)
    case verified
    /// The digest is not the expected one; the file is now at `keptAt`.
    case mismatched(Checksum, actual: String, keptAt: String)
    case verifyFailed(LocalFault)
    /// The digest of the piece that was asked for.
    case digested(Checksum)
    case secured
    case secureFailed(LocalFault)
    case published(path: String)
    /// Another file has the name, or the disk refuses the name. `next`: a similar name, if another
    /// one is allowed.
    case occupied(next: String?, LocalFault)
    case publishFailed(LocalFault)
    /// The part file was moved away, or deleted and its bytes with it.
    case displaced(LocalFault, isGone: Bool)
    /// Instead of a part file, the file itself was found under its name: published, and then not
    /// recorded.
    case foundPublished(path: String)
    /// The part file is a durable copy of the kept file. Of a file of another program, its first
    /// long run of zeros begins at `zerosFrom`: such programs leave holes where bytes are missing.
    case filled(zerosFrom: Int64? = nil)
    case fillFailed(LocalFault)
    /// A transfer that shares the fetch has its own copy of the whole file, durable.
    case copied(TransferID, FileIdentity, path: String, mountPoint: String? = nil)
    case copyFailed(TransferID, LocalFault)
    /// The other transfers have their copies.
    case handedOut(leaderHasCopy: Bool)
    /// None is left but the leader, which cannot be given its own copy: the bytes stay where they
    /// are.
    case handOutFailed(LocalFault)
    /// Leave the wire, checkpointed.
    case leave(FetchDeparture)
    case tick
}

extension FetchEvent {
    /// Orders that the engine counts, besides the machine.
    package enum Account: Hashable, Sendable {
        case copy
        case securing
        case publishing
    }

    /// The order that this event answers; `nil` = none.
    package var settles: Account? {
        switch self {
        case .copied, .copyFailed: .copy
        case .secured, .secureFailed: .securing
        case .published, .occupied, .publishFailed, .displaced: .publishing
        case .prepared, .prepareFailed, .reserved, .reserveFailed, .truncated, .truncateFailed,
            .head, .progress, .ended, .synced, .opened, .looked, .interim, .syncFailed, .verified,
            .mismatched, .verifyFailed, .digested,
            .foundPublished, .filled, .fillFailed, .handedOut, .handOutFailed, .leave,
            .tick:
            nil
        }
    }

    /// Nothing is left of the bytes written.
    package var losesBytes: Bool {
        guard case .displaced(_, isGone: true) = self else { return false }
        return true
    }
}

/// Why a fetch is asked to leave the wire.
package enum FetchDeparture: Hashable, Sendable {
    /// The fetch is not to run just now: back to the queue.
    case requeue
    /// Something else is wanted of it: back to the queue, and not to its end as it was begun.
    case renew
    case cancel(keepingBytes: Bool)
    /// The deadline has passed.
    case expire

    /// To the queue, with its bytes.
    package var goesBack: Bool {
        switch self {
        case .requeue, .renew: true
        case .cancel, .expire: false
        }
    }
}

/// Input of the machine besides the event: the turn's one `now`, the origin, and the numbers on the
/// progress board.
package struct FetchContext: Sendable {
    package var now: Moment
    /// Memory of the origin of the transfer's own URL.
    package var origin: OriginMemory
    /// The origins of its mirrors, by the mirrors' URLs.
    package var mirrors: [String: OriginMemory] = [:]
    /// Requests that the origin's budget allows this fetch to have at a time.
    package var connectionsAllowed: Int
    /// All transfers together use what their limit allows: a slow one may be held back by that.
    package var isHeldBack = false
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
