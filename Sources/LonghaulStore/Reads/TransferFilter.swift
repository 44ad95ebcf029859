package import LonghaulCore

/// Which transfers a list shows.
package struct TransferFilter: Hashable, Sendable {
    /// How long an ended transfer counts as recent.
    package static let recentSeconds: Double = 86_400
    package static let defaultLimit = 50

    /// `nil`: those that have not ended, and if room is left, those that ended within a day.
    package var states: Set<TransferState>?
    package var session: String?
    /// The most transfers, the newest first.
    package var limit: Int

    package init(
        states: Set<TransferState>? = nil, session: String? = nil,
        limit: Int = TransferFilter.defaultLimit
    ) {
        self.states = states
        self.session = session
        self.limit = limit
    }
}
