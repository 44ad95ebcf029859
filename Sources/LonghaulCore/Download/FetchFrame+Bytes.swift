internal import LonghaulModel

/// Bytes of the part file that become durable, or are given up.
extension FetchFrame {
    /// - Parameters:
    ///   - lost: Why a new and empty file was made, if it was.
    ///   - size: Of a file that was there; `nil` = not looked at.
    func opened(
        _ identity: FileIdentity, path: String, lost: RestartReason?, size: Int64?
    ) {
        if let size { cutOff(at: size) }
        let isAnother = lost != nil && bytes.state.partIdentity != nil
        if let lost, isAnother { void(lost) }
        let isRenumbered = lost == nil && bytes.state.partIdentity.map { $0 != identity } ?? false
        bytes.state.partIdentity = identity
        bytes.state.partPath = path
        bytes.state.publication = nil
        if isRenumbered {
            doubt(.partFileReplaced)
        } else if isWholeOfAnotherURL {
            doubt(.nothingToProve)
        }
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

    /// Gives up the bytes held. The caller commits this before a byte is overwritten.
    func void(_ reason: RestartReason) {
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

    /// The part file is on an unmounted disk, and the destination on another: the transfer does not
    /// wait. The bytes stay for those that share them, and are given up otherwise.
    func exitElsewhere() {
        if !target.isShared { void(.partFileMissing) }
        save()
        step.writes.append(.queued(target.transfer, readyAt: nil, waitingFor: []))
        step.writes.append(.dropFetch(target.transfer))
        step.durable = true
        step.effects.append(.close(deletingPart: false))
    }

    /// A whole file is held, and its URL was changed since: no missing byte would be asked of the
    /// new one. A digest of the user's decides by itself.
    private var isWholeOfAnotherURL: Bool {
        guard bytes.isWhole, target.request.options.checksum == nil,
            let asked = bytes.state.askedURL
        else { return false }
        return !CanonicalURL.areSame(asked, target.request.url)
    }

    /// Nothing says that the bytes held are the server's file: the file system gives files other
    /// numbers after each mount, and only its name says that the file is ours; or the URL is
    /// another one. Before a byte is added, the end of the bytes held is compared with the next
    /// answer, as after an answer without a byte; of a whole file, too.
    ///
    /// - Parameter reason: Why a file that is too short to be compared is given up.
    private func doubt(_ reason: RestartReason) {
        let end = min(bytes.have.prefix, (bytes.state.bytesTotal ?? .max) - Limits.overlapBytes)
        if end > 0 {
            bytes.state.generation += 1
            bytes.have = ByteRanges(0..<end)
            bytes.state.durable = bytes.have
            bytes.state.emptyAnswers = max(1, bytes.state.emptyAnswers)
            step.durable = true
        } else {
            void(reason)
        }
        save()
    }

    /// Never more is held than the file has: a shorter one was cut off, maybe by a file system
    /// check, and would be filled up with zeros. The rest is fetched again.
    func cutOff(at size: Int64) {
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

/// Store progress ≤ durable bytes, always: sync first, then commit the bytes that it covered.
extension FetchFrame {
    func sync() {
        let token = bytes.checkpoints.beginSync(of: bytes.have)
        step.effects.append(
            .sync(token: token, digests: digests.map(\.algorithm), through: bytes.have.prefix))
    }

    /// Returns whether the sync was awaited: a restart or an earlier failure voids it.
    func synced(_ token: Int64, at now: Instant) -> Bool {
        guard let pending = bytes.checkpoints.endSync(token) else { return false }
        assert(pending.covers.ranges.allSatisfy(bytes.have.contains), "what is void ends its sync")
        bytes.checkpoints.start(at: now)
        bytes.state.durable = bytes.state.durable.union(pending.covers)
        bytes.state.isPrefetched = false
        save()
        // A power cut may undo every commit since the last durable one, however old: only a durable
        // commit bounds the loss to one checkpoint.
        step.durable = true
        release(bytes.checkpoints.release(first: pending.retired))
        return true
    }

    private func release(_ keys: [SegmentKey]) {
        if !keys.isEmpty { step.effects.append(.release(keys)) }
    }
}
