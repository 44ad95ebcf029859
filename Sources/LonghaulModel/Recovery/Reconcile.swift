/// The files on disk under a transfer's two names, examined once.
package struct FileFacts: Hashable, Sendable {
    package enum Entry: Hashable, Sendable {
        case missing
        case present(FileIdentity, size: Int64)
        /// The path could not be examined.
        case unusable(errno: Int32)
    }

    package var part: Entry
    package var destination: Entry
    /// The mount that the part file was examined through: another one has another page cache. 0 =
    /// unknown to the kernel.
    package var mount: UInt64

    package init(part: Entry, destination: Entry, mount: UInt64 = 0) {
        self.part = part
        self.destination = destination
        self.mount = mount
    }
}

/// The action of a new engine for a transfer that its predecessor left running.
package enum RecoveryAction: Hashable, Sendable {
    /// Back to the queue with these bytes.
    case requeue(have: ByteRanges)
    /// Back to the queue; nothing is held, and nothing was lost.
    case requeueFresh
    /// Whole and durable in the part file: back to the queue, from where the next attempt publishes
    /// it.
    case republish
    /// The file stands under its name; only the record is missing.
    case markCompleted
    /// Back to the queue from zero: the bytes held are void.
    case restart(RestartReason)
    /// Back to the queue, in the fetch that another leads: its bytes are examined once, there.
    case rejoin
}

/// Compares the store's record with the disk. A crash between any two steps of a transfer's life
/// leaves one of these combinations; each has one answer.
///
/// - Parameters:
///   - follows: Another transfer leads its fetch.
///   - written: Bytes written under the row's generation by this boot's progress board; empty after
///     a power cut.
///   - mount: The mount they were written through, see ``FileFacts/mount``: when a disk is pulled
///     out, bytes that only the page cache had are lost.
package func reconcile(
    fetch: FetchState?, follows: Bool = false, facts: FileFacts, written: ByteRanges,
    through mount: UInt64 = 0
) -> RecoveryAction {
    // The leader alone publishes the fetch's file; a copy comes with a separate fetch.
    if follows { return .rejoin }
    guard let fetch, let identity = fetch.partIdentity else { return .requeueFresh }
    if fetch.mayHaveItsName, let total = fetch.bytesTotal {
        // A file may have been changed since: no wrong length is ever called complete.
        if case .present(identity, let size) = facts.destination {
            // The rename came through and the commit did not.
            return size == total ? .markCompleted : lost(fetch, .partFileReplaced)
        }
        if case .present(identity, let size) = facts.part, size >= total {
            return size == total ? .republish : lost(fetch, .partFileReplaced)
        }
    }
    switch facts.part {
    case .present(identity, let size):
        let isThere = fetch.validator != nil && mount == facts.mount
        let claimed = isThere ? fetch.durable.union(written) : fetch.durable
        return kept(claimed, size: size, of: fetch)
    case .present: return lost(fetch, .partFileReplaced)
    case .missing:
        // The directory could not be synced after the rename, and the transfer was asked for again:
        // the next attempt finds the file there.
        if case .present(identity, let size) = facts.destination, size == fetch.bytesTotal,
            fetch.isDurable
        {
            return .requeue(have: fetch.durable)
        }
        // The file may stand there: the next attempt looks again.
        if case .unusable = facts.destination, fetch.isDurable {
            return .requeue(have: fetch.durable)
        }
        return lost(fetch, .partFileMissing)
    case .unusable:
        // Examined again when the transfer is next started, which can report a failure.
        return .requeue(have: fetch.durable)
    }
}

/// Never more than the file holds: a shorter one was cut off by another program, or by a file
/// system check.
private func kept(_ claimed: ByteRanges, size: Int64, of fetch: FetchState) -> RecoveryAction {
    let have = claimed.upTo(size)
    if have.isEmpty { return lost(fetch, .partFileShorter) }
    return .requeue(have: have)
}

private func lost(_ fetch: FetchState, _ reason: RestartReason) -> RecoveryAction {
    fetch.durable.isEmpty ? .requeueFresh : .restart(reason)
}
