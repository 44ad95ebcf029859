package import LonghaulCore

/// The displayed state, derived from the wants and from the engine's records; derived only here.
///
/// - `pending`: a `resume` or `retry` of an ended transfer that the engine has not applied yet.
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
