package import LonghaulModel

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
    /// The key to find transfers whose request may be equal.
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
    /// Lowest start of the programs that read the transfer's bytes as they arrive; `nil` = no
    /// readers.
    package var readFrom: Int64?
}

extension TransferWork {
    package var isUpload: Bool { request.options.upload != nil }

    /// Queued, wanted to run, and held back neither by other transfers nor until a later moment.
    package func isReady(at now: Timestamp) -> Bool {
        phase == .queued && want == .run && !eligibility.waitsForTransfers
            && readyAt ?? now <= now
    }

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
    private enum Column: Int32, StoredColumn {
        case id, phase, want, isRearmPending, url, path, session, origin, priority, schedule
        case earliest, deadline, deadlineAt, deadlineAfter, expectedBytes, options, created
        case startedAt, finishedAt, readyAt, waitReason, fetchID, error, bytesTotal, bytesDone
        case bytesFetched, attempts, restarts, eligibility, waiveAt, waiveBy, readySince
        case identityKey, sharedFetch, partSuffix, readFrom, windows

        var sql: String {
            switch self {
            case .isRearmPending: "t.rearm > t.rearmed"
            case .path: "coalesce(t.destination, t.source)"
            case .session: "s.name"
            case .origin: "o.name"
            case .readySince: "coalesce(t.readySince, t.created)"
            case .readFrom:
                "(SELECT min(start) FROM reader INDEXED BY readerByTransfer WHERE transfer = t.id)"
            case .windows: CalendarRows.windows("t.schedule")
            default: "t.\(self)"
            }
        }
    }

    private static let select = """
        SELECT \(Column.list) FROM transfer t JOIN session s ON s.id = t.sessionID \
        JOIN origin o ON o.id = t.originID WHERE t.id = ?1
        """

    static func find(_ id: TransferID, _ connection: Connection) throws -> TransferWork? {
        try connection.first(select, id, read: read)
    }

    private static func read(_ row: StoredRow<Column>) throws -> TransferWork {
        let options = TransferOptions(stored: row[.options])
        let readyAt: Timestamp = row[.readyAt]
        return TransferWork(
            id: row[.id], request: request(row, options ?? TransferOptions()),
            isUnreadable: options == nil
                || !CalendarRows.isReadable(row, .schedule, windows: .windows),
            origin: row[.origin], path: row[.path], want: try row.want(.want),
            phase: try row.phase(.phase), isRearmPending: row[.isRearmPending],
            fetchID: row[.fetchID], sharedFetch: row[.sharedFetch],
            partSuffix: row.count(.partSuffix), identityKey: row[.identityKey],
            createdAt: row[.created], startedAt: row[.startedAt], finishedAt: row[.finishedAt],
            deadline: row[.deadline],
            eligibility: CalendarRows.key(row, .eligibility, windows: .windows),
            waiver: row.isNull(.waiveAt)
                ? nil : PreferenceExpiry(checkAt: row[.waiveAt], by: row[.waiveBy]),
            waitingSince: row[.readySince], readyAt: readyAt.milliseconds == 0 ? nil : readyAt,
            waitingFor: row.json(.waitReason) ?? [], error: row.json(.error),
            numbers: TransferTotals(
                bytesTotal: row.optionalLength(.bytesTotal), bytesDone: row.count64(.bytesDone),
                bytesFetched: row.count64(.bytesFetched), attempts: row.count(.attempts),
                restarts: row.count(.restarts)),
            readFrom: row[.readFrom])
    }

    private static func request(
        _ row: StoredRow<Column>, _ options: TransferOptions
    ) -> TransferRequest {
        let path: String = row[.path]
        var request = TransferRequest(
            url: row[.url],
            destination: options.remoteName
                ? .directory(FileNaming.directory(of: path), remoteName: true)
                : .file(path))
        request.session = row[.session]
        request.priority = Priority(rawValue: row[.priority]) ?? .normal
        let schedule = CalendarRows.key(row, .schedule, windows: .windows)
        request.isDiscretionary = schedule.isDiscretionary
        request.schedule = schedule.schedule
        request.earliestBegin = row[.earliest]
        let moment: Timestamp? = row[.deadlineAt]
        request.deadline =
            moment.map(Deadline.at)
            ?? .after(seconds: row[.deadlineAfter] ?? Deadline.defaultSeconds)
        request.expectedBytes = row.optionalLength(.expectedBytes)
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
    /// The upload would fail at once with its current request: a POST whose answer was lost may
    /// have been carried out, and may not be repeated.
    func mayHaveArrived(_ connection: Connection) throws -> Bool {
        guard isUpload, let fetchID, let state = try FetchRecord.find(fetchID, connection),
            let upload = state.upload, let job = UploadJob(request, upload, id)
        else { return false }
        let next = upload.conversation(job, offset: state.durable.prefix).next()
        return next.map(upload.forbids) ?? false
    }
}
