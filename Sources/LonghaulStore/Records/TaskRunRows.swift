package import LonghaulModel

/// The end of a run of which the user is to be notified.
package struct TaskNotice: Sendable {
    package var id: Int64
    package var host: String
    package var identifier: String
    /// Title of a continued task, else the identifier.
    package var name: String
    package var isOfJob: Bool
    package var run: TaskRun
    /// How its launch ended; `nil` = there was none, or it is not kept.
    package var outcome: LaunchOutcome?
}

private enum NoticeColumn: Int32, StoredColumn {
    case id, host, identifier, notice, launch, kind, startedAt, result, expiration, missedTransfer
    case isOfJob, ending, status, output

    var sql: String {
        switch self {
        case .isOfJob: "EXISTS (SELECT 1 FROM host WHERE name = r.host AND job IS NOT NULL)"
        case .ending, .status, .output: "l.\(self)"
        default: "r.\(self)"
        }
    }

    static let select = """
        SELECT \(list) FROM taskRun r INDEXED BY taskRunNotice \
        LEFT JOIN launch l ON l.id = r.launch WHERE r.notice IS NOT NULL ORDER BY r.id
        """

    static func read(_ row: StoredRow<NoticeColumn>) -> TaskNotice {
        var run = TaskRun(
            kind: row.known(.kind) ?? .refresh, launch: row[.launch], startedAt: row[.startedAt],
            result: row.known(.result), expiration: row.known(.expiration))
        run.missedTransfer = row[.missedTransfer]
        var notice = TaskNotice(
            id: row[.id], host: row[.host], identifier: row[.identifier], name: row[.notice],
            isOfJob: row[.isOfJob], run: run)
        if let ending: LaunchEnding = row.known(.ending) {
            notice.outcome = LaunchOutcome(ending, status: row[.status], output: row[.output])
        }
        return notice
    }
}

/// The rows of `taskRun`: the last runs of each task.
struct TaskRunRows: ConnectionRows {
    let connection: Connection

    func begin(_ task: StoredTask, in launch: LaunchID, now: Timestamp) throws {
        try connection.run(
            """
            INSERT INTO taskRun (host, identifier, kind, launch, trigger, startedAt, reason) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """, task.host, task.request.identifier, task.request.kind.rawValue, launch,
            task.trigger?.text, now, task.reason?.rawValue)
        try forgetOld(of: task)
    }

    /// Records the end of the runs of a launch that have not ended.
    ///
    /// - Parameter identifier: `nil` = all of them.
    func end(
        of launch: LaunchID, identifier: String?, _ end: TaskEnd, now: Timestamp
    ) throws {
        var result: TaskResult?
        var expiration: ExpirationReason?
        switch end {
        case .result(let known): result = known
        case .expired(let reason): expiration = reason
        case .lost: break
        }
        try connection.run(
            """
            UPDATE taskRun SET endedAt = ?3, result = ?4, expiration = ?5 WHERE launch = ?1 \
            AND (?2 IS NULL OR identifier = ?2) AND endedAt IS NULL
            """, launch, identifier, now, result?.rawValue, expiration?.rawValue)
    }

    /// The user is to be notified that a continued task has ended.
    func askForNotice(ofContinued task: StoredTask) throws {
        guard let title = task.continued?.title else { return }
        try askForNotice(of: task, title)
    }

    /// The user is to be notified of this end of a run, if its program asks for that.
    func askForNotice(of task: StoredTask, _ end: TaskEnd) throws {
        guard let name = try notice(of: task, end) else { return }
        try askForNotice(of: task, name)
    }

    private func askForNotice(of task: StoredTask, _ name: String) throws {
        guard let launch = task.launch else { return }
        try connection.run(
            "UPDATE taskRun SET notice = ?3 WHERE launch = ?1 AND identifier = ?2", launch,
            task.request.identifier, name)
    }

    /// A continued task has a notice of its own.
    private func notice(of task: StoredTask, _ end: TaskEnd) throws -> String? {
        guard task.continued == nil, let host = try HostRows(connection).find(task.host),
            end.isNotified(of: host.program)
        else { return nil }
        return task.request.identifier
    }

    /// The ends whose notices are not delivered, in their order.
    func notices() throws -> [TaskNotice] {
        try connection.all(NoticeColumn.select, read: NoticeColumn.read)
    }

    func removeNotice(_ id: Int64) throws {
        try connection.run("UPDATE taskRun SET notice = NULL WHERE id = ?1", id)
    }

    /// The deadline of a job has passed while it waited: it has failed without a run.
    func missDeadline(_ task: StoredTask, now: Timestamp) throws {
        try connection.run(
            """
            INSERT INTO taskRun (host, identifier, kind, launch, startedAt, endedAt, result, \
            expiration, notice) VALUES (?1, ?2, ?3, 0, ?4, ?4, ?5, ?6, ?7)
            """, task.host, task.request.identifier, task.request.kind.rawValue, now,
            TaskResult.failure.rawValue, ExpirationReason.time.rawValue,
            notice(of: task, .result(.failure)))
        try forgetOld(of: task)
    }

    /// A transfer did not complete, after which the job was to run: it has failed without a run.
    func missTransfer(_ task: StoredTask, _ transfer: TransferID, now: Timestamp) throws {
        try connection.run(
            """
            INSERT INTO taskRun (host, identifier, kind, launch, startedAt, endedAt, result, \
            missedTransfer, notice) VALUES (?1, ?2, ?3, 0, ?4, ?4, ?5, ?6, ?7)
            """, task.host, task.request.identifier, task.request.kind.rawValue, now,
            TaskResult.failure.rawValue, transfer.rawValue, notice(of: task, .result(.failure)))
        try forgetOld(of: task)
    }

    /// True if a client asked for the run of this launch.
    func isRequested(_ launch: LaunchID) throws -> Bool {
        try connection.value(
            "SELECT EXISTS (SELECT 1 FROM taskRun INDEXED BY taskRunByLaunch WHERE launch = ?1 "
                + "AND reason = ?2)", launch, RunReason.asked.rawValue) ?? false
    }

    private func forgetOld(of task: StoredTask) throws {
        try connection.run(
            """
            DELETE FROM taskRun WHERE host = ?1 AND identifier = ?2 AND endedAt IS NOT NULL \
            AND notice IS NULL AND id NOT IN (SELECT id FROM taskRun WHERE host = ?1 \
            AND identifier = ?2 ORDER BY id DESC LIMIT ?3)
            """, task.host, task.request.identifier, Limits.taskRunsKept)
    }

    func all(of identifier: String, host: String, limit: Int) throws -> [TaskRun] {
        try connection.all(
            Self.select, host, identifier, limit, LaunchEnding.exited.rawValue,
            LaunchEnding.signalled.rawValue, LaunchEnding.exceededMemory.rawValue,
            read: Self.read)
    }

    private enum Column: Int32, StoredColumn {
        case launch, trigger, startedAt, endedAt, result, expiration, kind, exitStatus, signal
        case processorSeconds, reason, missedTransfer, hasExceededMemory

        var sql: String {
            switch self {
            case .exitStatus: "CASE l.ending WHEN ?4 THEN l.status END"
            case .signal: "CASE l.ending WHEN ?5 THEN l.status END"
            case .processorSeconds: "l.processorSeconds"
            case .hasExceededMemory: "ifnull(l.ending = ?6, 0)"
            default: "r.\(self)"
            }
        }
    }

    private static let select = """
        SELECT \(Column.list) FROM taskRun r INDEXED BY taskRunByTask \
        LEFT JOIN launch l ON l.id = r.launch \
        WHERE r.host = ?1 AND r.identifier = ?2 ORDER BY r.id DESC LIMIT ?3
        """

    private static func read(_ row: StoredRow<Column>) -> TaskRun {
        var run = TaskRun(
            kind: row.known(.kind) ?? .refresh, launch: row[.launch],
            triggers: FiredTrigger.events(row[.trigger]).map(\.trigger), startedAt: row[.startedAt],
            endedAt: row[.endedAt], result: row.known(.result),
            expiration: row.known(.expiration))
        run.exitStatus = row[.exitStatus]
        run.signal = row[.signal]
        run.hasExceededMemory = row[.hasExceededMemory]
        run.processorSeconds = row[.processorSeconds]
        run.reason = row.known(.reason)
        run.missedTransfer = row[.missedTransfer]
        return run
    }
}
