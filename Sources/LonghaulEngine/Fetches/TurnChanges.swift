internal import LonghaulCore
internal import LonghaulStore

/// Decisions of a transaction. Memory changes and effects follow from them only once it is
/// committed; if the commit fails, they are dropped.
struct TurnChanges {
    /// Fetches that leave the wire.
    var departures: [(FetchID, FetchDeparture)] = []
    /// Fetches that end for the transfers that they serve: no transfer joins them.
    var departing: Set<FetchID> = []
    /// Part files and snapshots that belong to no transfer any more.
    var deletions: [OrphanedPart] = []
    /// Fetches that serve other transfers than before.
    var subscriberLists: [FetchID: Subscribers] = [:]
    /// When fetches may begin again that depart because something else is wanted.
    var earliest: [FetchID: Timestamp?] = [:]
    /// Transfers whose deadline passed while they waited, or that missed one they waited for.
    var failed: [(TransferID, LonghaulError)] = []
    /// The inbox holds more intents than one transaction applies.
    var isIncomplete = false
    /// A transfer entered the inbox, and is examined next: it is not wanted in the queue, or waits
    /// for one that has ended.
    var hasNewIntents = false
    /// Transfers that failed because no host can answer their questions.
    var unanswerable: Set<TransferID> = []
    /// Origins whose cool-down has ended for transfers that are to resume at once.
    var hastened: Set<String> = []
    var starts = Starts()

    /// Fetches that this turn brings into memory, or might have.
    struct Starts {
        var started: [StartedFetch] = []
        /// The requests among them that others wait with: an equal one joins with the next commit.
        var identities: Set<FetchIdentity> = []
        /// Copies that continue as separate fetches.
        var given: [StartedFetch] = []
        /// Transfers that could not be read.
        var refused: [(TransferID, LonghaulError)] = []
        /// Some transfers joined others, or have failed: there may be places left.
        var arePlacesLeft = false
    }
}

/// A fetch that the transaction has started. A reference, because it is large and is passed on.
final class StartedFetch {
    let work: TransferWork
    var state: FetchState
    let session: String
    let subscribers: Subscribers
    var isOverdue = false
    /// Digests that a copy need not be checked for again.
    let proven: [Checksum]
    /// A finished file that may make the request unnecessary.
    var kept: KeptFile?

    init(
        work: TransferWork, state: FetchState, session: String, subscribers: Subscribers,
        proven: [Checksum] = []
    ) {
        self.work = work
        self.state = state
        self.session = session
        self.subscribers = subscribers
        self.proven = proven
    }
}

extension Subscriber {
    init(_ work: TransferWork) {
        self.init(
            id: work.id, request: work.request, destination: work.path,
            deadline: work.deadline, eligibility: work.eligibility, isWanted: work.want == .run,
            bytesFetched: work.numbers.bytesFetched)
        partSuffix = work.partSuffix
        readFrom = work.readFrom
    }
}

extension TransferWork {
    /// The identity for sharing the start; `nil` = the start is not shared.
    var sharedIdentity: FetchIdentity? {
        if isUnreadable || request.options.onDuplicate == .separate { return nil }
        // An equal transfer would write its file where its file system is not mounted.
        if !eligibility.terms.requires.mounts.isEmpty { return nil }
        return FetchIdentity(request)
    }

    /// The bytes of another transfer are of no use to it now: its disk is full, or it waits for
    /// the end of other transfers.
    func isHeldBack(_ now: Timestamp) -> Bool {
        if eligibility.waitsForTransfers { return true }
        guard let readyAt, readyAt > now else { return false }
        return waitingFor.contains { $0.reason == .storage }
    }
}

extension LonghaulError {
    static func deadlinePassed(
        _ id: TransferID, after cause: LonghaulError?, bytesKept: Int64
    ) -> LonghaulError {
        var error = LonghaulError.deadlinePassed(after: cause).about(id)
        error.bytesKept = bytesKept
        return error
    }
}

extension FetchTarget {
    init(_ started: StartedFetch) {
        let work = started.work
        self.init(
            transfer: work.id, request: work.request, destination: work.path,
            deadline: work.deadline)
        proven = started.proven
        kept = started.kept
        partSuffix = work.partSuffix
        lastError = work.error
    }
}
