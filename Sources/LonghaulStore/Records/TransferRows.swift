internal import LonghaulModel

/// The rows of `transfer`.
struct TransferRows: ConnectionRows {
    let connection: Connection

    func transfer(_ id: TransferID, now: Timestamp) throws -> Transfer? {
        var found = try TransferRecord.find(id, connection, now: now)
        if let shared = found?.sharedFetch {
            found?.sharedWith = try SharedFetchRows(connection).subscribers(of: shared).filter {
                $0 != id
            }
        }
        return found
    }

    func url(of id: TransferID) throws -> String {
        try connection.value("SELECT url FROM transfer WHERE id = ?1", id) ?? ""
    }

    /// Ids are assigned here: SQLite would read and write its counter for every row. AUTOINCREMENT
    /// keeps the counter above the ids that were inserted.
    func nextTransferID() throws -> Int64 {
        try connection.lastID(in: "transfer") + 1
    }

    /// The reservation of a transfer; `nil` = the transfer does not exist.
    func reservation(of id: TransferID) throws -> Reservation? {
        try connection.first("SELECT \(Reservation.columns) FROM transfer WHERE id = ?1", id) {
            Reservation($0, at: 0)
        }
    }

    /// The live transfer that has reserved a text; of an upload, one of any version of the file.
    func holder(of reservation: Reservation) throws -> TransferID? {
        try connection.all(
            """
            SELECT \(Reservation.columns), id \
            FROM transfer INDEXED BY transferByReservation \
            WHERE reservationKey = ?1 AND ended = 0
            """, reservation.key
        ) { ($0[0] as String, $0[2] as TransferID) }
        .first { $0.0.isExactly(reservation.text) }?.1
    }

    /// The row of an origin, created if missing.
    func id(ofOrigin name: String) throws -> Int64 {
        let found: Int64? = try connection.value("SELECT id FROM origin WHERE name = ?1", name)
        if let found { return found }
        try connection.run("INSERT INTO origin (name) VALUES (?1)", name)
        return connection.lastInsertedRowID
    }

    func rearm(_ id: TransferID, wanting want: Want) throws {
        try connection.run(
            "UPDATE transfer SET want = ?2, rearm = rearm + 1, replacedBy = NULL WHERE id = ?1", id,
            want.rawValue)
        try SentFileRows(connection).forget(id)
        try setRunsNow(false, id)
    }

    /// True of a transfer that runs now, regardless of its schedule.
    static let runsNow = "(eligibility & \(EligibilityKey.runsNowBit) <> 0)"

    /// Sets the schedule of a transfer aside until its attempt ends, or restores it. The transfers
    /// that it waits for are given up for good. What does not change is not written.
    func setRunsNow(_ runsNow: Bool, _ id: TransferID) throws {
        // Each back-off asks: the whole row is read only where something changes.
        let isSet: Bool? = try connection.value(
            "SELECT \(Self.runsNow) FROM transfer WHERE id = ?1", id)
        guard let isSet, isSet != runsNow, let work = try WorkRecord.find(id, connection)
        else { return }
        let calendars = CalendarRows(connection)
        if runsNow {
            try TransferDependencies(connection).drop(of: id)
            try connection.run(
                """
                UPDATE transfer SET eligibility = ?2, waiveAt = NULL, waiveBy = NULL, \
                readyAt = 0, waitReason = NULL WHERE id = ?1
                """, id, calendars.stored(work.eligibility.now))
        } else {
            let begin = max(work.waitingSince, work.request.earliestBegin ?? work.waitingSince)
            let schedule = StoredSchedule(
                work.request, usesNetwork: work.eligibility.usesNetwork, begin: begin,
                deadline: work.deadline, waitsForTransfers: false)
            try connection.run(
                """
                UPDATE transfer SET schedule = ?2, eligibility = ?3, waiveAt = ?4, waiveBy = ?5 \
                WHERE id = ?1
                """, id, calendars.stored(schedule.requested),
                calendars.stored(schedule.eligibility), schedule.waiver?.checkAt,
                schedule.waiver?.by)
        }
    }

    /// A span would restart.
    func hasFixedDeadline(_ id: TransferID, before now: Timestamp) throws -> Bool {
        try connection.value("SELECT deadlineAt <= ?2 FROM transfer WHERE id = ?1", id, now)
            ?? false
    }

    /// Deletes the row and its dependents. Returns the part files and snapshots that no
    /// transfer needs any more.
    func forget(_ id: TransferID, now: Timestamp) throws -> [OrphanedPart] {
        let found = try connection.first(
            """
            SELECT fetchID, CASE WHEN json_valid(options) THEN json_extract(options, '$.gid') END \
            FROM transfer WHERE id = ?1
            """, id
        ) { ($0[0] as FetchID?, $0[1] as String?) }
        if let gid = found?.1 { try GIDRows(connection).remove(gid) }
        let fetch = found?.0
        let goesOn =
            try fetch.map { try SharedFetchRows(connection).handOver($0, without: id) }
            ?? false
        if let fetch, !goesOn, let state = try FetchRecord.find(fetch, connection) {
            try AbandonedUploads(connection).record(state, of: id)
        }
        try EventRows(connection).leave(id)
        try connection.run("DELETE FROM transfer WHERE id = ?1", id)
        try connection.run("DELETE FROM attempt WHERE transferID = ?1", id)
        try connection.run("DELETE FROM intentInbox WHERE transferID = ?1", id)
        try TransferDependencies(connection).drop(of: id)
        let snapshot = try SnapshotRows(connection).abandon(of: id)
        guard let fetch, !goesOn else { return snapshot }
        return try snapshot
            + OrphanedPartRows(connection).abandon(fetch, sparingPublished: true, now: now)
    }
}

extension StoredRow {
    /// A number without a phase can only come from damage.
    func phase(_ column: Column) throws -> Phase {
        guard let phase = Phase(rawValue: self[column]) else { throw damage("phase") }
        return phase
    }

    func want(_ column: Column) throws -> Want {
        guard let want = Want(rawValue: self[column]) else { throw damage("want") }
        return want
    }

    func damage(_ what: String) -> LonghaulError {
        StoreFailure.unavailable(
            "a row of the queue makes no sense (\(what)); run `longhaul doctor --repair`")
    }
}
