/// What can happen to a fetch. Every event names the fetch by being handed to its machine; those of
/// one request carry its key, and what an earlier attempt reports late is dropped.
package enum FetchEvent: Sendable {
    /// The part file is open. `created` = it is a new, empty file. `size`: of a file that was
    /// there; `nil` = not looked at. `mountPoint`: see ``FetchState/partMount``. `isReplacing`:
    /// another file had the name of the one that was there. One that is there and is another than
    /// before is known by its name alone.
    case prepared(
        FileIdentity, path: String, created: Bool, size: Int64? = nil, mountPoint: String? = nil,
        isReplacing: Bool = false)
    case prepareFailed(LocalFault)
    /// Space for the announced length was set aside.
    case reserved
    case reserveFailed(LocalFault)
    /// The part file is empty again and its cells carry the new generation.
    case truncated
    case truncateFailed(LocalFault)
    case head(SegmentKey, ResponseHead)
    case progress
    case ended(SegmentKey, SegmentEnd)
    /// What had been written when sync number `token` was asked for is durable.
    case synced(token: Int64)
    case syncFailed(token: Int64, LocalFault)
    case verified
    /// The digest is not the expected one; the file is now at `keptAt`.
    case mismatched(Checksum, actual: String, keptAt: String)
    case verifyFailed(LocalFault)
    case secured
    case secureFailed(LocalFault)
    case published(path: String)
    /// Something else stands under the name by now. `next` is a free one like it, where another
    /// name would do.
    case occupied(next: String?, LocalFault)
    case publishFailed(LocalFault)
    /// The part file was moved away, or deleted and its bytes with it.
    case displaced(LocalFault, isGone: Bool)
    /// Instead of a part file, the file itself was found under its name: published, and then not
    /// recorded.
    case foundPublished(path: String)
    /// The part file is a durable copy of the kept file.
    case filled
    case fillFailed(LocalFault)
    /// A transfer that shares the fetch has its own copy of the whole file, durable.
    case copied(TransferID, FileIdentity, path: String, mountPoint: String? = nil)
    case copyFailed(TransferID, LocalFault)
    /// All that others were to get of the file they have.
    case handedOut(leaderHasCopy: Bool)
    /// Nobody is left but the leader, who cannot be given its own copy: the bytes stay where they
    /// are.
    case handOutFailed(LocalFault)
    /// Leave the wire, checkpointed.
    case leave(FetchDeparture)
    case tick
}

extension FetchEvent {
    /// What the engine keeps an account of, besides the machine.
    package enum Account: Hashable, Sendable {
        case copy
        case securing
        case publishing
    }

    /// Where something was ordered that has its answer with this event.
    package var settles: Account? {
        switch self {
        case .copied, .copyFailed: .copy
        case .secured, .secureFailed: .securing
        case .published, .occupied, .publishFailed, .displaced: .publishing
        case .prepared, .prepareFailed, .reserved, .reserveFailed, .truncated, .truncateFailed,
            .head, .progress, .ended, .synced, .syncFailed, .verified, .mismatched, .verifyFailed,
            .foundPublished, .filled, .fillFailed, .handedOut, .handOutFailed, .leave,
            .tick:
            nil
        }
    }

    /// Whether nothing of what was written is left.
    package var losesBytes: Bool {
        guard case .displaced(_, isGone: true) = self else { return false }
        return true
    }
}

/// Why a fetch is asked to leave the wire.
package enum FetchDeparture: Hashable, Sendable {
    /// Nobody wants it just now: back to the queue.
    case requeue
    /// Something else is wanted of it: back to the queue, and not to its end as it was begun.
    case renew
    case cancel(keepingBytes: Bool)
    /// The deadline has passed.
    case expire

    /// To the queue, with all that it has.
    package var goesBack: Bool {
        switch self {
        case .requeue, .renew: true
        case .cancel, .expire: false
        }
    }
}

/// A failure of this machine: its disk, its permissions.
package struct LocalFault: Hashable, Sendable {
    package var code: LonghaulError.Code
    package var message: String
    /// The machine is short of something for a moment: tried again with back-off.
    package var isPassing: Bool
    /// Where the disk was mounted that holds the part file, and is not mounted.
    package private(set) var unmounted: String?
    /// Where the part file ends by now: it was cut off, and what was held behind it is gone.
    package private(set) var cutAt: Int64?

    package init(code: LonghaulError.Code, message: String, isPassing: Bool = false) {
        self.code = code
        self.message = message
        self.isPassing = isPassing
    }

    /// The disk has not got the bytes that are to come, whether the server said so or only the
    /// user.
    package init(needed: Int64, available: Int64, for destination: String, isExpected: Bool) {
        let disk = "the disk that holds \(destination)"
        let what: String
        if available <= 0 {
            what = "is full; free some space, then resume"
        } else {
            let lack = SizeText.shown(needed - available)
            let start = "lacks \(lack) for the \(SizeText.shown(needed)) that "
            what =
                start
                + (isExpected
                    ? "--expect says are to come; free some space, or correct that with "
                        + "`set --expect`, then resume"
                    : "are to come; free some space, then resume")
        }
        self.init(code: .noSpace, message: "\(disk) \(what)")
    }

    package init(unmounted mountPoint: String) {
        self.init(
            code: .io,
            message: "the disk that was mounted at \(mountPoint), and holds what was fetched, is "
                + "not mounted; mount it, then resume")
        unmounted = mountPoint
    }

    package init(cutOff path: String, at size: Int64) {
        self.init(
            code: .io,
            message: "\(path) is shorter than what was written to it: it was cut off; "
                + "retry the transfer, which fetches what is missing again")
        cutAt = size
    }

    /// What is missing, where it is storage that can be waited for.
    package var storageNeed: StorageNeed? {
        if unmounted != nil { return .disk }
        return code == .noSpace ? .space : nil
    }

    /// What is told of a transfer that goes on by itself.
    var messageWhileWaiting: String {
        guard let unmounted else { return message }
        return "the one that was mounted at \(unmounted) is not mounted; mount it, or begin anew "
            + "without it: `cancel`, then `retry`"
    }
}

/// What a transfer lacks that waits for storage.
package enum StorageNeed: String, Hashable, Sendable {
    case space = "free space"
    /// The one that its part file is on.
    case disk = "its disk"
}
