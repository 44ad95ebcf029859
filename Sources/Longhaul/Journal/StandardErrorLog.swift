internal import Logging
internal import LonghaulCore
internal import LonghaulPlatform

/// Log lines on standard error: `TIME LEVEL longhaul: MESSAGE KEY=VALUE…`, or, where that is the
/// journal, with the priority that it understands in front (sd-daemon(3)) and without the time,
/// which it knows.
struct StandardErrorLog {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let isJournal: Bool

    private init(level: Logger.Level) {
        logLevel = level
        isJournal = StandardError.isJournal(environment: Environment.all())
    }

    /// A logger that writes what has at least this level.
    static func logger(level: Logger.Level) -> Logger {
        let log: any LoggerSource = StandardErrorLog(level: level)
        return log.logger
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(
        level: Logger.Level, message: Logger.Message, metadata more: Logger.Metadata?,
        source: String, file: String, function: String, line: UInt
    ) {
        var text: String
        if isJournal {
            text = "<\(level.priority)>"
        } else {
            text = "\(RFC3339.format(SystemClock.now().wall)) \(level.rawValue) longhaul: "
        }
        text += "\(message)"
        let facts = metadata.merging(more ?? [:]) { $1 }
        for (key, value) in facts.sorted(by: { Self.order($0.key) < Self.order($1.key) }) {
            text += " \(key)=\(Self.shown("\(value)"))"
        }
        StandardError.write(text + "\n")
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

/// Conforms with the method of all versions of swift-log. 1.11 deprecates it for one with a type
/// that older versions do not have. Only deprecated code, used through a protocol, compiles with
/// both and without a warning.
@available(*, deprecated) extension StandardErrorLog: LogHandler {}

private protocol LoggerSource {
    var logger: Logger { get }
}

extension StandardErrorLog: LoggerSource {
    @available(*, deprecated) fileprivate var logger: Logger {
        Logger(label: "longhaul", factory: { _ in self })
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
