public import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// A host as people see it.
public struct HostRecord: Sendable {
    /// The name that it was made known by.
    public var name: String
    /// The host's program, budgets and permitted tasks.
    public var settings: HostSettings
    /// The host is a job.
    package var isJob = false
    /// When it was first made known.
    public var createdAt: Timestamp
    /// State of the host: whether it is started, and when.
    public var state: HostState
    /// Why its program could not be started now; `nil` = it could be.
    public var obstacle: LaunchObstacle?
    /// Launches in a row that failed.
    public var failures: Int
    /// When it is started next, if that is known.
    public var nextLaunch: Timestamp?
    /// The last ones, newest first.
    public var launches: [LaunchRecord]
    /// Urgent wake-ups are handed over like others until then, since three in a row were not
    /// handled; `nil` = they are urgent.
    public var urgencyLostUntil: Timestamp?
    /// A secret wakes it over HTTP, see ``HostPushes/makeToken(host:)``.
    public var hasToken = false
    /// Streams whose events wake it. ``TransferQueue/hosts()`` does not read them.
    public var subscriptions: [PushSubscription] = []
    /// Wake-ups that wait, and then the last ones that were dropped or not handled, newest first.
    /// ``TransferQueue/hosts()`` does not read them.
    public var wakeUps: [WakeUpRecord] = []
}

/// A start of a host.
public struct LaunchRecord: Sendable {
    /// Number of the launch, as `longhaul host show` prints it; also `$LONGHAUL_LAUNCH_ID`.
    public var id: Int64
    /// The reason for the launch.
    public var reason: LaunchReason
    /// The session that it was started for; `nil` = none.
    public var session: String?
    /// The first and the last of the events that it was handed.
    public var events: ClosedRange<Int64>?
    /// Number of the handed-over events.
    public var handed: Int
    /// The identifiers of the tasks that it carries.
    public var tasks: [String]
    /// The process; `nil` = it could not be started.
    public var pid: Int32?
    /// When it was started.
    public var startedAt: Timestamp
    /// When it was to end by itself: SIGTERM, and SIGKILL five seconds later.
    public var deadline: Timestamp
    /// When its end was recorded; `nil` = it runs.
    public var endedAt: Timestamp?
    /// `nil` = it runs.
    public var ending: LaunchEnding?
    /// Exit status, or the signal that ended it.
    public var status: Int?
    /// The end of its output.
    public var output: String?
    /// Why it was asked to end; `nil` = it was not.
    public var expiration: ExpirationReason?
    /// Seconds of processor time used by it and its child processes, as last read; `nil` = not
    /// read: short launches are not measured.
    public var processorSeconds: Double?
}

extension TransferQueue {
    /// Registers a program that may be started, or registers it again: earlier failures are
    /// forgotten.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; `invalidRequest` for an invalid name, a
    ///   program without an absolute path, or a task's identifier with spaces or commas.
    public func add(host name: String, _ settings: HostSettings) throws(LonghaulError) {
        try settings.check(as: name)
        try store.hosts.add(name, settings, now: now)
        WakeChannel.poke(directory)
    }

    /// All hosts, each with its last launch.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func hosts() throws(LonghaulError) -> [HostRecord] {
        try TaskReader(self).records(try store.hosts.all(), launches: 1)
    }

    /// Finds a host by name, with its last launches; `nil` if unknown.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func host(_ name: String) throws(LonghaulError) -> HostRecord? {
        guard let host = try store.hosts.find(name) else { return nil }
        let reader = try TaskReader(self)
        var record = try reader.records([host], launches: Limits.launchesKept).first
        record?.wakeUps = try reader.wakeUps(of: host)
        record?.subscriptions = try HostPushes(self).all(of: name)
        return record
    }

    /// No program is started under that name any more. Its sessions keep their events, for the next
    /// host of that name.
    ///
    /// - Throws: `LonghaulError` `noSuchHost`, `storeUnavailable`.
    public func remove(host name: String) throws(LonghaulError) {
        try store.hosts.remove(name)
        WakeChannel.poke(directory)
    }

    /// Forgets that it failed: it is started at once if something waits for it.
    ///
    /// - Throws: `LonghaulError` `noSuchHost`, `storeUnavailable`.
    public func reset(host name: String) throws(LonghaulError) {
        try store.hosts.reset(name, now: now)
        WakeChannel.poke(directory)
    }

    /// Says that this process is the host, for as long as the result lives: it gets its events
    /// itself (``followEvents(after:session:waitingOnly:)``) and is not started meanwhile. Several
    /// processes may be it at once.
    ///
    /// - Throws: `LonghaulError` `noSuchHost`, `storeUnavailable`; `io` or `permission` when its
    ///   lock cannot be opened.
    public func attach(host name: String) throws(LonghaulError) -> HostAttachment {
        guard let host = try store.hosts.find(name) else { throw HostSettings.unknown(name) }
        try host.checkIsNoJob()
        let attachment = try HostAttachment(name, directory)
        try reset(host: name)
        try recordUse(ofHost: name)
        return attachment
    }

    /// Says that the host is used now, as one that attaches or is run by its user is: its refreshes
    /// are planned by that. Several uses within an hour count as one; an unknown host has none.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func recordUse(ofHost name: String) throws(LonghaulError) {
        try store.hosts.recordUse(name, now, LocalTime.ofProcess)
        WakeChannel.poke(directory)
    }
}

extension TaskReader {
    /// - Parameter limit: The launches of each.
    fileprivate func records(
        _ hosts: [StoredHost], launches limit: Int
    ) throws(LonghaulError) -> [HostRecord] {
        try hosts.map { host throws(LonghaulError) in
            let (known, next) = plan.facts(of: host.name)
            var record = HostRecord(
                host, LaunchPolicy.state(of: known, now: queue.now),
                try queue.store.hosts.launches(of: host.name, limit: limit))
            record.nextLaunch = record.nextLaunch ?? next
            record.obstacle = known.obstacle
            record.hasToken = host.hasToken
            record.urgencyLostUntil = host.urgencyLostUntil.flatMap { $0 > queue.now ? $0 : nil }
            return record
        }
    }
}

extension HostSettings {
    /// - Throws: `invalidRequest`.
    func check(as name: String) throws(LonghaulError) {
        try Self.check(host: name)
        guard let program = argv.first, program.isAbsolutePath else {
            throw LonghaulError(.invalidRequest, "a host's program is given by its absolute path")
        }
        if argv.contains(where: { $0.utf8.contains(0) }) {
            throw LonghaulError(.invalidRequest, "an argument contains a null")
        }
        for identifier in permitted {
            if let defect = TaskRequest(identifier: identifier).defect {
                throw LonghaulError(.invalidRequest, defect)
            }
        }
        for budget in [eventBudget, taskBudget] {
            guard let budget else { continue }
            if !(budget > 0) || budget > 86_400 {
                throw LonghaulError(.invalidRequest, "a budget is more than 0, and 24h at most")
            }
        }
        if let maxMemory, maxMemory < Limits.memoryMinimumBytes {
            throw LonghaulError(.invalidRequest, "the memory of a launch is 1M or more")
        }
    }

    fileprivate static func unknown(_ name: String) -> LonghaulError {
        LonghaulError(.noSuchHost, "there is no host \(name)")
    }

    /// Names that are valid file names, too.
    private static func check(host name: String) throws(LonghaulError) {
        guard name.isPlainName else {
            throw LonghaulError(
                .invalidRequest,
                "the name of a host has letters, digits, '.', '_' and '-', as com.example.photos")
        }
    }
}

/// See ``TransferQueue/attach(host:)``.
public final class HostAttachment: Sendable {
    private let lock: HostLock
    private let host: ProcessHost

    init(_ name: String, _ directory: String) throws(LonghaulError) {
        do throws(SystemFailure) {
            lock = try HostLock(of: name, in: directory)
        } catch {
            throw error.longhaulError()
        }
        host = ProcessHost(name: name, directory: directory)
        host.enter()
    }

    deinit { host.leave() }
}

extension HostRecord {
    fileprivate init(_ host: StoredHost, _ state: HostState, _ launches: [StoredLaunch]) {
        var next: Timestamp?
        switch state {
        case .due(let at), .delayed(let at): next = at
        case .idle, .attached, .running: next = host.retryAt
        case .blocked: next = nil
        }
        self.init(
            name: host.name, settings: host.program.settings, isJob: host.program.isJob,
            createdAt: host.created, state: state,
            failures: host.failures, nextLaunch: next,
            launches: launches.map { LaunchRecord($0) })
    }
}

extension LaunchRecord {
    fileprivate init(_ launch: StoredLaunch) {
        self.init(
            id: launch.id.rawValue, reason: launch.reason, session: launch.session,
            events: launch.events, handed: launch.handed, tasks: launch.tasks,
            pid: launch.process?.pid,
            startedAt: launch.startedAt, deadline: launch.deadline, endedAt: launch.endedAt,
            ending: launch.outcome?.ending, status: launch.outcome?.status,
            output: launch.outcome?.output, expiration: launch.outcome?.expiration,
            processorSeconds: launch.outcome?.processorSeconds)
    }
}
