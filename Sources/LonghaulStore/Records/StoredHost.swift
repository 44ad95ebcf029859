package import LonghaulModel

package struct StoredHost: Hashable, Sendable {
    package var name: String
    package var program: LaunchedProgram
    package var created: Timestamp
    /// The number of launches in a row that failed, since the last reset.
    package var failures: Int
    package var retryAt: Timestamp?
    /// Urgent wake-ups wait like others until then.
    package var urgencyLostUntil: Timestamp?
    package var wakeUpBudget: WakeUpBudget
    /// A token wakes it over HTTP.
    package var hasToken: Bool
}

extension StoredHost {
    /// Refuses calls on a job that are meant for programs that speak the protocol of hosts.
    ///
    /// - Throws: `conflict`.
    package func checkIsNoJob() throws(LonghaulError) {
        if !program.isJob { return }
        throw LonghaulError(.conflict, "\(name) is a job: `longhaul job` changes and removes it")
    }
}

/// A start of a host.
package struct StoredLaunch: Hashable, Sendable {
    package var id: LaunchID
    package var host: String
    /// `nil`: the launch was for no session, or for one that was removed.
    package var session: String?
    package var reason: LaunchReason
    /// The first and last of the events that it was handed.
    package var events: ClosedRange<Int64>?
    package var handed: Int
    /// The identifiers of its tasks.
    package var tasks: [String] = []
    package var startedAt: Timestamp
    package var deadline: Timestamp
    package var process: LaunchedProcess?
    /// A command of a job.
    package var isOfJob = false
    /// The process ran before and takes the launch as its own; `nil` = it was made for the launch.
    package var resident: ResidentID?
    /// A resident process was asked to end it.
    package var requested: ExpirationReason?
    package var endedAt: Timestamp?
    /// `nil` = it runs.
    package var outcome: LaunchOutcome?
}

/// How a launch ended.
package struct LaunchOutcome: Hashable, Sendable {
    package var ending: LaunchEnding
    /// Exit status or signal.
    package var status: Int?
    /// The last part of its output.
    package var output: String?
    package var expiration: ExpirationReason?
    /// Processor time of the launch's process group; `nil` = not measured.
    package var processorSeconds: Double?
    /// The launch ran a job's command, whose status 75 puts the run off.
    package var isOfJob = false
    /// A resident process has left in order without having been asked to end the launch: its work
    /// comes again as if it had not been handed over.
    package var isGivenBack = false

    package init(_ ending: LaunchEnding, status: Int? = nil, output: String? = nil) {
        self.ending = ending
        self.status = status
        self.output = output
    }

    package var isSuccess: Bool { ending == .exited && status == 0 }

    /// EX_TEMPFAIL of sysexits.h: the command of a job could not do its work now.
    package var isDeferral: Bool { isOfJob && ending == .exited && status == 75 }

    /// The launch counts against the host. A launch does not count if it was asked to end for an
    /// external reason, or if its end is unknown.
    package var isFailure: Bool {
        !isSuccess && !isDeferral && ending != .unknown && expiration != .requirement
            && expiration != .cancelled
    }
}

/// A process that can be distinguished from a later one with the same number.
package struct LaunchedProcess: Hashable, Sendable {
    package var pid: Int32
    package var startTicks: Int64
    package var bootID: String

    package init(pid: Int32, startTicks: Int64, bootID: String) {
        self.pid = pid
        self.startTicks = startTicks
        self.bootID = bootID
    }
}

enum HostColumns: Int32, StoredColumn {
    case name, argv, permitted, eventBudget, taskBudget, created, failures, retryAt
    case urgencyLostUntil, job, wakeUpsFullAt, hasToken, maxMemory, notify

    var sql: String {
        switch self {
        // A failure from before the last reset does not count.
        case .failures: "CASE WHEN failuresReset = reset THEN failures ELSE 0 END"
        case .retryAt: "CASE WHEN failuresReset = reset THEN retryAt END"
        case .hasToken: "token IS NOT NULL"
        default: "\(self)"
        }
    }

    static let select = "SELECT \(list) FROM host"

    /// If the program of a host cannot be read, its name is empty and cannot be found: the host's
    /// events wait until the program is recorded again. Another program must never run in its
    /// place.
    static func read(_ row: StoredRow<HostColumns>) -> StoredHost {
        let argv: [String] = row.json(.argv) ?? []
        var settings = HostSettings(
            argv: argv.isEmpty ? [""] : argv, permitted: row.json(.permitted) ?? [],
            eventBudget: row[.eventBudget], taskBudget: row[.taskBudget],
            maxMemory: row[.maxMemory])
        settings.notifies = row[.notify]
        var program = LaunchedProgram.host(settings)
        if !row.isNull(.job) {
            // Settings that cannot be read must run nothing: no directory has this path.
            let job: JobSettings? = row.json(.job)
            program = .job(
                argv: program.argv, job ?? JobSettings(directory: "", environment: [:]))
        }
        return StoredHost(
            name: row[.name], program: program, created: row[.created],
            failures: row.count(.failures), retryAt: row[.retryAt],
            urgencyLostUntil: row[.urgencyLostUntil],
            wakeUpBudget: WakeUpBudget(fullAt: row[.wakeUpsFullAt]), hasToken: row[.hasToken])
    }
}

enum LaunchColumns: Int32, StoredColumn {
    case id, host, session, reason, firstSeq, lastSeq, handed, startedAt, deadline, pid, pidStart
    case bootID, endedAt, ending, status, output, expiration, processorSeconds, tasks, resident
    case isOfJob

    var sql: String {
        switch self {
        case .session: "(SELECT name FROM session s WHERE s.id = l.sessionID)"
        case .tasks:
            """
            (SELECT group_concat(identifier) FROM taskRun INDEXED BY taskRunByLaunch \
            WHERE launch = l.id)
            """
        case .isOfJob: "EXISTS (SELECT 1 FROM host WHERE name = l.host AND job IS NOT NULL)"
        default: "l.\(self)"
        }
    }

    static let select = "SELECT \(list) FROM launch l"

    static func read(_ row: StoredRow<LaunchColumns>) -> StoredLaunch {
        var events: ClosedRange<Int64>?
        if let first: Int64 = row[.firstSeq], let last: Int64 = row[.lastSeq], first <= last {
            events = first...last
        }
        let tasks: String = row[.tasks]
        return StoredLaunch(
            id: row[.id], host: row[.host], session: row[.session],
            reason: row.known(.reason) ?? .sessionEvents, events: events, handed: row[.handed],
            tasks: tasks.split(separator: ",").map(String.init),
            startedAt: row[.startedAt], deadline: row[.deadline],
            process: row.isNull(.pid)
                ? nil : row.process(.pid, start: .pidStart, boot: .bootID),
            isOfJob: row[.isOfJob], resident: row[.resident], requested: row.known(.expiration),
            endedAt: row[.endedAt], outcome: outcome(row))
    }

    private static func outcome(_ row: StoredRow<LaunchColumns>) -> LaunchOutcome? {
        if row.isNull(.ending) { return nil }
        var outcome = LaunchOutcome(
            row.known(.ending) ?? .unknown, status: row[.status], output: row[.output])
        outcome.expiration = row.known(.expiration)
        outcome.processorSeconds = row[.processorSeconds]
        return outcome
    }
}

extension StoredRow {
    func process(_ pid: Column, start: Column, boot: Column) -> LaunchedProcess {
        LaunchedProcess(
            pid: Int32(truncatingIfNeeded: self[pid] as Int64), startTicks: self[start],
            bootID: self[boot])
    }
}
