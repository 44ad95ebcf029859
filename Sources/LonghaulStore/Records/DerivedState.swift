package import LonghaulCore

/// The state that is shown, from what is wanted and what the engine has recorded: the only place
/// that derives it.
///
/// - `pending`: a `resume` or `retry` of an ended transfer that the engine has not carried out yet.
package func shownState(phase: Phase, want: Want, pending: Bool) -> TransferState {
    switch phase {
    case .completed:
        return .completed
    case .failed where !pending:
        return .failed
    case .cancelled where !pending:
        return .cancelled
    case .queued, .failed, .cancelled:
        return stateByWant(want, moving: false)
    case .running:
        return stateByWant(want, moving: true)
    }
}

private func stateByWant(_ want: Want, moving: Bool) -> TransferState {
    switch want {
    case .run: moving ? .running : .waiting
    case .pause: .paused
    case .cancel, .cancelKeepingBytes: .cancelled
    }
}
