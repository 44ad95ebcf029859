/// Leads from the last byte to the name: verify → make durable → commit that, and the name → rename
/// → sync the directory → commit `completed` and its event.
extension DownloadMachine {
    mutating func finish(_ step: inout FetchStep) {
        precondition(isWhole && segments.isEmpty, "only a whole file is finished")
        guard let total = state.bytesTotal else { return }
        // A failure of the sync that is under way would be told to it alone: the next one, of the
        // whole file, would answer 0 all the same. So it comes to an end first, see `synced`.
        if syncing != nil { return }
        if digests.isEmpty {
            secure(&step)
        } else {
            stage = .verifying
            step.effects.append(.verify(digests, length: total))
        }
    }

    /// Digests that the whole file must have, by the user and the server.
    var digests: [Checksum] {
        wire.frame.target.digests(reported: wire.frame.bytes.state.validator?.digest)
    }

    mutating func verified(_ context: FetchContext, _ step: inout FetchStep) {
        guard stage == .verifying else { return }
        if leaving != nil { return turnBack(context, &step) }
        secure(&step)
    }

    mutating func secure(_ step: inout FetchStep) {
        stage = .securing
        step.effects.append(.secure(length: state.bytesTotal ?? 0))
    }

    mutating func secured(_ context: FetchContext, _ step: inout FetchStep) {
        guard stage == .securing else { return }
        wire.frame.bytes.state.durable = have
        if leaving != nil { return turnBack(context, &step) }
        shareOrPublish(&step)
    }

    /// Something else is wanted by now, and the file has no name yet.
    private mutating func turnBack(_ context: FetchContext, _ step: inout FetchStep) {
        stage = .settling
        quiet(context, &step)
    }

    /// The name is committed before the rename, so that a successor knows where to look for a file
    /// that was renamed and not recorded.
    mutating func publish(as path: String, _ step: inout FetchStep) {
        precondition(state.isDurable, "only a whole and durable file gets its name")
        wire.frame.bytes.state.publication = path
        step.writes.append(.save(state))
        step.durable = true
        step.effects.append(
            .publish(
                PublicationOrder(
                    destination: path, wanted: finalDestination, request.options,
                    state.validator)))
    }

    mutating func occupied(
        _ next: String?, _ fault: LocalFault, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard stage == .publishing else { return }
        if let next, request.mayHaveOtherName(for: fault) {
            publish(as: next, &step)
        } else if fault.code == .destinationExists, request.options.ifExists == .skip {
            skip(&step)
        } else {
            failedLocally(fault, context, &step)
        }
    }

    /// The same as if the file had been there when it was enqueued: it stays, and nothing has to
    /// be done. What was fetched is dropped.
    private mutating func skip(_ step: inout FetchStep) {
        stage = .left
        let path = state.publication ?? wire.frame.target.destination
        let error = wire.frame.target.skipped(keeping: path)
        step.writes.append(.skipped(transfer, error, path: path, totals))
        step.durable = true
        step.effects.append(.close(deletingPart: true))
    }

    package var finalDestination: String {
        wire.frame.bytes.state.finalDestination(of: request, at: wire.frame.target.destination)
    }

    mutating func published(_ path: String, _ step: inout FetchStep) {
        guard stage == .publishing else { return }
        stage = .left
        step.writes.append(.completed(transfer, path: path, totals))
        step.durable = true
        step.effects.append(.close(deletingPart: false))
    }

    /// A failed sync of the directory, or a crash, came between the rename and its record.
    mutating func foundPublished(
        _ path: String, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard stage == .preparing else { return }
        guard isWhole else {
            // The file was changed since: it is the user's now, and the fetch begins anew.
            wire.voidBytes(.partFileReplaced, &step)
            wire.frame.bytes.state.partIdentity = nil
            step.writes.append(.save(state))
            step.effects.append(.prepare(part(needs: nil)))
            return
        }
        stage = .publishing
        published(path, &step)
    }

    /// Never published under its name: the file was moved aside for its owner to look at.
    mutating func mismatched(
        _ wanted: Checksum, actual: String, keptAt: String, _ context: FetchContext,
        _ step: inout FetchStep
    ) {
        // Another server may have brought what is wrong: the file's own URL gets its chance, once.
        let isOfSeveral = !wire.isAtOwnOrigin || state.validator?.isOfSeveral == true
        let mayBegin = isOfSeveral && !state.isDigestRefuted
        if mayBegin {
            wire.frame.bytes.state.source = wire.frame.target.sources.count - 1
            wire.voidBytes(.digestDiffers, &step)
        }
        wire.frame.bytes.forgetAll()
        wire.frame.bytes.state.partPath = keptAt
        stage = .settling
        let why = wire.frame.target.mismatch(wanted, actual: actual, keptAt: keptAt)
        leave(outlasted(mayBegin ? .retry(Failure(.transient, why)) : .fail(why)), context, &step)
    }
}
