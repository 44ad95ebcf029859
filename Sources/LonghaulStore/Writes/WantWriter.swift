package import LonghaulModel

/// Transfers whose wants one transaction changes.
private let changesPerTransaction = 10_000

/// Writes the wants of clients: new transfers, and changes of existing ones.
package struct WantWriter {
    let store: Store

    /// Records the wanted state of each transfer of a selection, durably, and puts changed ones
    /// into the engine's inbox.
    ///
    /// `all` and `session` concern the transfers that the change applies to; the others are not in
    /// the result, except for replaced ones: `retry` leaves them unchanged. Of several with one
    /// destination the newest is retried. Ids that are named are all in the result, in their order.
    /// A selection of more than 10,000 is changed in several transactions.
    ///
    /// - Parameters:
    ///   - canceller: Recorded with a cancel.
    ///   - now: Transfers with a fixed deadline before it are not re-armed; `nil` = no check.
    package func change(
        _ selection: Selection, to change: WantedChange, by canceller: Canceller = .library,
        now: Timestamp? = nil
    ) throws(LonghaulError) -> [WantOutcome] {
        var isNamed = false
        if case .ids = selection { isNamed = true }
        // The newest first: what two ended ones had reserved goes to the first.
        let ids =
            try isNamed
            ? ids(of: selection, for: change) : ids(of: selection, for: change).reversed()
        var outcomes: [WantOutcome] = []
        outcomes.reserveCapacity(ids.count)
        var rearmed: [ExactText: TransferID] = [:]
        var start = 0
        while start < ids.count {
            let end = min(start + changesPerTransaction, ids.count)
            outcomes += try store.write(.durable) { connection in
                try ids[start..<end].map { id in
                    if !isNamed, change == .retry,
                        let other = try WantRows(connection, canceller).replacement(of: id)
                    {
                        return WantOutcome(id: id, result: .replaced(by: other))
                    }
                    return WantOutcome(
                        id: id,
                        result: try WantRows(connection, canceller).rewrite(
                            id, change, &rearmed, now: now))
                }
            }
            start = end
        }
        if isNamed { return outcomes }
        return outcomes.reversed().filter {
            switch $0.result {
            case .changed, .replaced: true
            case .unchanged, .hasEnded, .destinationTaken, .deadlinePassed, .snapshotGone,
                .answerLost, .noSuchTransfer:
                false
            }
        }
    }

    /// Exchanges the turns of waiting transfers, so that they come in this order, durably. The
    /// turns of all others remain unchanged.
    package func arrange(_ ids: [TransferID]) throws(LonghaulError) {
        try store.write(.durable) { try PlaceRows($0).arrange(ids) }
    }

    /// The places of transfers that were moved, see ``Candidate/place``.
    package func places() throws(LonghaulError) -> [TransferID: Int64] {
        try store.access { try PlaceRows($0).all() }
    }

    /// Waiting and paused transfers in the order of their turns.
    package func order(limit: Int) throws(LonghaulError) -> [TransferID] {
        try store.snapshot { try PlaceRows($0).turns(limit: limit).map(\.id) }
    }

    /// See ``PlaceRows/move(_:_:of:atMost:)``.
    package func move(
        _ id: TransferID, _ side: QueueSide, of other: TransferID, atMost most: Int
    ) throws(LonghaulError) {
        try store.write(.durable) { try PlaceRows($0).move(id, side, of: other, atMost: most) }
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
        case .runNow: states = [.waiting, .running, .paused, .failed]
        }
        return try store.snapshot { connection in
            var result: [TransferID] = []
            for stream in try TransferScans(connection).streams(session: session, states: states) {
                result += try TransferScans(connection).ids(of: stream, below: .max, limit: .max)
            }
            return Array(Set(result)).sorted()
        }
    }
}

extension Store {
    /// Writes the wants of clients.
    package var wants: WantWriter { WantWriter(store: self) }
}

/// Rewrites the wanted state of transfers.
private struct WantRows {
    let connection: Connection
    let canceller: Canceller

    private var rows: TransferRows { TransferRows(connection) }

    init(_ connection: Connection, _ canceller: Canceller) {
        self.connection = connection
        self.canceller = canceller
    }

    /// - Parameter rearmed: Destinations of transfers that were re-armed before, in the same call.
    func rewrite(
        _ id: TransferID, _ change: WantedChange, _ rearmed: inout [ExactText: TransferID],
        now: Timestamp?
    ) throws -> WantOutcome.Result {
        let found = try connection.first(
            "SELECT phase, want, rearm > rearmed FROM transfer WHERE id = ?1", id
        ) { (try $0.phase(0), try $0.want(1), $0[2] as Bool) }
        guard let (phase, want, pending) = found else { return .noSuchTransfer }
        let rewrite = WantRewrite.of(change, phase: phase, want: want, pending: pending)
        switch rewrite {
        case .unchanged, .hasten:
            if change != .runNow {
                if rewrite == .hasten { try IntentRows(connection).add(id) }
                return .unchanged
            }
        case .refuse(let state):
            return .hasEnded(state)
        case .set(let wanted):
            try connection.run(
                "UPDATE transfer SET want = ?2, replacedBy = NULL, cancelledBy = ?3 WHERE id = ?1",
                id, wanted.rawValue, wanted.isCancel ? canceller.rawValue : nil)
        case .rearm(let wanted):
            if let now, try rows.hasFixedDeadline(id, before: now) { return .deadlinePassed }
            if let obstacle = try obstacle(to: id, &rearmed) { return obstacle }
            try rows.rearm(id, wanting: wanted)
        }
        try rows.setRunsNow(change == .runNow, id)
        try IntentRows(connection).add(id)
        return .changed
    }

    /// The transfer that replaced it, until it is re-armed.
    func replacement(of id: TransferID) throws -> TransferID? {
        try connection.value("SELECT replacedBy FROM transfer WHERE id = ?1 AND replacedBy > 0", id)
    }

    /// Why an ended one cannot be re-armed: it has nothing to send, or another transfer has
    /// reserved its destination. Under `rename` each finally gets a separate name.
    private func obstacle(
        to id: TransferID, _ rearmed: inout [ExactText: TransferID]
    ) throws -> WantOutcome.Result? {
        guard let work = try WorkRecord.find(id, connection) else { return nil }
        if work.request.options.upload?.snapshotPath != nil,
            try !SnapshotRows(connection).hasOne(id)
        {
            return .snapshotGone
        }
        if try work.mayHaveArrived(connection) { return .answerLost }
        if work.request.options.ifExists == .rename { return nil }
        guard let reservation = try rows.reservation(of: id) else { return nil }
        let text = ExactText(reservation.text)
        if let other = try rows.holder(of: reservation) ?? rearmed[text], other != id {
            return .destinationTaken(work.path, by: other)
        }
        rearmed[text] = id
        return nil
    }
}
