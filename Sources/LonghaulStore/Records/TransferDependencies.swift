import LonghaulCore

/// The transfers that must complete before a job runs.
struct TransferDependencies {
    let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// The effect of a transfer on what waits for it.
    enum Standing {
        case isOpen
        case isCompleted
        /// It failed, was cancelled, or was removed before that was seen.
        case isMissed
    }

    func standing(of id: TransferID) throws -> Standing {
        switch try state(of: id) {
        case .completed: .isCompleted
        case .waiting, .running, .paused: .isOpen
        case .failed, .cancelled, nil: .isMissed
        }
    }

    /// The transfers among them that have not completed.
    ///
    /// - Throws: `noSuchTransfer`; `conflict` for one that can complete only after a `retry`.
    func open(among ids: [TransferID]) throws -> [TransferID] {
        try ids.filter { id in
            guard let known = try state(of: id) else { throw LonghaulError.noSuchTransfer(id) }
            if known == .failed || known == .cancelled {
                throw LonghaulError(
                    .conflict, "it is \(known.rawValue); `longhaul retry \(id)` takes it up again",
                    transferID: id)
            }
            return known != .completed
        }
    }

    private func state(of id: TransferID) throws -> TransferState? {
        try connection.first(
            "SELECT phase, want, rearm > rearmed FROM transfer WHERE id = ?1", id
        ) { shownState(phase: try $0.phase(0), want: try $0.want(1), pending: $0.bool(2)) }
    }

    // MARK: - Stored

    static func text(_ ids: [TransferID]) -> String? {
        ids.isEmpty ? nil : ids.map(\.description).joined(separator: ",")
    }

    static func ids(_ text: String) -> [TransferID] {
        text.split(separator: ",").compactMap { TransferID(String($0)) }
    }
}
