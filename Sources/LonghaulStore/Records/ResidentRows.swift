package import LonghaulModel

/// A process of a host that runs by itself and takes launches.
package struct StoredResident: Hashable, Sendable {
    package var id: ResidentID
    package var host: String
    package var process: LaunchedProcess

    package init(id: ResidentID, host: String, process: LaunchedProcess) {
        self.id = id
        self.host = host
        self.process = process
    }
}

/// A report of a resident process about a launch that was handed to it.
package struct LaunchReport: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        case result(task: String, TaskResult)
        /// The launch has ended, as a program with this exit status; `nil` = it is given
        /// back.
        case ended(status: Int?)
    }

    package var launch: LaunchID
    package var content: Content

    package init(launch: LaunchID, content: Content) {
        self.launch = launch
        self.content = content
    }
}

/// The rows of `resident` and `launchReport`.
struct ResidentRows: ConnectionRows {
    private enum Column: Int32, StoredColumn {
        case id, host, pid, pidStart, bootID

        static let select = """
            SELECT \(list) FROM resident WHERE ?1 IS NULL OR host = ?1 ORDER BY id DESC
            """
    }

    private enum ReportColumn: Int32, StoredColumn {
        case launch, task, result, status

        static let select = """
            SELECT \(list) FROM launchReport WHERE ?1 IS NULL OR launch = ?1 ORDER BY id
            """
    }

    let connection: Connection

    func isPresent(_ id: ResidentID) throws -> Bool {
        try connection.value("SELECT EXISTS (SELECT 1 FROM resident WHERE id = ?1)", id.rawValue)
            ?? false
    }

    /// - Parameter host: `nil` = of all hosts.
    func all(of host: String? = nil) throws -> [StoredResident] {
        try connection.all(Column.select, host) { (row: StoredRow<Column>) in
            StoredResident(
                id: row[.id], host: row[.host],
                process: row.process(.pid, start: .pidStart, boot: .bootID))
        }
    }

    func remove(_ id: ResidentID) throws {
        try connection.run("DELETE FROM resident WHERE id = ?1", id.rawValue)
    }

    func openLaunches(of id: ResidentID) throws -> [LaunchID] {
        try connection.values(
            """
            SELECT id FROM launch INDEXED BY launchOpen WHERE endedAt IS NULL AND resident = ?1 \
            ORDER BY id
            """, id.rawValue)
    }

    func hasEnd(_ launch: LaunchID) throws -> Bool {
        try connection.value(
            "SELECT EXISTS (SELECT 1 FROM launchReport WHERE launch = ?1 AND task IS NULL)", launch)
            ?? false
    }

    /// The first report of a task, and of the end, counts.
    @discardableResult func add(_ report: LaunchReport) throws -> Bool {
        var (task, result, status): (String?, String?, Int?) = (nil, nil, nil)
        switch report.content {
        case .result(let name, let known): (task, result) = (name, known.rawValue)
        case .ended(let known): status = known
        }
        try connection.run(
            """
            INSERT INTO launchReport (launch, task, result, status) SELECT ?1, ?2, ?3, ?4 \
            WHERE EXISTS (SELECT 1 FROM launch WHERE id = ?1 AND endedAt IS NULL) \
            AND (?2 IS NULL OR EXISTS (SELECT 1 FROM task \
            WHERE launch = ?1 AND identifier = ?2 AND kind <> 2)) \
            AND NOT EXISTS (SELECT 1 FROM launchReport WHERE launch = ?1 AND task IS ?2)
            """, report.launch, task, result, status)
        return connection.changes > 0
    }

    func reports(of launch: LaunchID? = nil) throws -> [LaunchReport] {
        try connection.all(ReportColumn.select, launch) { (row: StoredRow<ReportColumn>) in
            let task: String? = row[.task]
            return LaunchReport(
                launch: row[.launch],
                content: task.map { .result(task: $0, row.known(.result) ?? .failure) }
                    ?? .ended(status: row[.status]))
        }
    }

    func removeReports(of launch: LaunchID) throws {
        try connection.run("DELETE FROM launchReport WHERE launch = ?1", launch)
    }
}
