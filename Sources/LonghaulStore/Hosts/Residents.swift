package import LonghaulModel

/// The resident processes of hosts, the launches that they are handed, and their reports, for
/// these processes and for the engine.
///
/// A process that goes away gives its launches back in the transaction that removes its row, and
/// the engine begins no launch for a row that is not there. So no launch waits for a process that
/// does not listen.
package struct Residents {
    let store: Store

    /// Records a process of a host, durably. Rows of processes that are not alive go.
    package func enter(
        _ host: String, _ process: LaunchedProcess, isAlive: (LaunchedProcess) -> Bool
    ) throws(LonghaulError) -> StoredResident {
        try store.write(.durable) { connection in
            guard try HostRows(connection).find(host) != nil else { throw noSuchHost(host) }
            for old in try ResidentRows(connection).all(of: host) where !isAlive(old.process) {
                try ResidentRows(connection).remove(old.id)
            }
            try connection.run(
                "INSERT INTO resident (host, pid, pidStart, bootID) VALUES (?1, ?2, ?3, ?4)", host,
                Int64(process.pid), process.startTicks, process.bootID)
            let id = ResidentID(rawValue: connection.lastInsertedRowID)
            return StoredResident(id: id, host: host, process: process)
        }
    }

    /// Removes the process: it takes nothing more, and gives back its open launches.
    package func leave(_ id: ResidentID) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let rows = ResidentRows(connection)
            for launch in try rows.openLaunches(of: id) {
                try rows.add(LaunchReport(launch: launch, content: .ended(status: nil)))
            }
            try rows.remove(id)
        }
    }

    /// Tells whether the engine may hand something to the process.
    package func isPresent(_ id: ResidentID) throws(LonghaulError) -> Bool {
        try store.access { try ResidentRows($0).isPresent(id) }
    }

    /// The processes of a host, the latest first.
    package func all(of host: String) throws(LonghaulError) -> [StoredResident] {
        try store.access { try ResidentRows($0).all(of: host) }
    }

    /// The launch that was handed to the process and that it has not ended, with its tasks and
    /// wake-ups.
    package func launch(
        of id: ResidentID
    ) throws(LonghaulError) -> (launch: StoredLaunch, tasks: [StoredTask])? {
        try store.snapshot { connection in
            let rows = ResidentRows(connection)
            guard let open = try rows.openLaunches(of: id).first(where: { try !rows.hasEnd($0) }),
                let launch = try connection.first(
                    LaunchColumns.select + " WHERE l.id = ?1", open, read: LaunchColumns.read)
            else { return nil }
            return (launch, try TaskRows(connection).carried(by: open))
        }
    }

    /// Tells the process that it was handed to whether the launch is to go on.
    package func course(of launch: LaunchID) throws(LonghaulError) -> LaunchCourse {
        try store.access {
            let row = try $0.first(
                "SELECT endedAt IS NOT NULL, expiration FROM launch WHERE id = ?1", launch
            ) { ($0[0] as Bool, $0[1] as String?) }
            guard let row, !row.0 else { return .ended }
            return row.1.map { .expired(ExpirationReason(rawValue: $0) ?? .time) } ?? .goesOn
        }
    }

    /// How many of its tasks have no result.
    package func openTasks(of launch: LaunchID) throws(LonghaulError) -> Int {
        try store.access {
            try $0.value(
                """
                SELECT count(*) FROM task WHERE launch = ?1 AND kind <> 2 \
                AND NOT EXISTS (SELECT 1 FROM launchReport r WHERE r.launch = ?1 \
                AND r.task = identifier)
                """, launch)
        } ?? 0
    }

    /// Records a report of the process, durably. `false`: the launch has ended, or
    /// carries no such task, and the report is ignored.
    package func add(_ report: LaunchReport) throws(LonghaulError) -> Bool {
        try store.write(.durable) { try ResidentRows($0).add(report) }
    }

    /// Records progress of a continued task. `false`: the launch has ended or carries no such task,
    /// or the report makes no sense.
    @discardableResult package func record(
        _ report: ProgressReport, of task: String, in launch: LaunchID
    ) throws(LonghaulError) -> Bool {
        try store.write(.relaxed) { try TaskRows($0).record(report, of: task, in: launch) }
    }

    /// The reports about open launches that are not settled, in order.
    package func reports() throws(LonghaulError) -> [LaunchReport] {
        try store.access { try ResidentRows($0).reports() }
    }
}

/// The course of a launch that was handed to a resident process.
package enum LaunchCourse: Hashable, Sendable {
    case goesOn
    /// The process is to end it within five seconds.
    case expired(ExpirationReason)
    case ended
}

extension Store {
    /// The processes of hosts that run by themselves.
    package var residents: Residents { Residents(store: self) }
}
