internal import Logging
internal import LonghaulCore
internal import LonghaulPlatform

/// Log lines on standard error: `TIME LEVEL longhaul: MESSAGE KEY=VALUE…`, or, where that is the
/// journal, with the priority that it understands in front (sd-daemon(3)) and without the time,
/// which it knows.
struct StandardErrorLog: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let isJournal: Bool

    init(level: Logger.Level, environment: [String: String]) {
        logLevel = level
        isJournal = StandardError.isJournal(environment: environment)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line: String
        if isJournal {
            line = "<\(event.level.priority)>"
        } else {
            line = "\(RFC3339.format(SystemClock.now().wall)) \(event.level.rawValue) longhaul: "
        }
        line += "\(event.message)"
        let facts = metadata.merging(event.metadata ?? [:]) { $1 }
        for (key, value) in facts.sorted(by: { Self.order($0.key) < Self.order($1.key) }) {
            line += " \(key)=\(Self.shown("\(value)"))"
        }
        StandardError.write(line + "\n")
    }

    /// The transfer comes first.
    private static func order(_ key: String) -> String { key == "transfer" ? "" : key }

    /// Nothing in it ends the line or moves a terminal's cursor.
    private static func shown(_ text: String) -> String {
        let text = TerminalText.shown(text)
        guard text.isEmpty || text.utf8.contains(where: { $0 == 0x20 || $0 == 0x22 }) else {
            return text
        }
        return "\"" + text.map { $0 == "\"" ? "\\\"" : "\($0)" }.joined() + "\""
    }
}

extension Logger.Level {
    /// syslog(3).
    fileprivate var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
