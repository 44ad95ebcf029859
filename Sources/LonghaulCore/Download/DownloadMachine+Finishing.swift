internal import LonghaulModel

/// Leads from the last byte to the name: verify → make durable → commit that, and the name → rename
/// → sync the directory → commit `completed` and its event.
extension DownloadMachine {
    func finish() {
        precondition(frame.bytes.isWhole && segments.isEmpty, "only a whole file is finished")
        guard let total = frame.bytes.state.bytesTotal else { return }
        // A failure of the sync under way would be reported to it alone: the next one, of the whole
        // file, would answer 0 all the same. So it ends first, see `synced`.
        if frame.bytes.checkpoints.syncing != nil { return }
        let digests = frame.digests
        if digests.isEmpty {
            secure()
        } else {
            state = .verifying(leaving: nil)
            frame.step.effects.append(.verify(digests, length: total))
        }
    }

    func verified(_ context: FetchContext) {
        guard case .verifying(let leaving) = state else { return }
        if let leaving { return settle(leaving, context) }
        secure()
    }

    private func secure() {
        state = .securing(leaving: nil)
        frame.step.effects.append(.secure(length: frame.bytes.state.bytesTotal ?? 0))
    }

    func secured(_ context: FetchContext) {
        guard case .securing(let leaving) = state else { return }
        frame.bytes.state.durable = frame.bytes.have
        if let leaving { return settle(leaving, context) }
        // The copies are made while nothing else uses the part file: it does not change meanwhile,
        // and after a crash at any point it is there for the missing ones.
        if frame.target.isShared || !frame.isAtHome {
            state = .sharing
            frame.save()
            frame.step.effects.append(.handOut)
        } else {
            publish(as: frame.finalDestination)
        }
    }

    private func publish(as path: String) {
        state = .publishing
        frame.publish(as: path)
    }

    /// The file has its name.
    func complete(as path: String) {
        state = .left(nil)
        frame.exitCompleted(as: path)
    }

    func occupied(_ next: String?, _ fault: LocalFault, _ context: FetchContext) {
        guard state == .publishing else { return }
        let request = frame.target.request
        if let next, request.mayHaveOtherName(for: fault) {
            publish(as: next)
        } else if fault.code == .destinationExists, request.options.ifExists == .skip {
            state = .left(nil)
            frame.exitSkipped()
        } else {
            failedLocally(fault, context)
        }
    }

    /// A failed sync of the directory, or a crash, came between the rename and its record.
    func foundPublished(_ path: String) {
        guard stage == .preparing else { return }
        if frame.bytes.isWhole { return complete(as: path) }
        // The file was changed since: it is the user's, and the fetch starts from zero.
        frame.void(.partFileReplaced)
        frame.bytes.state.partIdentity = nil
        frame.save()
        frame.step.effects.append(.prepare(frame.part(needs: nil)))
    }

    /// The file is not published: it was moved aside for its owner to look at.
    func mismatched(
        _ wanted: Checksum, actual: String, keptAt: String, _ context: FetchContext
    ) {
        let error = frame.target.mismatch(wanted, actual: actual, keptAt: keptAt)
        let mayBegin = frame.refute(keptAt: keptAt)
        let reason = mayBegin ? FetchLeaving.retry(Failure(.transient, error)) : .fail(error)
        settle(unlessCancelled(reason), context)
    }

    // MARK: - Copies for others

    /// Publishes the part file, unless the leader has a copy, which was made before it became the
    /// leader: the file would be published twice.
    func handedOut(leaderHasCopy: Bool) {
        guard state == .sharing else { return }
        if frame.isAtHome, !leaderHasCopy { return publish(as: frame.finalDestination) }
        state = .left(nil)
        frame.step.writes.append(.discard(frame.bytes.state.id))
        frame.step.effects.append(.close(deletingPart: true))
    }

    // MARK: - Copies from others

    /// The part file is a copy of the kept file, or of a file of another program.
    func filled(zerosFrom zeros: Int64?, _ context: FetchContext) {
        if case .checking(let leaving) = state { return adopted(upTo: zeros, leaving, context) }
        guard isFilling, let kept = frame.target.kept else { return }
        frame.target.kept = nil
        wire.fromZero = nil
        frame.bytes.fill(with: kept, askedFor: frame.target.request.url)
        frame.save()
        finish()
    }

    /// The file has changed, or cannot be read: the fetch continues without it.
    func fillFailed(_ fault: LocalFault, _ context: FetchContext) {
        if case .checking(let leaving) = state { return notAdopted(fault, leaving, context) }
        guard isFilling, frame.target.kept != nil else { return }
        frame.target.kept = nil
        if fault.code == .noSpace {
            failedLocally(fault, context)
        } else {
            wire.askNext(context)
        }
    }

    private var isFilling: Bool {
        state == .moving && segments.isEmpty && frame.bytes.have.isEmpty
    }

    /// The next answer has to prove the copy of another program's file. The bytes behind a long run
    /// of zeros are not adopted: the run may be a hole.
    private func adopted(
        upTo zeros: Int64?, _ leaving: FetchLeaving?, _ context: FetchContext
    ) {
        guard var kept = frame.target.continued else { return }
        kept.length = min(kept.length, zeros ?? .max)
        if let leaving { return settle(leaving, context) }
        if kept.length == 0 {
            return settle(.fail(Failure.notContinued("it begins with zeros").error), context)
        }
        frame.bytes.adopt(kept)
        frame.run.start(frame.bytes, at: context.now.monotonic)
        state = .moving
        wire.askNext(context)
    }

    private func notAdopted(
        _ fault: LocalFault, _ leaving: FetchLeaving?, _ context: FetchContext
    ) {
        if fault.code == .noSpace || leaving != nil {
            if let end = fault.cutAt { frame.cutOff(at: end) }
            return settle(unlessCancelled(frame.leaving(after: fault)), context)
        }
        let path = frame.target.continued?.path ?? frame.target.destination
        let error = LonghaulError(
            .destinationExists,
            "\(path) is not what it was when the transfer was recorded, and was left alone; give "
                + "the command again", transferID: frame.target.transfer)
        settle(.fail(error), context)
    }
}
