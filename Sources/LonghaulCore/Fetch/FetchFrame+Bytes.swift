internal import LonghaulModel

/// Bytes of the part file that become durable, or are given up.
extension FetchFrame {
    /// - Parameters:
    ///   - lost: Why a new and empty file was made, if it was.
    ///   - size: Of a file that was there; `nil` = not looked at.
    mutating func opened(
        _ identity: FileIdentity, path: String, lost: RestartReason?, size: Int64?
    ) {
        if let size { cutOff(at: size) }
        let isAnother = lost != nil && bytes.state.partIdentity != nil
        if let lost, isAnother { void(lost) }
        let isRenumbered = lost == nil && bytes.state.partIdentity.map { $0 != identity } ?? false
        bytes.state.partIdentity = identity
        bytes.state.partPath = path
        bytes.state.publication = nil
        if isRenumbered { doubt() }
        // The new file may have the number of the one that is gone: bytes held there become void in
        // the store, too, before a byte is written.
        if isAnother { save() }
        // A version of which there is no byte: the next answer may be of another, and until that is
        // recorded nothing on the board may be taken for this one.
        if bytes.have.isEmpty, bytes.state.validator != nil, !bytes.isWhole {
            bytes.forgetVersion()
            save()
        }
    }

    /// Gives up all that is held. The caller sees to it that this is committed before a byte is
    /// overwritten.
    mutating func void(_ reason: RestartReason) {
        let lost = bytes.have.count
        if lost > 0 { run.hindrance = "what was held had to be given up: \(reason)" }
        if reason == .digestDiffers { bytes.state.isDigestRefuted = true }
        bytes.forgetAll()
        release(bytes.checkpoints.void())
        bytes.rangesProven = false
        if lost > 0 {
            bytes.state.restarts += 1
            step.writes.append(
                .restarted(target.transfer, reason: reason.description, bytesLost: lost))
        }
        step.durable = true
    }

    /// The file system gives files other numbers after each mount, and only its name says that the
    /// file is ours. Before anything is put to what it holds, the end of that is compared with what
    /// comes, as after an answer that brought nothing; of a whole file, too.
    private mutating func doubt() {
        let end = min(bytes.have.prefix, (bytes.state.bytesTotal ?? .max) - Limits.overlapBytes)
        if end > 0 {
            bytes.state.generation += 1
            bytes.have = ByteRanges(0..<end)
            bytes.state.durable = bytes.have
            bytes.state.emptyAnswers = max(1, bytes.state.emptyAnswers)
            step.durable = true
        } else {
            void(.partFileReplaced)
        }
        save()
    }

    /// Never more is held than the file has: a shorter one was cut off, maybe by a file system
    /// check, and would be filled up with zeros. What is behind is fetched again.
    mutating func cutOff(at size: Int64) {
        let kept = bytes.have.upTo(size)
        if kept == bytes.have { return }
        if kept.isEmpty {
            void(.partFileShorter)
        } else {
            bytes.state.durable = bytes.state.durable.upTo(size)
            bytes.have = kept
        }
        save()
        step.durable = true
    }
}

/// Store progress ≤ durable bytes, always: sync first, then commit what the sync covered.
extension FetchFrame {
    mutating func sync(digests: [Checksum]) {
        let token = bytes.checkpoints.beginSync(of: bytes.have)
        step.effects.append(
            .sync(token: token, digests: digests.map(\.algorithm), through: bytes.have.prefix))
    }

    /// Returns whether the sync was awaited: a restart or an earlier failure voids it.
    mutating func synced(_ token: Int64, at now: Instant) -> Bool {
        guard let pending = bytes.checkpoints.endSync(token) else { return false }
        assert(pending.covers.ranges.allSatisfy(bytes.have.contains), "what is void ends its sync")
        bytes.checkpoints.start(at: now)
        bytes.state.durable = bytes.state.durable.union(pending.covers)
        bytes.state.isPrefetched = false
        save()
        // A power cut may take every commit since the last one that was made durable, however old
        // they are: what is to cost one checkpoint at most has to reach the disk with it.
        step.durable = true
        release(bytes.checkpoints.release(first: pending.retired))
        return true
    }

    private mutating func release(_ keys: [SegmentKey]) {
        if !keys.isEmpty { step.effects.append(.release(keys)) }
    }
}
