package import LonghaulCore

/// A transfer as the engine sees it: its wants and its status, with all fields.
package struct TransferWork: Hashable, Sendable {
    package var id: TransferID
    package var request: TransferRequest
    /// The options or the windows are damaged, or of a later version: `request` has none, and may
    /// be neither carried out nor stored.
    package var isUnreadable: Bool
    /// Name of the origin of the request's URL.
    package var origin: String
    /// Absolute path of the local file: the destination of a download, the source of an upload.
    package var path: String
    package var want: Want
    package var phase: Phase
    /// A `resume` or `retry` of the ended transfer is not applied yet
    /// (``TransferStatus/rearm(_:now:)``).
    package var isRearmPending: Bool
    package var fetchID: FetchID?
    /// The fetch that has served it together with other transfers.
    package var sharedFetch: FetchID?
    /// See ``Subscriber/partSuffix``.
    package var partSuffix: Int
    /// The key by which transfers are found whose request may be equal.
    package var identityKey: Int64
    package var createdAt: Timestamp
    /// The time of its first claim.
    package var startedAt: Timestamp?
    package var finishedAt: Timestamp?
    /// The deadline as an instant.
    package var deadline: Timestamp
    /// The key of the transfer in the queue.
    package var eligibility: EligibilityKey
    /// When its preferences are checked; `nil` = it has none that count.
    package var waiver: PreferenceExpiry?
    /// The moment since which it may begin as far as time goes.
    package var waitingSince: Timestamp
    /// `nil` = ready now.
    package var readyAt: Timestamp?
    package var waitingFor: [WaitReason]
    package var error: LonghaulError?
    package var numbers: TransferTotals
    /// Where the first of the programs begins that read its bytes as they come; `nil` = none reads.
    package var readFrom: Int64?
}

extension TransferWork {
    package var isUpload: Bool { request.options.upload != nil }

    /// Why an unreadable transfer is not carried out: without its headers or its checksum it would
    /// be another request.
    package var unreadable: LonghaulError {
        LonghaulError(
            .internal,
            "its options cannot be read: they are damaged, or a later version has written them;"
                + " remove it and add it again, or retry it with that version", transferID: id)
    }
}

enum WorkRecord {
    static func find(_ id: TransferID, _ connection: Connection) throws -> TransferWork? {
        try connection.first(select, id, read: read)
    }

    static let select = """
        SELECT t.id, t.phase, t.want, t.rearm > t.rearmed, t.url, coalesce(t.destination, t.source), s.name, o.name, \
        t.priority, t.schedule, t.earliest, t.deadline, t.deadlineAt, t.deadlineAfter, \
        t.expectedBytes, t.options, t.created, t.startedAt, t.finishedAt, t.readyAt, t.waitReason, \
        t.fetchID, t.error, t.bytesTotal, t.bytesDone, t.bytesFetched, t.attempts, \
        t.restarts, t.eligibility, t.waiveAt, t.waiveBy, coalesce(t.readySince, t.created), \
        t.identityKey, t.sharedFetch, t.partSuffix, \
        (SELECT min(start) FROM reader INDEXED BY readerByTransfer WHERE transfer = t.id), \
        \(CalendarRows.windows("t.schedule")) \
        FROM transfer t JOIN session s ON s.id = t.sessionID \
        JOIN origin o ON o.id = t.originID WHERE t.id = ?1
        """

    static func read(_ row: StoredRow) throws -> TransferWork {
        let path = row.text(5)
        let options = TransferOptions(stored: row.optionalText(15))
        let readyAt = row.timestamp(19)
        return TransferWork(
            id: row.transferID(0),
            request: request(row, path, options ?? TransferOptions()),
            isUnreadable: options == nil || !CalendarRows.isReadable(row, 9, windows: 36),
            origin: row.text(7), path: path,
            want: try row.want(2), phase: try row.phase(1),
            isRearmPending: row.bool(3),
            fetchID: row.optionalInt64(21).map(FetchID.init(rawValue:)),
            sharedFetch: row.optionalInt64(33).map(FetchID.init(rawValue:)),
            partSuffix: row.count(34), identityKey: row.int64(32),
            createdAt: row.timestamp(16),
            startedAt: row.optionalTimestamp(17), finishedAt: row.optionalTimestamp(18),
            deadline: row.timestamp(11), eligibility: CalendarRows.key(row, 28, windows: 36),
            waiver: row.isNull(29)
                ? nil : PreferenceExpiry(checkAt: row.timestamp(29), by: row.timestamp(30)),
            waitingSince: row.timestamp(31), readyAt: readyAt.milliseconds == 0 ? nil : readyAt,
            waitingFor: row.optionalText(20).flatMap {
                StoredJSON.decode([WaitReason].self, $0)
            } ?? [],
            error: row.optionalText(22).flatMap { StoredJSON.decode(LonghaulError.self, $0) },
            numbers: TransferTotals(
                bytesTotal: row.optionalLength(23), bytesDone: row.count64(24),
                bytesFetched: row.count64(25), attempts: row.count(26),
                restarts: row.count(27)),
            readFrom: row.optionalInt64(35))
    }

    private static func request(
        _ row: StoredRow, _ path: String, _ options: TransferOptions
    ) -> TransferRequest {
        var request = TransferRequest(
            url: row.text(4),
            destination: options.remoteName
                ? .directory(FileNaming.directory(of: path), remoteName: true)
                : .file(path))
        request.session = row.text(6)
        request.priority = Priority(rawValue: row.int(8)) ?? .normal
        let schedule = CalendarRows.key(row, 9, windows: 36)
        request.isDiscretionary = schedule.isDiscretionary
        request.schedule = schedule.schedule
        request.earliestBegin = row.optionalTimestamp(10)
        request.deadline =
            row.optionalTimestamp(12).map(Deadline.at)
            ?? .after(seconds: row.optionalDouble(13) ?? Deadline.defaultSeconds)
        request.expectedBytes = row.optionalLength(14)
        request.options = options
        return request
    }
}

/// The values of the columns `schedule`, `eligibility`, `waiveAt` and `waiveBy` of a transfer.
struct StoredSchedule {
    /// The key that was requested.
    var requested: EligibilityKey
    /// The key in the queue: `asked`, without the preferences once they are waived.
    var eligibility: EligibilityKey
    /// `nil` = there is nothing to waive.
    var waiver: PreferenceExpiry?

    /// - Parameters:
    ///   - usesNetwork: By its URL. A proxy on this machine needs none: it may be the only way out.
    ///   - begin: When it may begin.
    ///   - waitsForTransfers: Another transfer has to end first.
    init(
        _ request: TransferRequest, usesNetwork: Bool, begin: Timestamp, deadline: Timestamp,
        waitsForTransfers: Bool
    ) {
        let options = request.options
        let proxy = options.proxy ?? options.proxyVariables?.proxy(for: request.url)
        let isProxyHere = proxy.map(ProxyAddress.isLoopback) ?? false
        requested = EligibilityKey(
            request.schedule, isDiscretionary: request.isDiscretionary,
            usesNetwork: usesNetwork && !isProxyHere, hasMirrors: !options.mirrors.isEmpty,
            isAwaited: options.failOnFullDisk, goesOnce: options.upload?.goesOnce ?? false,
            waitsForTransfers: waitsForTransfers)
        eligibility = requested.eligibility
        guard eligibility.hasPreferences else { return }
        waiver = PreferenceExpiry(
            begin: begin, after: request.options.waiveAfter, deadline: deadline,
            bytes: request.expectedBytes)
    }
}

extension TransferWork {
    /// The upload, sent as it is asked for now, would fail at once: a POST whose answer was lost
    /// may have been carried out, and may not be made twice.
    func mayHaveArrived(_ connection: Connection) throws -> Bool {
        guard isUpload, let fetchID,
            let state = try connection.first(
                FetchRecord.select, fetchID, read: FetchRecord.read),
            let upload = state.upload, let job = UploadJob(request, upload, id)
        else { return false }
        let next = upload.conversation(job, offset: state.durable.prefix).next()
        return next.map(upload.forbids) ?? false
    }
}
