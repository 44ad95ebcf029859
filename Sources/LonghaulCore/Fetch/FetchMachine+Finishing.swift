/// From the last byte to the name: verify → make durable → commit that, and the name → rename →
/// sync the directory → commit `completed` and its event.
extension FetchMachine {
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

    /// What the whole file must come to, by the user's word and the server's.
    var digests: [Checksum] {
        IntegrityPlan.digests(
            expected: request.options.checksum, reported: state.validator?.digest
        ).filter { !proven.contains($0) }
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
        state.durable = have
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
        state.publication = path
        step.writes.append(.save(state))
        step.durable = true
        step.effects.append(
            .publish(
                PublicationOrder(
                    destination: path, wanted: finalDestination,
                    policy: request.options.ifExists)))
    }

    mutating func occupied(
        _ next: String?, _ fault: LocalFault, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard stage == .publishing else { return }
        if let next, request.options.ifExists == .rename {
            publish(as: next, &step)
        } else if fault.code == .destinationExists, request.options.ifExists == .skip {
            skip(&step)
        } else {
            failedLocally(fault, context, &step)
        }
    }

    /// The same as if the file had been there when it was enqueued: it stays, and nobody has to do
    /// anything. What was fetched is dropped.
    private mutating func skip(_ step: inout FetchStep) {
        stage = .left
        let path = state.publication ?? destination
        let error = LonghaulError(
            .destinationExists,
            "\(path) exists by now and was kept, as --if-exists skip says; what was fetched was "
                + "dropped", transferID: transfer)
        step.writes.append(.skipped(transfer, error, path: path, totals))
        step.durable = true
        step.effects.append(.close(deletingPart: true))
    }

    package var finalDestination: String { state.finalDestination(of: request, at: destination) }

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
            // Somebody changed it since: it is theirs now, and ours begins anew.
            voidBytes(.partFileReplaced, &step)
            state.partIdentity = nil
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
        // The server's word is not for the user to check.
        let isExpected = wanted == request.options.checksum
        let (whose, suspects) =
            isExpected
            ? ("the expected \(wanted.hex)", "the expected value and the source")
            : ("\(wanted.hex), the digest that the server announced", "the source")
        let error = LonghaulError(
            .checksumMismatch,
            "the \(wanted.algorithm.rawValue) of the file is \(actual), not \(whose); "
                + "it is kept as \(keptAt); check \(suspects), then retry",
            transferID: transfer)
        // A mirror may have brought what is wrong: the file's own URL gets its chance, once.
        let isOfMirror = !isAtOwnOrigin || state.validator?.elsewhere != nil
        let mayBegin = isOfMirror && state.restarts == 0
        if mayBegin {
            state.source = sources.count - 1
            voidBytes(.digestDiffers, &step)
        }
        state.durable = ByteRanges()
        state.publication = nil
        have = ByteRanges()
        state.generation += 1
        state.partIdentity = nil
        state.validator = nil
        state.bytesTotal = nil
        stage = .settling
        let end = mayBegin ? Leaving.retry(Failure(.transient, error)) : .fail(error)
        leave(outlasted(end), context, &step)
    }
}

extension FetchState {
    /// The reserved destination, or the server's name for it beside it where that was asked for.
    package func finalDestination(
        of request: TransferRequest, at destination: String
    ) -> String {
        guard request.options.remoteName, let name = proposedName,
            let slash = destination.utf8.lastIndex(of: UInt8(ascii: "/"))
        else { return destination }
        return String(destination[..<destination.utf8.index(after: slash)]) + name
    }
}

/// Which digests a whole file must have before it is given its name: the user's, and the one that
/// the server announced.
package enum IntegrityPlan {
    package static func digests(expected: Checksum?, reported: String?) -> [Checksum] {
        var digests: [Checksum] = []
        if let expected { digests.append(expected) }
        if let reported = reported.flatMap(DigestField.checksum), reported != expected {
            digests.append(reported)
        }
        return digests
    }
}
