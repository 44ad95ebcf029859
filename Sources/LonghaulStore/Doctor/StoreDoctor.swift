package import LonghaulModel

/// Faults that SQLite is asked to name.
private let faultsNamed = 10

/// Checks a store, and repairs it.
package enum StoreDoctor {
    static let repairHint = "run `longhaul doctor --repair`"

    /// Checks directory, file, structure and rows without changing anything. A store that does not
    /// exist yet is in order. Reads the whole file: seconds for a large one.
    package static func check(directory: String) -> [DoctorFinding] {
        let location = StoreLocation(directory: directory)
        var findings: [DoctorFinding] = []
        guard
            FileStatus.of(location.directory, followingLinks: true) != nil
                || FileStatus.failure(location.directory, followingLinks: true) != nil
        else {
            return [
                DoctorFinding(
                    check: "directory", ok: true,
                    detail: "\(location.directory) will be made when something is enqueued")
            ]
        }
        let directory = checkDirectory(location)
        findings.append(directory)
        guard directory.ok else {
            findings.append(
                DoctorFinding(
                    check: "store", ok: false, detail: "not opened in such a directory"))
            return findings
        }
        findings += checkLeftovers(location)
        if let hindrance = StoreDirectory.hindrance(in: location) {
            findings.append(fault("store", hindrance))
            return findings
        }
        guard Store.exists(at: location) || location.hasRemains else {
            findings.append(
                newestCopy(location).map {
                    DoctorFinding(
                        check: "store", ok: true,
                        detail: "there is none, but a copy of \(RFC3339.format($0))",
                        fix: "`longhaul doctor --repair` puts it in place; to begin with an empty"
                            + " queue, delete \(location.copy(1)) and \(location.copy(2))")
                } ?? DoctorFinding(check: "store", ok: true, detail: "nothing was enqueued yet"))
            return findings
        }
        do {
            let store = try Store.open(directory: location.directory, mode: .probe)
            defer { try? store.close() }
            findings.append(
                DoctorFinding(
                    check: "store", ok: true,
                    detail: "\(location.database), version \(try store.version())"))
            let faults = try store.faults(limit: faultsNamed)
            findings.append(
                faults.isEmpty
                    ? DoctorFinding(check: "integrity", ok: true, detail: "the file is sound")
                    : DoctorFinding(
                        check: "integrity", ok: false,
                        detail: faults.joined(separator: "; "), fix: repairHint))
            if faults.isEmpty { findings.append(checkRows(try store.stray())) }
        } catch {
            findings.append(fault("store", error))
        }
        return findings
    }

    /// When the last event or transfer was recorded, by the clock of that time; `nil` = not known.
    package static func newest(directory: String) -> Timestamp? {
        guard Store.exists(at: StoreLocation(directory: directory)),
            let store = try? Store.open(directory: directory, mode: .probe)
        else { return nil }
        defer { try? store.close() }
        let times = try? store.access { connection in
            try connection.all(
                """
                SELECT * FROM (SELECT at FROM event ORDER BY seq DESC LIMIT 1) UNION ALL \
                SELECT * FROM (SELECT created FROM transfer ORDER BY id DESC LIMIT 1)
                """
            ) { Timestamp(milliseconds: $0[0]) }
        }
        return times?.max()
    }

    private static func checkDirectory(_ location: StoreLocation) -> DoctorFinding {
        do {
            try StoreDirectory.check(location.directory)
            return DoctorFinding(check: "directory", ok: true, detail: location.directory)
        } catch {
            return fault("directory", error)
        }
    }

    private static func fault(_ check: String, _ error: LonghaulError) -> DoctorFinding {
        let (what, advice) = error.parts
        return DoctorFinding(check: check, ok: false, detail: what, fix: advice)
    }

    private static func checkRows(_ stray: StrayRows) -> DoctorFinding {
        stray.isEmpty
            ? DoctorFinding(check: "rows", ok: true, detail: "every row has its place")
            : DoctorFinding(check: "rows", ok: false, detail: stray.description, fix: repairHint)
    }

    /// Files that an earlier repair has set aside. They are kept until the user deletes them.
    private static func checkLeftovers(_ location: StoreLocation) -> [DoctorFinding] {
        (1..<location.firstFreeNumber).map { number in
            DoctorFinding(
                check: "leftovers", ok: true,
                detail: "\(location.damaged(number)) was set aside by a repair",
                fix: "delete it when nothing is missing")
        }
    }
}

/// Rows without a reference, or that refer to missing rows. They do no harm to other rows.
struct StrayRows: Hashable, CustomStringConvertible {
    var fetchesWithoutTransfer = 0
    var transfersWithoutFetch = 0
    var transfersWithoutSessionOrOrigin = 0
    var attemptsWithoutTransfer = 0
    var isTallyWrong = false

    var isEmpty: Bool { self == StrayRows() }

    var description: String {
        var parts: [String] = []
        func add(_ count: Int, _ what: String) {
            if count > 0 { parts.append("\(count) \(what)") }
        }
        add(fetchesWithoutTransfer, "fetches without a transfer")
        add(transfersWithoutFetch, "transfers whose fetch is missing")
        add(transfersWithoutSessionOrOrigin, "transfers whose session or origin is missing")
        add(attemptsWithoutTransfer, "attempts without a transfer")
        if isTallyWrong { parts.append("the counts are wrong") }
        return parts.joined(separator: ", ")
    }
}

extension Store {
    /// The faults that SQLite finds in the file, in its words; empty = sound.
    func faults(limit: Int) throws(LonghaulError) -> [String] {
        let found: [String] = try access {
            try $0.values("PRAGMA integrity_check(\(limit))")
        }
        return found == ["ok"] ? [] : found
    }

    func stray() throws(LonghaulError) -> StrayRows {
        try snapshot { connection in
            func count(_ sql: String) throws -> Int {
                try connection.value("SELECT count(*) FROM \(sql)") ?? 0
            }
            var stray = StrayRows()
            stray.fetchesWithoutTransfer = try count(Stray.fetches)
            stray.transfersWithoutFetch = try count(Stray.fetchless)
            stray.transfersWithoutSessionOrOrigin = try count(Stray.homeless)
            stray.attemptsWithoutTransfer = try count(Stray.attempts)
            let counted = try connection.all(Stray.counted, read: Stray.readCounts)
            let tallied = try connection.all(Stray.tallied, read: Stray.readCounts)
            stray.isTallyWrong = counted != tallied
            return stray
        }
    }
}

/// The stray rows, as ends of a query.
enum Stray {
    static let fetches = """
        fetch WHERE id NOT IN (SELECT fetchID FROM transfer WHERE fetchID IS NOT NULL)
        """
    static let fetchless = """
        transfer WHERE fetchID IS NOT NULL AND fetchID NOT IN (SELECT id FROM fetch)
        """
    static let homeless = """
        transfer WHERE sessionID NOT IN (SELECT id FROM session) \
        OR originID NOT IN (SELECT id FROM origin)
        """
    static let attempts = "attempt WHERE transferID NOT IN (SELECT id FROM transfer)"

    static let counted = """
        SELECT sessionID, ended * phase, want, rearm > rearmed, count(*) FROM transfer \
        GROUP BY 1, 2, 3, 4
        """
    static let tallied = """
        SELECT sessionID, phase, want, pending, n FROM tally WHERE n <> 0 ORDER BY 1, 2, 3, 4
        """

    static func readCounts(_ row: StoredRow<Int>) -> [Int64] {
        (0..<5).map { row[$0] }
    }
}
