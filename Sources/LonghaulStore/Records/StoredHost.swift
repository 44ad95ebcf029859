package import LonghaulCore

package struct StoredHost: Hashable, Sendable {
    package var name: String
    package var settings: HostSettings
    package var created: Timestamp
    /// The number of launches in a row that failed, since the last reset.
    package var failures: Int
    package var retryAt: Timestamp?
    /// Urgent wake-ups wait like others until then.
    package var urgencyLostUntil: Timestamp?
}

extension StoredHost {
    /// Refuses to a job what is meant for programs that speak the protocol of hosts.
    ///
    /// - Throws: `conflict`.
    package func checkIsNoJob() throws(LonghaulError) {
        if settings.job == nil { return }
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
    /// A resident process has left in order, and had not been told to end the launch: what it
    /// carried comes again as if it had not been handed over.
    package var isGivenBack = false

    package init(_ ending: LaunchEnding, status: Int? = nil, output: String? = nil) {
        self.ending = ending
        self.status = status
        self.output = output
    }

    package var isSuccess: Bool { ending == .exited && status == 0 }

    /// EX_TEMPFAIL of sysexits.h: the command of a job could not do its work now.
    package var isDeferral: Bool { isOfJob && ending == .exited && status == 75 }

    /// The launch counts against the host. A launch does not count if it was asked to end for a
    /// reason that is not its own, nor if its end is not known.
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

enum HostColumns {
    /// A failure from before the last reset does not count.
    static let select = """
        SELECT name, argv, permitted, eventBudget, taskBudget, created, \
        CASE WHEN failuresReset = reset THEN failures ELSE 0 END, \
        CASE WHEN failuresReset = reset THEN retryAt END, urgencyLostUntil, job FROM host
        """

    /// If the program of a host cannot be read, its name is empty and cannot be found: the host's
    /// events wait until it is recorded anew. Another program must never run in its place.
    static func read(_ row: StoredRow) -> StoredHost {
        let known = StoredJSON.decode([String].self, row.text(1)) ?? []
        let argv = known.isEmpty ? [""] : known
        var settings = HostSettings(
            argv: argv, permitted: StoredJSON.decode([String].self, row.text(2)) ?? [],
            eventBudget: row.optionalDouble(3), taskBudget: row.optionalDouble(4))
        settings.job = row.optionalText(9).map { text in
            StoredJSON.decode(JobSettings.self, text)
                // Settings that cannot be read must run nothing: no directory has this path.
                ?? JobSettings(directory: "", environment: [:])
        }
        return StoredHost(
            name: row.text(0), settings: settings, created: row.timestamp(5),
            failures: row.count(6), retryAt: row.optionalTimestamp(7),
            urgencyLostUntil: row.optionalTimestamp(8))
    }
}

enum LaunchColumns {
    static let select = """
        SELECT l.id, l.host, (SELECT name FROM session s WHERE s.id = l.sessionID), l.reason, \
        l.firstSeq, l.lastSeq, l.handed, l.startedAt, l.deadline, l.pid, l.pidStart, l.bootID, \
        l.endedAt, l.ending, l.status, l.output, l.expiration, l.processorSeconds, \
        (SELECT group_concat(identifier) FROM taskRun INDEXED BY taskRunByLaunch \
        WHERE launch = l.id), l.resident, \
        EXISTS (SELECT 1 FROM host WHERE name = l.host AND job IS NOT NULL) FROM launch l
        """

    static func read(_ row: StoredRow) -> StoredLaunch {
        var events: ClosedRange<Int64>?
        if let first = row.optionalInt64(4), let last = row.optionalInt64(5), first <= last {
            events = first...last
        }
        return StoredLaunch(
            id: LaunchID(rawValue: row.int64(0)), host: row.text(1), session: row.optionalText(2),
            reason: LaunchReason(rawValue: row.text(3)) ?? .sessionEvents, events: events,
            handed: row.int(6),
            tasks: (row.optionalText(18) ?? "").split(separator: ",").map(String.init),
            startedAt: row.timestamp(7), deadline: row.timestamp(8),
            process: row.isNull(9)
                ? nil
                : LaunchedProcess(
                    pid: Int32(truncatingIfNeeded: row.int64(9)), startTicks: row.int64(10),
                    bootID: row.text(11)),
            isOfJob: row.bool(20),
            resident: row.optionalInt64(19).map(ResidentID.init(rawValue:)),
            requested: expiration(row), endedAt: row.optionalTimestamp(12), outcome: outcome(row))
    }

    private static func outcome(_ row: StoredRow) -> LaunchOutcome? {
        guard let ending = row.optionalText(13) else { return nil }
        var outcome = LaunchOutcome(
            LaunchEnding(rawValue: ending) ?? .unknown, status: row.optionalInt(14),
            output: row.optionalText(15))
        outcome.expiration = expiration(row)
        outcome.processorSeconds = row.optionalDouble(17)
        return outcome
    }

    private static func expiration(_ row: StoredRow) -> ExpirationReason? {
        row.optionalText(16).flatMap(ExpirationReason.init(rawValue:))
    }
}

extension LaunchID: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: handle, at: index)
    }
}
