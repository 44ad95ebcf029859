/// Why a host was started. The text is stored, printed, and in the environment of the host.
public enum LaunchReason: String, Codable, Sendable, CaseIterable {
    /// Events of a session wait.
    case sessionEvents = "session-events"
    /// A transfer waits for an answer of its host.
    case inputNeeded = "input-needed"
    /// A background task is due.
    case task
    /// The host was woken by another program.
    case wake
}

/// How a launch ended. The text is stored and printed.
public enum LaunchEnding: String, Codable, Sendable, CaseIterable {
    /// The program ended by itself; its exit status says whether all went well.
    case exited
    /// A signal ended it that was not ours.
    case signalled
    /// The launch's time was over: the process was asked to end, and killed if it did not.
    case expired
    /// The processes of the launch together needed more memory than they may have, and were ended.
    case exceededMemory
    /// The program could not be started.
    case notStarted
    /// The process ended while no engine watched it, or its status was lost.
    case unknown
}

/// Why a host cannot be started as things are. Its events wait until that is mended.
public enum LaunchObstacle: String, Codable, Sendable, CaseIterable {
    /// The host is not known any more, or not yet.
    case removed
    /// The host's program is not there.
    case missing
    /// The host's program may not be run.
    case notExecutable
}

package struct LaunchID: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: LaunchID, right: LaunchID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Names a process of a host that runs by itself and takes launches.
package struct ResidentID: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// Names a process that reads the bytes of a transfer as they come.
package struct ReaderID: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// Names a request in the store.
package struct TaskID: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: TaskID, right: TaskID) -> Bool { left.rawValue < right.rawValue }
}

/// A task or wake-up that may begin now: its time has come, and its conditions hold.
package struct DueTask: Hashable, Sendable {
    package enum Kind: Int, Sendable {
        case refresh = 0
        case processing = 1
        case wakeUp = 2
        /// Stored as ``processing``: its definition says that it is continued.
        case continued = 3
    }

    package var id: TaskID
    package var kind: Kind
    /// No delay of its host holds it back.
    package var isUrgent: Bool

    package init(id: TaskID, kind: Kind, isUrgent: Bool = false) {
        self.id = id
        self.kind = kind
        self.isUrgent = isUrgent
    }
}

/// How many launches a host may have for plain wake-ups alone: some at once, and then one in each
/// interval.
package struct WakeUpBudget: Hashable, Sendable {
    /// When all launches are there again; `nil` = they are.
    package var fullAt: Timestamp?

    package init(fullAt: Timestamp? = nil) {
        self.fullAt = fullAt
    }

    /// When the next launch may begin. A moment that no number of launches leads to comes from a
    /// clock that was wrong.
    package func nextAt(now: Timestamp) -> Timestamp {
        let seconds = Limits.wakeUpIntervalSeconds
        let most = Double(Limits.wakeUpsAtOnce) * seconds
        guard let fullAt, fullAt <= now + most else { return now }
        return max(now, fullAt + -(most - seconds))
    }

    /// Counts a launch that begins now.
    package mutating func spend(now: Timestamp) {
        let most = now + Double(Limits.wakeUpsAtOnce) * Limits.wakeUpIntervalSeconds
        let before = fullAt.map { $0 > most ? now : max($0, now) } ?? now
        fullAt = min(before + Limits.wakeUpIntervalSeconds, most)
    }
}

/// A program that may be started, as it was made known.
public struct HostSettings: Hashable, Sendable {
    /// The program by absolute path, then its arguments. Run without a shell.
    public var argv: [String]
    /// Identifiers of the background tasks that may be submitted for it; `NAME.*` for continued
    /// tasks whose identifiers begin so.
    public var permitted: [String]
    /// Seconds that a launch for events, refreshes and wake-ups may take; `nil` =
    /// ``defaultEventBudget``.
    public var eventBudget: Double?
    /// Seconds that a launch for processing tasks may take; `nil` = ``defaultTaskBudget``.
    public var taskBudget: Double?
    /// Bytes of memory that a launch may have, 1 MiB and more; `nil` = without a limit. They are a
    /// limit for all processes of the launch together (`MemoryMax=` of systemd) where the user has
    /// a systemd manager with a memory controller, else for each of them (`RLIMIT_DATA`). A process
    /// that runs by itself and takes launches has no limit.
    public var maxMemory: Int64?
    /// The user is notified when a task of the host, or a background activity of its process, has
    /// used up its time.
    public var notifies = false

    /// 30 seconds.
    public static let defaultEventBudget: Double = 30
    /// Ten minutes.
    public static let defaultTaskBudget: Double = 600

    /// A program with default budgets, no background tasks and no limit.
    public init(
        argv: [String], permitted: [String] = [], eventBudget: Double? = nil,
        taskBudget: Double? = nil, maxMemory: Int64? = nil
    ) {
        self.argv = argv
        self.permitted = permitted
        self.eventBudget = eventBudget
        self.taskBudget = taskBudget
        self.maxMemory = maxMemory
    }
}

/// Settings for all transfers of a session, and the host that gets their events.
public struct SessionSettings: Hashable, Sendable {
    /// The program that gets the events; `nil` = the events wait.
    public var host: String?
    /// Transfers enqueued from now on are discretionary, also if their request is not.
    public var isDiscretionary = false
    /// The host is started for events. If not, the events wait until the host comes for them.
    public var launchEvents = true
    /// The host is asked before a transfer begins that was put off to a later time.
    public var askBeforeStart = false
    /// Seconds from the first event that waits to the start of the host, so that it is started once
    /// for many; `nil` = ``defaultLaunchDelay``. A session without live transfers waits for
    /// nothing.
    public var launchDelay: Double?
    /// The user is notified when the session has finished, when one of its transfers needs an
    /// answer, and, of a bundle, when a version is ready or has failed.
    public var notifies = false

    /// Five seconds.
    public static let defaultLaunchDelay: Double = 5

    /// The settings of a new session: no host, nothing discretionary.
    public init() {}
}

/// Changes that `session set` may make. `nil` = unchanged.
public struct SessionChange: Hashable, Sendable {
    /// `.some(nil)` = no host any more.
    public var host: String??
    /// ``SessionSettings/isDiscretionary``; transfers enqueued before keep theirs.
    public var isDiscretionary: Bool?
    /// ``SessionSettings/launchEvents``.
    public var launchEvents: Bool?
    /// ``SessionSettings/askBeforeStart``.
    public var askBeforeStart: Bool?
    /// `.some(nil)` = the default.
    public var launchDelay: Double??
    /// ``SessionSettings/notifies``.
    public var notifies: Bool?

    /// Changes nothing.
    public init() {}

    package func apply(to settings: inout SessionSettings) {
        if let host { settings.host = host }
        if let isDiscretionary { settings.isDiscretionary = isDiscretionary }
        if let launchEvents { settings.launchEvents = launchEvents }
        if let askBeforeStart { settings.askBeforeStart = askBeforeStart }
        if let launchDelay { settings.launchDelay = launchDelay }
        if let notifies { settings.notifies = notifies }
    }
}
