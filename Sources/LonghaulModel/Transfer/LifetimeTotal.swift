/// Figures that only rise, even if transfers are removed: rows `total.NAME` of `setting`, which
/// every engine of the store adds to.
package enum LifetimeTotal: Hashable, Sendable {
    /// Body bytes of downloads.
    case received
    /// Body bytes of uploads.
    case sent
    /// Requests that have ended.
    case attempts
    case restarts
    case failures(LonghaulError.Code)
    /// Times that a transfer was put back to wait for this.
    case waits(WaitReason.Reason)

    /// The total's name in the store.
    package var name: String {
        switch self {
        case .received: "received"
        case .sent: "sent"
        case .attempts: "attempts"
        case .restarts: "restarts"
        case .failures(let code): "failures.\(code.rawValue)"
        case .waits(let reason): "waits.\(reason.rawValue)"
        }
    }

    package init?(name: String) {
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        switch (parts.first, parts.dropFirst().first) {
        case ("received", nil): self = .received
        case ("sent", nil): self = .sent
        case ("attempts", nil): self = .attempts
        case ("restarts", nil): self = .restarts
        case ("failures", let code?): self = .failures(LonghaulError.Code(rawValue: code))
        case ("waits", let word?):
            guard let reason = WaitReason.Reason(rawValue: word) else { return nil }
            self = .waits(reason)
        case (.some, _), (nil, _): return nil
        }
    }
}
