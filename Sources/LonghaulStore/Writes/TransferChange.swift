package import LonghaulCore

/// What `set` changes of a transfer. `nil` leaves a thing as it is.
package struct TransferChange: Sendable {
    /// A new URL and its origin. The bytes are kept; the next request proves whether they still
    /// fit.
    package var url: (url: String, origin: String)?
    package var priority: Priority?
    package var isDiscretionary: Bool?
    /// `.some(nil)` = at once.
    package var earliestBegin: Timestamp??
    /// A relative one counts from this change, or from the moment the transfer may begin.
    package var deadline: Deadline?
    package var expectedBytes: Int64??
    /// Edits headers, rate, checksum and whatever else the options hold.
    package var editOptions: (@Sendable (inout TransferOptions) -> Void)?

    package init() {}
}

extension Store {
    /// Changes a transfer that is not completed, durably. An ended one then waits for `resume` or
    /// `retry`; a running one is looked at by the engine.
    ///
    /// Throws `noSuchTransfer`, and `conflict` for a completed one.
    package func change(
        _ id: TransferID, _ change: TransferChange, now: Timestamp
    ) throws(LonghaulError) {
        try write(.durable) { connection in
            let found = try connection.first(WorkRecord.select, id, read: WorkRecord.read)
            guard var work = found else { throw noSuchTransfer(id) }
            guard work.phase != .completed else {
                throw LonghaulError(
                    .conflict,
                    "transfer \(id) is completed and can no longer be changed. Enqueue another.",
                    transferID: id)
            }
            change.apply(to: &work.request)
            try connection.saveRequest(of: work, change, now: now)
            try connection.callAttention(to: id)
        }
    }
}

func noSuchTransfer(_ id: TransferID) -> LonghaulError {
    LonghaulError(.noSuchTransfer, "there is no transfer \(id).", transferID: id)
}

extension TransferChange {
    fileprivate func apply(to request: inout TransferRequest) {
        if let url { request.url = url.url }
        if let priority { request.priority = priority }
        if let isDiscretionary { request.isDiscretionary = isDiscretionary }
        if let earliestBegin { request.earliestBegin = earliestBegin }
        if let deadline { request.deadline = deadline }
        if let expectedBytes { request.expectedBytes = expectedBytes }
        editOptions?(&request.options)
    }
}

extension Connection {
    /// The instants that follow from the wants (`deadline`, and `readyAt` of a transfer that is
    /// queued) are rewritten with them, so that they hold with no engine running.
    fileprivate func saveRequest(
        of work: TransferWork, _ change: TransferChange, now: Timestamp
    ) throws {
        let request = work.request
        let begin = max(now, request.earliestBegin ?? now)
        var deadline = work.deadline
        if change.deadline != nil || change.earliestBegin != nil {
            deadline = request.deadline.resolved(mayBegin: begin)
        }
        var origin = try id(ofOrigin: work.origin)
        if let url = change.url { origin = try id(ofOrigin: url.origin) }
        try run(
            """
            UPDATE transfer SET url = ?2, originID = ?3, priority = ?4, discretionary = ?5, \
            earliest = ?6, deadline = ?7, deadlineAt = ?8, deadlineAfter = ?9, \
            expectedBytes = ?10, options = ?11 WHERE id = ?1
            """, work.id, request.url, origin, request.priority.rawValue,
            request.isDiscretionary, request.earliestBegin, deadline, request.deadline.instant,
            request.deadline.seconds, request.expectedBytes, request.options.stored)
        if change.earliestBegin != nil, work.phase == .queued {
            try run(
                "UPDATE transfer SET readyAt = ?2, waitReason = NULL WHERE id = ?1", work.id,
                begin > now ? begin.milliseconds : 0)
        }
    }
}
