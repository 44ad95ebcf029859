package import LonghaulCore

extension Store {
    /// Transfers that one transaction changes at most: a larger selection is changed in several, so
    /// that the engine is not kept waiting.
    private static let changesPerTransaction = 10_000

    /// Records what is wanted of each transfer of a selection, durably, and puts those that change
    /// into the engine's inbox.
    ///
    /// `all` and `session` concern the transfers that the change leads somewhere for; the others
    /// are not in the result. Ids that are named are all in the result, in their order. A selection
    /// of more than 10,000 is changed in several transactions.
    ///
    /// - Parameter now: What has a fixed deadline before it is not re-armed; `nil` = nobody looks.
    package func change(
        _ selection: Selection, to change: WantedChange, now: Timestamp? = nil
    ) throws(LonghaulError) -> [ChangeOutcome] {
        let ids = try ids(of: selection, for: change)
        var outcomes: [ChangeOutcome] = []
        outcomes.reserveCapacity(ids.count)
        var rearmed: [ExactText: TransferID] = [:]
        var start = 0
        while start < ids.count {
            let end = min(start + Self.changesPerTransaction, ids.count)
            outcomes += try write(.durable) { connection in
                try ids[start..<end].map {
                    ChangeOutcome(
                        id: $0, result: try connection.rewrite($0, change, &rearmed, now: now))
                }
            }
            start = end
        }
        switch selection {
        case .ids: return outcomes
        case .all, .session: return outcomes.filter { $0.result == .changed }
        }
    }

    private func ids(
        of selection: Selection, for change: WantedChange
    ) throws(LonghaulError) -> [TransferID] {
        let session: String?
        switch selection {
        case .ids(let ids): return ids
        case .all: session = nil
        case .session(let name): session = name
        }
        let states: Set<TransferState>
        switch change {
        case .pause, .cancel: states = [.waiting, .running, .paused]
        case .resume: states = [.paused, .failed]
        case .retry: states = [.failed, .cancelled]
        }
        return try snapshot { connection in
            var result: [TransferID] = []
            for stream in try connection.streams(session: session, states: states) {
                result += try connection.ids(of: stream, below: .max, limit: .max)
            }
            return Array(Set(result)).sorted()
        }
    }
}

extension Connection {
    /// - Parameter rearmed: Destinations of those that were re-armed before, in the same call.
    fileprivate func rewrite(
        _ id: TransferID, _ change: WantedChange, _ rearmed: inout [ExactText: TransferID],
        now: Timestamp?
    ) throws -> ChangeOutcome.Result {
        let found = try first(
            "SELECT phase, want, rearm > rearmed FROM transfer WHERE id = ?1", id
        ) { (try $0.phase(0), try $0.want(1), $0.bool(2)) }
        guard let (phase, want, pending) = found else { return .noSuchTransfer }
        switch WantRewrite.of(change, phase: phase, want: want, pending: pending) {
        case .unchanged:
            return .unchanged
        case .refuse(let state):
            return .hasEnded(state)
        case .set(let wanted):
            try run("UPDATE transfer SET want = ?2 WHERE id = ?1", id, wanted)
        case .hasten:
            try callAttention(to: id)
            return .unchanged
        case .rearm(let wanted):
            if let now, try hasFixedDeadline(id, before: now) { return .deadlinePassed }
            if let taken = try rival(of: id, &rearmed) { return taken }
            try run(
                "UPDATE transfer SET want = ?2, rearm = rearm + 1 WHERE id = ?1", id, wanted)
        }
        try callAttention(to: id)
        return .changed
    }

    /// A span would begin anew.
    private func hasFixedDeadline(_ id: TransferID, before now: Timestamp) throws -> Bool {
        try first("SELECT deadlineAt <= ?2 FROM transfer WHERE id = ?1", id, now) { $0.bool(0) }
            ?? false
    }

    /// Whoever has reserved the destination of one that has ended. Under `rename` each finds a name
    /// of its own in the end.
    private func rival(
        of id: TransferID, _ rearmed: inout [ExactText: TransferID]
    ) throws -> ChangeOutcome.Result? {
        guard let work = try first(WorkRecord.select, id, read: WorkRecord.read),
            work.request.options.ifExists != .rename
        else { return nil }
        let path = work.destination
        let realPath = try first("SELECT realPath FROM transfer WHERE id = ?1", id) {
            $0.optionalText(0) ?? path
        }
        guard let realPath else { return nil }
        if let other = try holder(of: realPath) ?? rearmed[ExactText(realPath)], other != id {
            return .destinationTaken(path, by: other)
        }
        rearmed[ExactText(realPath)] = id
        return nil
    }

    func callAttention(to id: TransferID) throws {
        try run("INSERT OR IGNORE INTO intentInbox (transferID) VALUES (?1)", id)
    }
}

extension StoredRow {
    /// A number that means no phase can only come from damage.
    func phase(_ column: Int32) throws -> Phase {
        guard let phase = Phase(rawValue: int(column)) else { throw damage("phase") }
        return phase
    }

    func want(_ column: Int32) throws -> Want {
        guard let want = Want(rawValue: int(column)) else { throw damage("want") }
        return want
    }

    func damage(_ what: String) -> LonghaulError {
        StoreFailure.unavailable(
            "a row of the queue makes no sense (\(what)). Run `longhaul doctor --repair`.")
    }
}
