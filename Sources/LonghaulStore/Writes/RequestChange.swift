package import LonghaulModel

/// The changes of `set` to a transfer, checked: the URL with its origin, the fields it gives, and
/// an edit of the stored request. `nil` keeps a value.
@dynamicMemberLookup
package struct RequestChange: Sendable {
    /// A new URL and its origin. The bytes are kept; the next request proves whether they still
    /// fit.
    package var url: (url: String, origin: String)?
    /// Another destination of a download, the same path without links where that differs, and its
    /// disk.
    package var destination: (path: String, realPath: String?, disk: MountedDisk?)?
    /// A relative deadline counts from this change, or from the moment the transfer may begin.
    package var fields = PartialRequest()
    /// Edits the options; throws if the result is not allowed.
    package var editOptions: (@Sendable (inout TransferOptions) throws(LonghaulError) -> Void)?
    /// Finishes the request as a whole, or throws if the result is not allowed. The origin of its
    /// URL stays.
    package var finish: (@Sendable (inout TransferRequest) throws(LonghaulError) -> Void)?
    /// Throws why the recorded request may not become the new one; see ``RequestReview``.
    package var review:
        (
            @Sendable (_ before: TransferRequest, _ after: TransferRequest) throws(LonghaulError) ->
                Void
        )?

    package init() {}

    package subscript<Value>(
        dynamicMember path: WritableKeyPath<TransferRequest, Value>
    ) -> Value? {
        get { fields[path] }
        set { fields[path] = newValue }
    }

    package subscript<Value>(
        dynamicMember path: WritableKeyPath<TransferSchedule, Value>
    ) -> Value? {
        get { fields[path] }
        set { fields[path] = newValue }
    }
}

extension RequestChange {
    fileprivate func apply(to request: inout TransferRequest) throws(LonghaulError) {
        if let url { request.url = url.url }
        if let destination {
            request.destination = .file(destination.path)
            request.options.remoteName = false
            request.options.disk = destination.disk
        }
        fields.apply(to: &request)
        try editOptions?(&request.options)
        try finish?(&request)
    }
}

extension WantWriter {
    /// Changes a transfer that is not completed, durably. An ended one then waits for `resume` or
    /// `retry`; the engine checks a running one.
    ///
    /// Throws `noSuchTransfer`, `conflict` for a completed one or where the destination is another
    /// transfer's, and `internal` for one whose options cannot be read: they would be lost.
    package func change(
        _ id: TransferID, _ change: RequestChange, now: Timestamp
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let found = try WorkRecord.find(id, connection)
            guard let work = found else { throw LonghaulError.noSuchTransfer(id) }
            guard work.phase != .completed else {
                throw LonghaulError(
                    .conflict,
                    "it is completed and can no longer be changed; enqueue another",
                    transferID: id)
            }
            if work.isUnreadable { throw work.unreadable }
            var changed = work
            try change.apply(to: &changed.request)
            try change.review?(work.request, changed.request)
            if max(work.request.options.spread, changed.request.options.spread) > 0 {
                let machine = try TaskRows(connection).place()
                StartSpread(id, machine: machine).apply(
                    to: &changed.request, insteadOf: work.request,
                    saysBegin: change.earliestBegin != nil, now: now)
            }
            let isMoved = changed.request.earliestBegin != work.request.earliestBegin
            if isMoved || change.earliestBegin != nil || change.deadline != nil {
                try changed.request.deadline.check(earliest: changed.request.earliestBegin)
            }
            if let (path, realPath, _) = change.destination {
                let reservation = Reservation(realPath ?? path)
                let inserter = try TransferInserter(connection, now: now)
                if let holder = try inserter.holder(of: reservation), holder != id {
                    throw LonghaulError.taken(path, by: holder)
                }
                try RequestRows(connection).move(id, to: path, reservation)
            }
            try RequestRows(connection).save(changed, insteadOf: work, change, now: now)
            try IntentRows(connection).add(id)
        }
    }
}

/// Rewrites the requests of transfers.
struct RequestRows: ConnectionRows {
    let connection: Connection

    /// Gives a download another destination.
    func move(_ id: TransferID, to path: String, _ reservation: Reservation) throws {
        try connection.run(
            """
            UPDATE transfer SET destination = ?2, realPath = nullif(?3, ?2), reservationKey = ?4 \
            WHERE id = ?1
            """, id, path, reservation.text, reservation.key)
    }

    /// The instants that follow from the wants (`deadline`, and `readyAt` of a transfer that is
    /// queued) are rewritten with them, so that they hold with no engine running.
    func save(
        _ work: TransferWork, insteadOf old: TransferWork, _ change: RequestChange, now: Timestamp
    ) throws {
        let request = work.request
        let begin = max(now, request.earliestBegin ?? now)
        var deadline = work.deadline
        let isMoved =
            change.earliestBegin != nil || request.earliestBegin != old.request.earliestBegin
        if change.deadline != nil || isMoved {
            deadline = request.deadline.resolved(mayBegin: begin)
        }
        let origin = change.url?.origin ?? work.origin
        let waits = try waits(work, insteadOf: old)
        let schedule = schedule(of: work, insteadOf: old, origin, begin, deadline, waits: waits)
        let originID = try TransferRows(connection).id(ofOrigin: origin)
        let calendars = CalendarRows(connection)
        try connection.run(
            """
            UPDATE transfer SET url = ?2, originID = ?3, priority = ?4, schedule = ?5, \
            earliest = ?6, deadline = ?7, deadlineAt = ?8, deadlineAfter = ?9, \
            expectedBytes = ?10, options = ?11, eligibility = ?12, waiveAt = ?13, waiveBy = ?14, \
            identityKey = ?15, notice = iif(?16, coalesce(notice, id), NULL) WHERE id = ?1
            """, work.id, request.url, originID, request.priority.rawValue,
            calendars.stored(schedule.requested), request.earliestBegin, deadline,
            request.deadline.instant,
            request.deadline.seconds, request.expectedBytes, request.options.stored,
            calendars.stored(schedule.eligibility), schedule.waiver?.checkAt, schedule.waiver?.by,
            IdentityKey.of(request.url, origin: originID), request.options.notifies)
        if change.url != nil { try SentFileRows(connection).forget(work.request) }
        if isMoved, work.phase == .queued {
            try connection.run(
                "UPDATE transfer SET readyAt = ?2, waitReason = NULL WHERE id = ?1", work.id,
                begin > now ? begin.milliseconds : 0)
        }
    }

    /// Records the transfers that this one waits for. Returns whether there are any.
    private func waits(_ work: TransferWork, insteadOf old: TransferWork) throws -> Bool {
        let (options, before) = (work.request.options, old.request.options)
        if options.after == before.after { return work.eligibility.waitsForTransfers }
        return try TransferDependencies(connection).replace(
            with: options.after, anyEnd: options.afterAny, of: work.id)
    }

    /// Waived preferences stay waived, unless their basis has changed.
    ///
    /// - Parameter waits: For other transfers.
    private func schedule(
        of work: TransferWork, insteadOf old: TransferWork, _ origin: String, _ begin: Timestamp,
        _ deadline: Timestamp, waits: Bool
    ) -> StoredSchedule {
        let (new, old) = (work.request, old.request)
        var stored = StoredSchedule(
            new, usesNetwork: !Loopback.isLoopback(origin: origin), begin: begin,
            deadline: deadline, waitsForTransfers: waits)
        let isSame =
            new.schedule == old.schedule && new.isDiscretionary == old.isDiscretionary
            && new.earliestBegin == old.earliestBegin && new.deadline == old.deadline
            && new.options.waiveAfter == old.options.waiveAfter
        if isSame {
            if work.waiver == nil { stored.eligibility = stored.eligibility.waived }
            stored.waiver = work.waiver
        }
        if work.eligibility.runsNow, !waits {
            stored.eligibility = stored.eligibility.now
            stored.waiver = nil
        }
        return stored
    }
}
