internal import CSQLite
internal import LonghaulCore

/// Moves what can be read of a damaged file into a new one.
enum Salvage {
    /// Tables whose rows are saved, in this order. The tally is counted anew; the inbox is filled
    /// with what an engine must look at.
    private static let tables = [
        "session", "origin", "transfer", "fetch", "event", "attempt", "setting", "host",
        "launch", "orphanedPart",
    ]
    /// Ids that are skipped where the counter was lost: none that was handed out may be used again.
    private static let idMargin: Int64 = 100_000
    /// No counter gets so far: a larger id comes from damage, and nothing could be counted on from
    /// it.
    private static let idMax: Int64 = 1 << 53

    /// Works in `directory`, on a copy: reading a damaged file with its log may write to it. The
    /// new store is durable when this returns.
    static func run(
        from location: StoreLocation, in directory: String, now: Timestamp,
        _ report: inout RepairReport
    ) throws(LonghaulError) {
        let copy = directory + "/damaged"
        try DamagedCopy.make(of: location.database, at: copy)
        let store = try Store.open(directory: directory)
        var found = report
        do {
            if var source = try open(copy, directory: directory) {
                try store.writeUntranslated(.durable) { connection in
                    for table in tables {
                        try save(table, of: source, into: connection, &found)
                    }
                    found.transfersBefore = transferCount(source)
                    if isMissingSome(found) {
                        try scanLeaves(source, copy, into: connection, &found)
                        source = try SalvageSource(path: copy)
                    }
                    try settle(source, connection, now: now)
                }
            } else {
                found.lost += 1
                try store.write(.durable) { try settle(nil, $0, now: now) }
            }
            // All of it must be in the file itself: the log stays behind.
            try store.access { try $0.run("PRAGMA wal_checkpoint(TRUNCATE)") }
            try store.close()
        } catch {
            throw StoreFailure.translate(error, path: store.location.database)
        }
        report = found
    }

    /// As it is; else with the first pages of a new store in place of its own. `nil`: nothing can
    /// be read.
    private static func open(_ copy: String, directory: String) throws -> SalvageSource? {
        // Of an empty file the log has all that was written since; SQLite would delete it.
        let isEmpty = FileStatus.of(copy)?.size == 0
        if !isEmpty, let source = try? SalvageSource(path: copy) { return source }
        let template = try Store.open(directory: directory + "/template")
        try template.close()
        try DamagedCopy.graft(from: template.location.database, to: copy)
        // Else a log of the old page's time could put it back.
        if !isEmpty { DamagedCopy.removeLog(of: copy) }
        return try? SalvageSource(path: copy)
    }

    private static func save(
        _ table: String, of source: SalvageSource, into connection: Connection,
        _ report: inout RepairReport
    ) throws {
        let columns = try commonColumns(table, source, connection)
        if columns.isEmpty {
            report.lost += 1
            return
        }
        let statement = try insertion(table, columns, connection)
        var walk = SalvageWalk(source: source, table: table, columns: columns)
        var saved = 0
        var senseless = 0
        try walk.run { id, values in
            if try insert(id, values, statement) { saved += 1 } else { senseless += 1 }
        }
        report.recovered[table] = saved
        report.lost += senseless + walk.failures
    }

    /// Whether transfers are missing that the file had, as far as can be told.
    private static func isMissingSome(_ report: RepairReport) -> Bool {
        let saved = report.recovered["transfer"] ?? 0
        return report.transfersBefore.map { $0 > saved } ?? (report.lost > 0)
    }

    private static func scanLeaves(
        _ source: SalvageSource, _ copy: String, into connection: Connection,
        _ report: inout RepairReport
    ) throws {
        let columns = try commonColumns("transfer", source, connection)
        guard !columns.isEmpty, let root = try source.root(of: "transfer") else { return }
        try source.emptyLog()
        // The page that stands at the root is needed no more, but for a table that was one page all
        // along.
        let original = try PageFile(copy)
        defer { original.close() }
        guard root <= original.count else { return }
        let page = try original.page(root)
        let statement = try insertion("transfer", columns, connection)
        try LeafScan(path: copy, table: "transfer", columns: columns, root: root).run {
            if try insert($0, $1, statement) { report.recovered["transfer", default: 0] += 1 }
        }
        try original.write(page, as: root)
    }

    /// Columns that both know: the damaged file may be of an older version.
    private static func commonColumns(
        _ table: String, _ source: SalvageSource, _ connection: Connection
    ) throws -> [String] {
        let known = try connection.all("PRAGMA table_info(\(table))") { $0.text(1) }
        return ((try? source.columns(of: table)) ?? []).filter { known.contains($0) }
    }

    private static func insertion(
        _ table: String, _ columns: [String], _ connection: Connection
    ) throws -> Prepared {
        try connection.prepare(
            """
            INSERT INTO \(table) (rowid, \(columns.joined(separator: ", "))) \
            VALUES (\(Array(repeating: "?", count: columns.count + 1).joined(separator: ", ")))
            """)
    }

    /// The table's checks tell sense from nonsense. `false`: refused, or there already.
    private static func insert(
        _ id: Int64, _ values: [SalvageSource.Value], _ statement: Prepared
    ) throws -> Bool {
        guard (1...idMax).contains(id) else { return false }
        statement.bind(1, id)
        for (index, value) in values.enumerated() { statement.bind(Int32(index + 2), value) }
        do {
            try statement.runOnce()
            return true
        } catch let error as SQLiteError where error.code == SQLITE_CONSTRAINT {
            return false
        }
    }

    private static func transferCount(_ source: SalvageSource) -> Int? {
        var count: Int?
        let isComplete = try? source.read("SELECT sum(n) FROM tally", []) { row in
            if case .integer(let sum) = row[0] { count = Int(sum) }
        }
        return isComplete == true ? count : nil
    }

    private static func settle(
        _ source: SalvageSource?, _ connection: Connection, now: Timestamp
    ) throws {
        // Before any is given another origin, which its key goes by.
        try connection.failContradictory(now: now)
        try connection.removeStrays(now: now)
        try connection.run(
            """
            INSERT OR IGNORE INTO intentInbox (transferID) SELECT id FROM transfer \
            WHERE (ended = 0 AND (want <> 0 OR phase <> 0)) OR rearm > rearmed
            """)
        try raiseCounters(source, connection)
        // Whoever held the lease holds it no more, whatever number it had.
        var epoch: Int64?
        _ = try? source?.read("SELECT epoch FROM lease", []) { row in
            if case .integer(let value) = row[0] { epoch = value }
        }
        try connection.run(
            "UPDATE lease SET epoch = ?1", (epoch ?? now.milliseconds).addingClamped(1))
    }

    /// Ids and event numbers go on above every one that was ever handed out.
    private static func raiseCounters(
        _ source: SalvageSource?, _ connection: Connection
    ) throws {
        var counters: [String: Int64] = [:]
        _ = try? source?.read("SELECT name, seq FROM sqlite_sequence", []) { row in
            if case .text(let name) = row[0], case .integer(let value) = row[1], value <= idMax {
                counters[name] = value
            }
        }
        for (table, column) in [
            ("transfer", "id"), ("fetch", "id"), ("event", "seq"), ("session", "id"),
            ("origin", "id"), ("host", "id"), ("launch", "id"),
        ] {
            var last =
                try connection.first("SELECT max(\(column)) FROM \(table)") {
                    $0.optionalInt64(0) ?? 0
                } ?? 0
            if table == "transfer" {
                let told = try connection.first(
                    "SELECT max(transferID) FROM event WHERE transferID <= ?1", idMax
                ) { $0.optionalInt64(0) ?? 0 }
                last = max(last, told ?? 0)
            }
            let next = counters[table].map { max($0, last) } ?? last + idMargin
            try connection.run("DELETE FROM sqlite_sequence WHERE name = ?1", table)
            try connection.run(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)", table, next)
        }
    }
}
