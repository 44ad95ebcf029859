/// What is different for a fetch that serves several transfers.
extension FetchMachine {
    /// Who leads from now on, and what is to be heeded of all.
    package mutating func serve(_ subscribers: Subscribers) {
        if subscribers.leader.id != transfer { state.publication = nil }
        transfer = subscribers.leader.id
        destination = subscribers.leader.destination
        deadline = subscribers.deadline
        request = subscribers.request
        isShared = subscribers.isShared
    }

    /// Whether the part file can be given its leader by a rename.
    package var isAtHome: Bool {
        state.partPath.isEmpty
            || FileNaming.directory(of: state.partPath)
                .isExactly(FileNaming.directory(of: destination))
    }

    /// Whether another transfer may still come along. None may while the file is, or may be, under
    /// its leader's name: whoever came to lead after that one would not look for it there.
    package var isJoinable: Bool {
        if state.publication != nil { return false }
        switch leaving {
        case .requeue, .retry, .pause, .waitForStorage, nil: break
        case .fail, .needInput, .cancel: return false
        }
        return switch stage {
        case .preparing, .moving, .settling, .verifying, .securing, .sharing: true
        case .publishing, .left: false
        }
    }

    /// The part file is on a disk that is away, and the destination on another: there is no need to
    /// wait. The bytes stay for those that share them; if there are none, they are given up.
    mutating func goElsewhere(_ step: inout FetchStep) {
        stage = .left
        if !isShared { voidBytes(.partFileMissing, &step) }
        step.writes.append(.save(state))
        step.writes.append(.queued(transfer, readyAt: nil, waitingFor: []))
        step.writes.append(.dropFetch(transfer))
        step.durable = true
        step.effects.append(.close(deletingPart: false))
    }

    /// The copies are made while the part file is still ours alone: nobody can change it under
    /// them, and after a crash at any point it is there for those that are missing.
    mutating func shareOrPublish(_ step: inout FetchStep) {
        if isShared || !isAtHome {
            stage = .sharing
            step.writes.append(.save(state))
            step.effects.append(.handOut)
        } else {
            stage = .publishing
            publish(as: finalDestination, &step)
        }
    }

    /// One that came to lead while its copy was being made has it, wherever its destination is: to
    /// give it the part file as well would publish it twice.
    mutating func handedOut(leaderHasCopy: Bool, _ step: inout FetchStep) {
        guard stage == .sharing else { return }
        if isAtHome, !leaderHasCopy {
            stage = .publishing
            publish(as: finalDestination, &step)
        } else {
            // Its leader was given a copy too.
            stage = .left
            step.writes.append(.discard(state.id))
            step.effects.append(.close(deletingPart: true))
        }
    }

    /// The digests that the whole file was found to have.
    package var verified: [Checksum] { digests + proven }

    /// What is known of a copy of the whole file.
    package func copy(
        for subscriber: Subscriber, _ identity: FileIdentity, path: String, mountPoint: String?
    ) -> FetchState {
        var copy = FetchState(id: state.id)
        copy.partPath = path
        copy.partIdentity = identity
        copy.partMount = mountPoint
        copy.durable = have
        copy.validator = state.validator
        copy.bytesTotal = state.bytesTotal
        copy.attempts = state.attempts
        copy.restarts = state.restarts
        copy.askedURL = subscriber.request.url
        copy.effectiveURL = state.effectiveURL
        copy.proposedName = state.proposedName
        copy.contentCoding = state.contentCoding
        copy.response = subscriber.request.options.keepsResponse ? state.response : nil
        // What was received is counted once.
        copy.bytesFetched = subscriber.id == transfer ? state.bytesFetched : subscriber.bytesFetched
        return copy
    }
}

extension LonghaulError.Code {
    /// Of this machine's disk, where one transfer's file is: no matter of the others'.
    package var isLocal: Bool {
        switch self {
        case .io, .permission, .noSpace, .destinationExists: true
        default: false
        }
    }
}
