package import LonghaulModel

/// The transfers that a command applies to.
package enum Selection: Hashable, Sendable {
    case ids([TransferID])
    case all
    case session(String)
}

/// A change of wants that a client may request for existing transfers.
package enum WantedChange: Hashable, Sendable {
    case pause
    /// Resume, and retry a failed one.
    case resume
    case cancel(keepBytes: Bool)
    /// Try a failed or cancelled one again, from the bytes that are kept.
    case retry
    /// Resume at once, regardless of the schedule, and retry a failed one.
    case runNow
}

/// The detail of a `transferCancelled` event.
struct CancelDetail: Codable {
    var by: Canceller
}

/// The outcome for one transfer of a selection, as a case; its message is made above.
package struct WantOutcome: Hashable, Sendable {
    package enum Result: Hashable, Sendable {
        case changed
        /// The transfer was as wanted already.
        case unchanged
        /// The transfer has ended, in a state from which the change does not lead.
        case hasEnded(TransferState)
        /// Another live transfer has reserved its destination.
        case destinationTaken(String, by: TransferID)
        /// `--on-duplicate replace` has cancelled it, and it was not named: nothing was changed.
        case replaced(by: TransferID)
        /// The transfer's deadline is a moment, and over: it would fail at once.
        case deadlinePassed
        /// The snapshot of the file that it is to send was deleted when it was cancelled.
        case snapshotGone
        /// The upload's POST may have been carried out, and may not be sent twice.
        case answerLost
        case noSuchTransfer
    }

    package var id: TransferID
    package var result: Result

    package init(id: TransferID, result: Result) {
        self.id = id
        self.result = result
    }
}

/// How the wants of one transfer are rewritten: a pure function, so that its rules can be read and
/// tested as a table.
enum WantRewrite: Equatable {
    case set(Want)
    /// Set, and request that the engine queues an ended transfer again.
    case rearm(Want)
    /// The transfer is wanted already; a pause that holds it ends now.
    case hasten
    case unchanged
    case refuse(TransferState)

    static func of(
        _ change: WantedChange, phase: Phase, want: Want, pending: Bool
    ) -> WantRewrite {
        let state = shownState(phase: phase, want: want, pending: pending)
        switch change {
        case .pause: return pause(state, want)
        case .cancel(let keepBytes):
            return cancel(state, want, keepBytes ? .cancelKeepingBytes : .cancel)
        case .resume, .runNow:
            return again(state, want, revivesCancelled: false, isEnded: isEnded(phase, pending))
        case .retry:
            return again(state, want, revivesCancelled: true, isEnded: isEnded(phase, pending))
        }
    }

    private static func isEnded(_ phase: Phase, _ pending: Bool) -> Bool {
        phase.hasEnded && !pending
    }

    private static func pause(_ state: TransferState, _ want: Want) -> WantRewrite {
        if state.hasEnded { return .refuse(state) }
        return want == .pause ? .unchanged : .set(.pause)
    }

    private static func cancel(
        _ state: TransferState, _ want: Want, _ wanted: Want
    ) -> WantRewrite {
        if state.hasEnded { return .refuse(state) }
        return want == wanted ? .unchanged : .set(wanted)
    }

    private static func again(
        _ state: TransferState, _ want: Want, revivesCancelled: Bool, isEnded: Bool
    ) -> WantRewrite {
        switch state {
        case .completed:
            return .refuse(state)
        case .failed:
            return .rearm(.run)
        case .cancelled:
            if !revivesCancelled { return .refuse(state) }
            // A cancel that no engine has applied yet is withdrawn.
            return isEnded ? .rearm(.run) : .set(.run)
        case .paused:
            return .set(.run)
        case .waiting:
            return want == .run ? .hasten : .set(.run)
        case .running:
            return want == .run ? .unchanged : .set(.run)
        }
    }
}
