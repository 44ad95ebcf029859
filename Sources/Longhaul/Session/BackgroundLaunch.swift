public import FoundationEssentials
public import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// The reason for the start of this process, if Longhaul started it as a host, and its input.
///
/// A host need not look at it: a ``BackgroundSession`` of the name that it was started for has the
/// same events. An exit with status 0 acknowledges everything handed over; any other leaves
/// unacknowledged items for the next launch.
public struct BackgroundLaunch: Sendable {
    /// Others may be added.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        /// Text of the reason in `$LONGHAUL_LAUNCH_REASON`.
        public let rawValue: String

        /// A reason by its text; an unknown text is a reason, too.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Events of a session wait.
        public static let sessionEvents = Reason(rawValue: "session-events")
        /// A background task is due.
        public static let task = Reason(rawValue: "task")
        /// Another program has woken the host.
        public static let wake = Reason(rawValue: "wake")
        /// A transfer waits for an answer of its host.
        public static let inputNeeded = Reason(rawValue: "input-needed")
    }

    /// Number of the launch, as `longhaul host show` prints it.
    public var id: String
    /// The name of the host that was launched.
    public var host: String?
    /// Why it was started.
    public var reason: Reason
    /// The session that it is about, for ``Reason/sessionEvents`` and ``Reason/inputNeeded``.
    public var session: String?
    /// The identifiers of ``tasks``, with commas between.
    public var task: String?
    /// When the process is asked to end (SIGTERM); five seconds later it is killed. `nil` for a
    /// continued task, which has no time limit while it reports progress.
    public var deadline: Date?
    /// The state directory of the queue that it was started for:
    /// ``BackgroundSession/Configuration/store``.
    public var store: String?
    /// Items that were handed over on standard input, in order.
    public var items: [Item]

    /// A line of standard input.
    public struct Item: Sendable {
        /// `transferCompleted` and so on for an event; `task`, `wake`, `input`.
        public var type: String
        /// The event, where it is one.
        public var event: SessionEvent?
        /// The transfer that it is about.
        public var transfer: Transfer?
        /// The task, where it is one.
        public var task: HandedTask?
        /// The wake-up, where it is one.
        public var wakeUp: HandedWakeUp?
        /// The line as it came.
        public var json: Data
    }

    /// A task that is due. Its result is reported by a line on standard output,
    /// `{"task":ID,"result":"success"}`; without one the exit status counts.
    public struct HandedTask: Hashable, Sendable {
        /// Names the task.
        public var identifier: String
        /// Kind of the task, which bounds the launch.
        public var kind: TaskKind
        /// Payload that was submitted with the request; `nil` = none.
        public var payload: JSONPayload?
        /// All triggers of a standing request, in order; empty for any other.
        public var triggers: [TaskTrigger] = []
        /// The same with their details: where a file system is mounted, and which files are new.
        public var triggerEvents: [TriggerEvent] = []
        /// 1, and one more for each run in a row that has failed.
        public var attempt: Int
        /// When the launch is asked to end; `nil` for a continued task.
        public var deadline: Date?
        /// Title of a continued task; `nil` = another kind.
        public var title: String?
        /// Subtitle of a continued task; `nil` = none.
        public var subtitle: String?

        /// The last of ``triggers``; `nil` if empty.
        public var trigger: TaskTrigger? { triggers.last }
    }

    /// A message of another program.
    public struct HandedWakeUp: Hashable, Sendable {
        /// `nil` = it has none.
        public var identifier: String?
        /// Payload that was sent with the wake-up; `nil` = none.
        public var payload: JSONPayload?
    }

    /// The tasks among ``items``.
    public var tasks: [HandedTask] { items.compactMap(\.task) }

    /// The wake-ups among ``items``.
    public var wakeUps: [HandedWakeUp] { items.compactMap(\.wakeUp) }

    /// The events among ``items``.
    public var events: [SessionEvent] { items.compactMap(\.event) }

    /// The launch of this process; `nil` when it was started otherwise. The first look reads
    /// standard input to its end and blocks until it was given. In a handler of
    /// ``BackgroundHost/run()`` it is the launch that was handed over.
    public static var current: BackgroundLaunch? {
        SimulatedLaunch.current.map(\.launch) ?? handed ?? ofProcess
    }

    /// The launch that was handed to this process while it runs by itself.
    @TaskLocal static var handed: BackgroundLaunch?

    /// The host that this process was started as, without a look at its input.
    static var host: String? {
        SimulatedLaunch.current.map(\.launch.host) ?? handed?.host
            ?? Environment.value("LONGHAUL_HOST")
    }

    private static let ofProcess: BackgroundLaunch? = {
        let environment = Environment.all()
        guard environment["LONGHAUL_LAUNCH_ID"] != nil else { return nil }
        let input = (try? TextFile.readStandardInput()) ?? []
        return BackgroundLaunch(environment: environment, input: Data(input))
    }()

    /// - Parameter input: JSON Lines. An invalid line is ignored: a later version may add kinds.
    init?(environment: [String: String], input: Data) {
        guard let id = environment["LONGHAUL_LAUNCH_ID"], !id.isEmpty else { return nil }
        self.id = id
        host = environment["LONGHAUL_HOST"]
        reason = Reason(rawValue: environment["LONGHAUL_LAUNCH_REASON"] ?? "")
        session = environment["LONGHAUL_SESSION"]
        task = environment["LONGHAUL_TASK"]
        store = environment["LONGHAUL_HOME"]
        deadline = environment["LONGHAUL_DEADLINE"].flatMap(RFC3339.parse).map(Date.init)
        items = input.split(separator: UInt8(ascii: "\n")).compactMap { Item(Data($0)) }
    }
}
