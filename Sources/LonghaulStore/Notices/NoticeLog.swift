package import LonghaulModel

/// Events that one look reads.
private let eventsPerLook = 500
/// Expired activities of which a host's user may still be notified: while no engine runs, a program
/// may have any number.
private let expiredActivitiesPerHost = 100

/// Occurrences of which the user is to be notified: the ends of transfers, batches, sessions and
/// bundles with `--notify`, and their needs of answers. They are read from the event log; the store
/// keeps how far, so that after a crash a notice is repeated and never lost.
package struct NoticeLog {
    let store: Store

    /// Something that was asked for.
    package enum Occurrence: Sendable {
        /// A transfer has ended; the only one of its batch.
        case ended(Transfer)
        case needsInput(Transfer)
        /// The last transfer of a batch has ended.
        case batch(Int64, ends: [TransferState: Int], failure: LonghaulError?)
        case session(String, ends: [TransferState: Int])
        case bundle(StoredBundle, isFailed: Bool)
    }

    private static let cursor = "notices"
    private static let ends = EventType.ends.map { "'\($0.rawValue)'" }.sorted()
        .joined(separator: ", ")

    /// False if nothing in the queue asks for notices.
    package func isWanted() throws(LonghaulError) -> Bool {
        try store.access {
            try $0.value(
                """
                SELECT EXISTS (SELECT 1 FROM transfer INDEXED BY transferNotice \
                WHERE notice IS NOT NULL) \
                OR EXISTS (SELECT 1 FROM session INDEXED BY sessionNotify WHERE notify = 1) \
                OR EXISTS (SELECT 1 FROM taskRun INDEXED BY taskRunNotice \
                WHERE notice IS NOT NULL) OR EXISTS (SELECT 1 FROM expiredActivity) \
                OR EXISTS (SELECT 1 FROM host WHERE notify = 1 \
                OR json_extract(job, '$.notifies') = 1) OR EXISTS (SELECT 1 FROM task WHERE kind = 1 \
                AND launch IS NOT NULL AND json_extract(definition, '$.continued') IS NOT NULL)
                """) ?? false
        }
    }

    /// The next occurrences.
    ///
    /// - Returns: `last` = the event up to which the log was read; `nil` = there was nothing new.
    package func next(
        now: Timestamp
    ) throws(LonghaulError) -> (occurrences: [Occurrence], last: Int64?) {
        try store.snapshot { connection in
            let read = try SettingRows(connection).value(of: Self.cursor).flatMap { Int64($0) }
            let events = try connection.all(
                """
                SELECT e.seq, e.type, e.transferID, s.name, s.notify, t.notice FROM event e \
                JOIN session s ON s.id = e.sessionID LEFT JOIN transfer t ON t.id = e.transferID \
                WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2
                """, read ?? 0, eventsPerLook
            ) {
                Event(
                    seq: $0[0], type: EventType(rawValue: $0[1]), transfer: $0[2], session: $0[3],
                    isSessions: $0[4], batch: $0[5])
            }
            let found = try events.flatMap { try occurrences($0, connection, now: now) }
            return (found, events.last?.seq)
        }
    }

    /// Ends of runs whose notices are not delivered.
    package func endedRuns() throws(LonghaulError) -> [TaskNotice] {
        try store.access { try TaskRunRows($0).notices() }
    }

    /// A background activity that has used up its time.
    package struct ExpiredActivity: Sendable {
        package var id: Int64
        package var host: String
        package var name: String
    }

    /// Expired activities whose notices are not delivered.
    package func expiredActivities() throws(LonghaulError) -> [ExpiredActivity] {
        try store.access {
            try $0.all("SELECT id, host, name FROM expiredActivity ORDER BY id") {
                ExpiredActivity(id: $0[0], host: $0[1], name: $0[2])
            }
        }
    }

    /// Records, durably, that an activity of a host has used up its time; `false` = the host does
    /// not ask for notices.
    package func record(
        expired activity: String, of host: String
    ) throws(LonghaulError) -> Bool {
        try store.write(.durable) { connection in
            guard let known = try HostRows(connection).find(host), !known.program.isJob,
                known.program.notifies
            else { return false }
            try connection.run(
                "INSERT INTO expiredActivity (host, name) VALUES (?1, ?2)", host, activity)
            try connection.run(
                """
                DELETE FROM expiredActivity WHERE host = ?1 AND id NOT IN (SELECT id \
                FROM expiredActivity WHERE host = ?1 ORDER BY id DESC LIMIT ?2)
                """, host, expiredActivitiesPerHost)
            return true
        }
    }

    /// The notice of an activity was delivered.
    package func delivered(_ activity: ExpiredActivity) throws(LonghaulError) {
        try store.write(.durable) {
            try $0.run("DELETE FROM expiredActivity WHERE id = ?1", activity.id)
        }
    }

    /// The notice of the end of a run was delivered.
    package func delivered(_ notice: TaskNotice) throws(LonghaulError) {
        try store.write(.durable) { try TaskRunRows($0).removeNotice(notice.id) }
    }

    /// Notices up to this event were delivered.
    ///
    /// - Parameter isDurable: There were some. A power cut may otherwise have the log read again.
    package func delivered(through event: Int64, isDurable: Bool) throws(LonghaulError) {
        try store.write(isDurable ? .durable : .relaxed) {
            try SettingRows($0).set(Self.cursor, to: "\(event)")
        }
    }

    private struct Event {
        var seq: Int64
        var type: EventType
        var transfer: TransferID?
        var session: String
        var isSessions: Bool
        var batch: Int64?
    }

    private func occurrences(
        _ event: Event, _ connection: Connection, now: Timestamp
    ) throws -> [Occurrence] {
        switch event.type {
        case .transferNeedsInput:
            guard event.isSessions || event.batch != nil, let id = event.transfer else {
                return []
            }
            return try TransferRows(connection).transfer(id, now: now).map { [.needsInput($0)] }
                ?? []
        case .sessionFinished:
            if !event.isSessions { return [] }
            let counts = try Tally(connection).counts(session: event.session)
            return [.session(event.session, ends: counts)]
        case .bundleReady, .bundleUpdated, .bundleFailed:
            guard event.isSessions,
                let bundle = try BundleRows(connection).find(session: event.session)
            else { return [] }
            return [.bundle(bundle, isFailed: event.type == .bundleFailed)]
        default:
            guard event.type.endsTransfer, let batch = event.batch else { return [] }
            return try end(of: batch, event, connection, now: now)
        }
    }

    /// The last transfer of a batch has ended with this event.
    private func end(
        of batch: Int64, _ event: Event, _ connection: Connection, now: Timestamp
    ) throws -> [Occurrence] {
        let isOpen: Bool? = try connection.value(
            """
            SELECT 1 FROM transfer INDEXED BY transferNotice WHERE notice = ?1 \
            AND NOT (ended = 1 AND rearm = rearmed) LIMIT 1
            """, batch)
        if isOpen ?? false { return [] }
        let last: Int64? = try connection.value(
            """
            SELECT max(e.seq) FROM transfer t INDEXED BY transferNotice \
            JOIN event e INDEXED BY eventByTransfer ON e.transferID = t.id \
            WHERE t.notice = ?1 AND e.type IN (\(Self.ends))
            """, batch)
        guard last == event.seq, let id = event.transfer else { return [] }
        let phases = try connection.all(
            """
            SELECT phase, count(*) FROM transfer INDEXED BY transferNotice WHERE notice = ?1 \
            GROUP BY phase
            """, batch
        ) { ($0[0] as Int, $0[1] as Int) }
        var ends: [TransferState: Int] = [:]
        for (phase, count) in phases {
            guard let phase = Phase(rawValue: phase) else { continue }
            ends[shownState(phase: phase, want: .run, pending: false)] = count
        }
        if ends.values.reduce(0, +) == 1 {
            return try TransferRows(connection).transfer(id, now: now).map { [.ended($0)] } ?? []
        }
        let failed: TransferID? = try connection.value(
            """
            SELECT min(id) FROM transfer INDEXED BY transferNotice WHERE notice = ?1 \
            AND phase = \(Phase.failed.rawValue)
            """, batch)
        let failure = try failed.flatMap { try TransferRows(connection).transfer($0, now: now) }
        return [.batch(batch, ends: ends, failure: failure?.error)]
    }
}

extension Store {
    /// Occurrences of which the user is to be notified.
    package var notices: NoticeLog { NoticeLog(store: self) }
}
