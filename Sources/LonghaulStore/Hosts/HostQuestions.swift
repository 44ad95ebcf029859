package import LonghaulModel

/// Why a transfer needs an answer. Stored; never renumber.
enum InputKind {
    /// The link or the credentials of the transfer are refused: it waits for others.
    static let expired = 1
    /// The transfer is about to begin, and its host wants to be asked first.
    static let delayed = 2
}

/// The detail of a `transferNeedsInput` event.
package struct InputDetail: Codable, Sendable {
    package enum Reason: String, Codable, Sendable {
        case expired, delayedRequest
    }

    package var reason: Reason
    package var error: LonghaulError?
}

/// Questions to hosts about transfers: the engine's part, inside a transaction.
package struct HostQuestions {
    let transfers: TransferStatus
    let log: LogWriter
    private var connection: Connection { log.connection }

    fileprivate init(transfers: TransferStatus, log: LogWriter) {
        self.transfers = transfers
        self.log = log
    }

    /// Statuses that another URL or other credentials may resolve.
    private static let answerable: Set<Int> = [401, 403, 404, 410]

    /// The server has refused the request. A transfer whose session has a host keeps its bytes and
    /// waits for an answer, with an event; another one fails. Returns whether it waits.
    package func needInput(
        _ id: TransferID, error: LonghaulError, numbers: TransferTotals, now: Timestamp
    ) throws -> Bool {
        let hasHost: Bool? = try connection.value(
            """
            SELECT s.host IS NOT NULL FROM transfer t JOIN session s ON s.id = t.sessionID \
            WHERE t.id = ?1
            """, id)
        guard hasHost == true, let status = error.httpStatus, Self.answerable.contains(status)
        else {
            try transfers.fail(id, error: error, numbers: numbers, now: now)
            return false
        }
        let wait = WaitReason(
            .input, required: "another URL or credentials", current: error.message, since: now)
        try connection.run(
            """
            UPDATE transfer SET phase = 0, readyAt = ?2, waitReason = ?3, input = ?4 \
            WHERE id = ?1 AND ended = 0
            """, id, Timestamp.distantFuture, StoredJSON.encode([wait]), InputKind.expired)
        try log.append(
            .transferNeedsInput, of: id,
            detail: StoredJSON.encode(InputDetail(reason: .expired, error: error)), now: now)
        return true
    }

    /// How long a transfer waits after an answer that its host has given: the first one of an hour
    /// is tried at once, each further one later. `nil` = not at all. A host that always answers
    /// `continue` would else be asked without end.
    package func pause(after id: TransferID, now: Timestamp) throws -> Double? {
        let questions: Int? = try connection.value(
            """
            SELECT count(*) FROM event INDEXED BY eventByTransfer \
            WHERE transferID = ?1 AND type = ?2 AND at > ?3
            """, id, EventType.transferNeedsInput.rawValue, now + -Limits.answersCountedSeconds)
        guard let questions, questions > 1 else { return nil }
        return TaskTiming.delay(afterDeferrals: questions - 1)
    }

    static let asking = """
        SELECT t.id, coalesce(h.eventBudget, ?3) FROM (\(TransferTimers.due)) d \
        CROSS JOIN transfer t ON t.id = d.id \
        JOIN session s ON s.id = t.sessionID JOIN host h ON h.name = s.host \
        WHERE t.asked = 0 AND t.want = 0 AND t.earliest IS NOT NULL AND t.startedAt IS NULL \
        AND s.askBeforeStart = 1
        """

    /// Lets transfers that were postponed and are now due wait longer if their host wants to be
    /// asked: until it has answered, or for the time of a launch and the one before it. Each is
    /// asked about once. Returns how many.
    ///
    /// Asks about the first `limit` that are due and about no others:
    /// ``TransferTimers/promoteDue(_:limit:)`` may then promote as many as are left.
    package func askHosts(_ now: Timestamp, limit: Int) throws -> Int {
        let found = try connection.all(
            HostQuestions.asking, now, limit, HostSettings.defaultEventBudget
        ) { ($0[0] as TransferID, $0[1] as Double) }
        for (id, budget) in found {
            let until = now + 2 * budget
            let wait = WaitReason(
                .input, required: "a word of its host", current: "asked", since: now,
                nextCheck: until)
            try connection.run(
                """
                UPDATE transfer SET asked = 1, input = ?4, readyAt = ?2, waitReason = ?3 \
                WHERE id = ?1
                """, id, until, StoredJSON.encode([wait]), InputKind.delayed)
            try log.append(
                .transferNeedsInput, of: id,
                detail: StoredJSON.encode(InputDetail(reason: .delayedRequest)), now: now)
        }
        return found.count
    }
}

extension EngineTransaction {
    /// Transfers that need an answer of their host.
    package var questions: HostQuestions {
        HostQuestions(transfers: transfers, log: log)
    }
}
