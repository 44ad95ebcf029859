package import LonghaulModel

/// Differences of a fetch that serves several transfers.
extension DownloadMachine {
    /// A rename can give the part file to its leader.
    package var isAtHome: Bool { wire.frame.bytes.state.isBeside(wire.frame.target.destination) }

    /// The part file is on a disk that is away, and the destination on another: there is no need to
    /// wait. The bytes stay for those that share them; if there are none, they are given up.
    mutating func goElsewhere() {
        stage = .left
        if !wire.frame.target.isShared { wire.frame.void(.partFileMissing) }
        wire.frame.save()
        wire.frame.step.writes.append(.queued(transfer, readyAt: nil, waitingFor: []))
        wire.frame.step.writes.append(.dropFetch(transfer))
        wire.frame.step.durable = true
        wire.frame.step.effects.append(.close(deletingPart: false))
    }

    /// The copies are made while the part file is still ours alone: nothing changes it under
    /// them, and after a crash at any point it is there for those that are missing.
    mutating func shareOrPublish() {
        if wire.frame.target.isShared || !isAtHome {
            stage = .sharing
            wire.frame.save()
            wire.frame.step.effects.append(.handOut)
        } else {
            stage = .publishing
            publish(as: finalDestination)
        }
    }

    /// Publishes the part file, unless its leader came to lead while its copy was being made. Such
    /// a leader has the copy: the part file as well would publish it twice.
    mutating func handedOut(leaderHasCopy: Bool) {
        guard stage == .sharing else { return }
        if isAtHome, !leaderHasCopy {
            stage = .publishing
            publish(as: finalDestination)
        } else {
            // The leader was given a copy too.
            stage = .left
            wire.frame.step.writes.append(.discard(state.id))
            wire.frame.step.effects.append(.close(deletingPart: true))
        }
    }

    /// The digests that the whole file was found to have.
    package var verified: [Checksum] { digests + wire.frame.target.proven }

    /// State of a copy of the whole file.
    package func copy(
        for subscriber: Subscriber, _ identity: FileIdentity, path: String, mountPoint: String?
    ) -> FetchState {
        wire.frame.bytes.copy(
            for: subscriber, isLeader: subscriber.id == transfer, identity, path: path,
            mountPoint: mountPoint)
    }

    // MARK: - The kept file

    /// The part file is a copy of the file that was kept.
    mutating func filled(zerosFrom zeros: Int64?, _ context: FetchContext) {
        if stage == .checking { return adopted(upTo: zeros, context) }
        guard stage == .moving, segments.isEmpty, have.isEmpty, let kept = wire.frame.target.kept
        else { return }
        wire.frame.target.kept = nil
        wire.fromZero = nil
        wire.frame.bytes.fill(with: kept, askedFor: request.url)
        wire.frame.save()
        finish()
    }

    /// The file is not what it was, or cannot be read: asked for as if there were none.
    mutating func fillFailed(_ fault: LocalFault, _ context: FetchContext) {
        if stage == .checking { return notAdopted(fault, context) }
        guard stage == .moving, segments.isEmpty, wire.frame.target.kept != nil else { return }
        wire.frame.target.kept = nil
        if fault.code == .noSpace {
            failedLocally(fault, context)
        } else {
            wire.askNext(context)
        }
    }

    // MARK: - A file of another program

    /// The part file is a copy of it, which the next answer has to prove. What stands behind a long
    /// run of zeros is not taken: it may be a hole.
    private mutating func adopted(upTo zeros: Int64?, _ context: FetchContext) {
        guard var kept = wire.frame.target.continued else { return }
        kept.length = min(kept.length, zeros ?? .max)
        if leaving != nil {
            stage = .settling
            return quiet(context)
        }
        if kept.length == 0 {
            stage = .settling
            return leave(.fail(Failure.notContinued("it begins with zeros").error), context)
        }
        wire.frame.bytes.adopt(kept)
        wire.frame.run.start(wire.frame.bytes, at: context.now.monotonic)
        stage = .moving
        wire.askNext(context)
    }

    private mutating func notAdopted(_ fault: LocalFault, _ context: FetchContext) {
        stage = .settling
        if fault.code == .noSpace || leaving != nil { return failedLocally(fault, context) }
        let path = wire.frame.target.continued?.path ?? wire.frame.target.destination
        let error = LonghaulError(
            .destinationExists,
            "\(path) is not what it was when the transfer was recorded, and was left alone; give "
                + "the command again", transferID: transfer)
        leave(.fail(error), context)
    }
}

extension LonghaulError.Code {
    /// The error is about the disk that holds one transfer's file, and does not concern the others.
    package var isLocal: Bool {
        switch self {
        case .io, .permission, .noSpace, .destinationExists: true
        default: false
        }
    }
}
