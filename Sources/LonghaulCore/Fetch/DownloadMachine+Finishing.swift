internal import LonghaulModel

/// Leads from the last byte to the name: verify → make durable → commit that, and the name → rename
/// → sync the directory → commit `completed` and its event.
extension DownloadMachine {
    mutating func finish() {
        precondition(isWhole && segments.isEmpty, "only a whole file is finished")
        guard let total = state.bytesTotal else { return }
        // A failure of the sync that is under way would be told to it alone: the next one, of the
        // whole file, would answer 0 all the same. So it comes to an end first, see `synced`.
        if syncing != nil { return }
        if digests.isEmpty {
            secure()
        } else {
            stage = .verifying
            wire.frame.step.effects.append(.verify(digests, length: total))
        }
    }

    /// Digests that the whole file must have, by the user and the server.
    var digests: [Checksum] {
        wire.frame.target.digests(reported: wire.frame.bytes.state.validator?.digest)
    }

    mutating func verified(_ context: FetchContext) {
        guard stage == .verifying else { return }
        if leaving != nil { return turnBack(context) }
        secure()
    }

    mutating func secure() {
        stage = .securing
        wire.frame.step.effects.append(.secure(length: state.bytesTotal ?? 0))
    }

    mutating func secured(_ context: FetchContext) {
        guard stage == .securing else { return }
        wire.frame.bytes.state.durable = have
        if leaving != nil { return turnBack(context) }
        shareOrPublish()
    }

    /// Something else is wanted by now, and the file has no name yet.
    private mutating func turnBack(_ context: FetchContext) {
        stage = .settling
        quiet(context)
    }

    /// The name is committed before the rename, so that a successor knows where to look for a file
    /// that was renamed and not recorded.
    mutating func publish(as path: String) {
        precondition(state.isDurable, "only a whole and durable file gets its name")
        wire.frame.bytes.state.publication = path
        wire.frame.save()
        wire.frame.step.durable = true
        wire.frame.step.effects.append(
            .publish(
                PublicationOrder(
                    destination: path, wanted: finalDestination, request.options,
                    state.validator)))
    }

    mutating func occupied(_ next: String?, _ fault: LocalFault, _ context: FetchContext) {
        guard stage == .publishing else { return }
        if let next, request.mayHaveOtherName(for: fault) {
            publish(as: next)
        } else if fault.code == .destinationExists, request.options.ifExists == .skip {
            skip()
        } else {
            failedLocally(fault, context)
        }
    }

    /// The same as if the file had been there when it was enqueued: it stays, and nothing has to
    /// be done. What was fetched is dropped.
    private mutating func skip() {
        stage = .left
        let path = state.publication ?? wire.frame.target.destination
        let error = wire.frame.target.skipped(keeping: path)
        wire.frame.step.writes.append(.skipped(transfer, error, path: path, totals))
        wire.frame.step.durable = true
        wire.frame.step.effects.append(.close(deletingPart: true))
    }

    package var finalDestination: String {
        wire.frame.bytes.state.finalDestination(of: request, at: wire.frame.target.destination)
    }

    mutating func published(_ path: String) {
        guard stage == .publishing else { return }
        stage = .left
        wire.frame.step.writes.append(.completed(transfer, path: path, totals))
        wire.frame.step.durable = true
        wire.frame.step.effects.append(.close(deletingPart: false))
    }

    /// A failed sync of the directory, or a crash, came between the rename and its record.
    mutating func foundPublished(_ path: String, _ context: FetchContext) {
        guard stage == .preparing else { return }
        guard isWhole else {
            // The file was changed since: it is the user's now, and the fetch begins anew.
            wire.frame.void(.partFileReplaced)
            wire.frame.bytes.state.partIdentity = nil
            wire.frame.save()
            wire.frame.step.effects.append(.prepare(part(needs: nil)))
            return
        }
        stage = .publishing
        published(path)
    }

    /// Never published under its name: the file was moved aside for its owner to look at.
    mutating func mismatched(
        _ wanted: Checksum, actual: String, keptAt: String, _ context: FetchContext
    ) {
        // Another server may have brought what is wrong: the file's own URL gets its chance, once.
        let sources = wire.frame.target.sources.count
        let isOfSeveral = !wire.isAtOwnOrigin || state.validator?.isOfSeveral == true
        let isForOwnURL = isOfSeveral && !state.isDigestRefuted
        // Then each mirror in its turn. Sources that fail meanwhile do not lead round for ever.
        let isAnyLeft = state.source % sources + 1 < sources && state.restarts <= sources
        let mayBegin = isForOwnURL || isAnyLeft
        if isForOwnURL { wire.frame.bytes.state.source = sources - 1 }
        if mayBegin { wire.frame.void(.digestDiffers) }
        wire.frame.bytes.forgetAll()
        wire.frame.bytes.state.isDigestRefuted = true
        wire.frame.bytes.state.partPath = keptAt
        stage = .settling
        let why = wire.frame.target.mismatch(wanted, actual: actual, keptAt: keptAt)
        leave(outlasted(mayBegin ? .retry(Failure(.transient, why)) : .fail(why)), context)
    }
}
