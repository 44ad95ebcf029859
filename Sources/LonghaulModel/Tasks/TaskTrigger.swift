/// Seconds for which a file at a path is unchanged, unless a request says otherwise, and at most.
private let settleSeconds: (usual: Double, most: Double) = (10, 86_400)
/// Files that an event names at most.
private let eventFiles = 100

/// A change of the machine that launches a host. The counterpart of launches for significant
/// location changes.
public enum TaskTrigger: Hashable, Codable, Sendable, CaseIterable, RawRepresentable {
    /// There is a network again.
    case online
    /// There is another network than before.
    case networkChange
    /// External power has come.
    case power
    /// The machine runs on its battery from now on.
    case battery
    /// The machine has woken from sleep.
    case resume
    /// The machine has been started.
    case boot
    /// A file system was mounted.
    case mount
    /// The file system with this mount point, label or UUID was mounted; see ``mount(_:)``.
    case fileSystem(String)
    /// The machine came onto the network of this name: a connection of NetworkManager by id or
    /// UUID, or a name given by `longhaul network name`.
    case network(String)
    /// The file at this absolute path, or one in the directory there, was created, replaced or
    /// written, and has been complete for `settle` seconds: no program writes to it, and its size
    /// and time have not changed.
    case path(String, settle: Double)

    /// The changes without a name.
    public static let allCases: [TaskTrigger] = [
        .online, .networkChange, .power, .battery, .resume, .boot, .mount,
    ]

    /// The file system with this mount point, label or UUID was mounted.
    public static func mount(_ name: String) -> TaskTrigger { .fileSystem(name) }

    /// The event without its name: `online`, `network-change`, `power`, `battery`, `resume`,
    /// `boot`, `mount`, `network`, `path`.
    public var event: String {
        switch self {
        case .online: "online"
        case .networkChange: "network-change"
        case .power: "power"
        case .battery: "battery"
        case .resume: "resume"
        case .boot: "boot"
        case .mount, .fileSystem: "mount"
        case .network: "network"
        case .path: Self.pathEvent
        }
    }

    /// The name after the event; `nil` = it has none.
    public var name: String? {
        switch self {
        case .fileSystem(let name), .network(let name), .path(let name, _): name
        case .online, .networkChange, .power, .battery, .resume, .boot, .mount: nil
        }
    }

    /// `online`, `mount=backup`, `network=home`, `path=/in`, `path=/in;settle=60`.
    public var rawValue: String {
        guard let name else { return event }
        guard case .path(_, let settle) = self, settle != settleSeconds.usual else {
            return "\(event)=\(name)"
        }
        return "\(event)=\(name)\(Self.settleMark)\(Int(settle))"
    }

    package static let pathEvent = "path"
    private static let settleMark = ";settle="

    /// - Parameter rawValue: The event, and after `=` the name of one that has a name.
    public init?(rawValue: String) {
        guard let mark = rawValue.firstIndex(of: "=") else {
            guard let trigger = Self.allCases.first(where: { $0.event == rawValue }) else {
                return nil
            }
            self = trigger
            return
        }
        let name = rawValue[rawValue.index(after: mark)...]
        switch rawValue[..<mark] {
        case "mount":
            guard let name = MachineName.fileSystem(name) else { return nil }
            self = .fileSystem(name)
        case "network":
            guard let name = MachineName.network(name) else { return nil }
            self = .network(name)
        case "path":
            let parts = Self.settle(name)
            guard let path = MachineName.path(parts.path) else { return nil }
            self = .path(path, settle: parts.settle)
        default: return nil
        }
    }

    private static func settle(_ text: Substring) -> (path: Substring, settle: Double) {
        guard let mark = text.ranges(of: settleMark).last,
            let seconds = text[mark.upperBound...].decimalValue
        else { return (text, settleSeconds.usual) }
        return (text[..<mark.lowerBound], Double(seconds))
    }

    /// The fault of a trigger in a sentence; `nil` = none.
    var defect: String? {
        switch self {
        case .path(_, let settle) where !(0...settleSeconds.most).contains(settle):
            "a file settles for 0s to 1d"
        case .path, .fileSystem, .network:
            // Seconds are whole there.
            TaskTrigger(rawValue: rawValue)?.name == name
                ? nil : "\(event) takes a name without commas; a path is absolute"
        default: nil
        }
    }
}

/// A trigger that has fired, with what it was.
public struct TriggerEvent: Hashable, Codable, Sendable {
    /// The trigger of the request.
    public var trigger: TaskTrigger
    /// Where the file system is mounted; `nil` for other triggers, and where an override says so.
    public var path: String?
    /// Absolute paths of the files of a trigger `path`, at most 100.
    public var files: [String]?

    /// By default without details.
    public init(_ trigger: TaskTrigger, path: String? = nil, files: [String]? = nil) {
        self.trigger = trigger
        self.path = path
        self.files = files
    }

    /// The event has no name, and so no details.
    package var isPlain: Bool { trigger.name == nil }

    /// The event after an earlier one of its trigger.
    func after(_ old: TriggerEvent) -> TriggerEvent {
        guard let new = files, let before = old.files else { return self }
        var all = self
        all.files = Array((before.filter { !new.contains($0) } + new).suffix(eventFiles))
        return all
    }
}

extension Set<TaskTrigger> {
    /// The conditions that have to be watched for these.
    package var interest: ConditionNeeds {
        var needs = ConditionNeeds(
            power: contains(.power) || contains(.battery),
            network: contains(.online) || contains(.networkChange))
        for trigger in self {
            switch trigger {
            case .network(let name): needs.networks.insert(name)
            case .fileSystem(let name): needs.mounts.insert(name)
            default: break
            }
        }
        return needs
    }
}

extension [TaskTrigger] {
    /// As bits in the store, where 0 is a request without triggers: never renumber.
    package var storedBits: Int {
        reduce(0) { bits, trigger in
            switch trigger {
            case .online: bits | 1
            case .networkChange: bits | 2
            case .power: bits | 4
            case .battery: bits | 8
            case .resume: bits | 16
            case .boot: bits | 32
            case .mount: bits | 64
            case .fileSystem: bits | 128
            case .network: bits | 256
            case .path: bits | 512
            }
        }
    }
}

/// What is at a path that a trigger watches.
package struct PathFacts: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        /// Changes with the file: of its number, size and times.
        package var stamp: Int64
        /// Last change of the file or its name.
        package var changedAt: Timestamp
        /// No program writes to it, and it has not changed for the seconds that the trigger wants.
        package var isComplete: Bool

        package init(stamp: Int64, changedAt: Timestamp, isComplete: Bool) {
            self.stamp = stamp
            self.changedAt = changedAt
            self.isComplete = isComplete
        }
    }

    /// By name; `.` is the path itself.
    package var entries: [String: Entry]

    package init(_ entries: [String: Entry] = [:]) {
        self.entries = entries
    }

    /// The complete files that are new or changed: pure.
    ///
    /// - Parameters:
    ///   - seen: Stamps at the last comparison; `nil` = there was none.
    ///   - submitted: When the trigger was asked for: files of before do not count at first.
    /// - Returns: The stamps to be compared with next time, and the files by absolute path.
    func compare(
        with seen: [String: Int64]?, submitted: Timestamp, at path: String
    ) -> (seen: [String: Int64], files: [String]) {
        let before =
            seen ?? entries.filter { $0.value.changedAt <= submitted }.mapValues(\.stamp)
        var now: [String: Int64] = [:]
        var files: [String] = []
        for (name, entry) in entries {
            now[name] = entry.isComplete ? entry.stamp : before[name]
            if entry.isComplete, before[name] != entry.stamp {
                files.append(name == "." ? path : path == "/" ? "/" + name : "\(path)/\(name)")
            }
        }
        return (now, Array(files.sorted().prefix(eventFiles)))
    }
}
