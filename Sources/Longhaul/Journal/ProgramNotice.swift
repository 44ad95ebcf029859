internal import Logging
internal import LonghaulCore
internal import LonghaulPlatform

/// Messages of the log to the author of a program that embeds the library.
enum ProgramNotice: Hashable, Sendable {
    /// The name of an activity that was deinitialised without its end.
    case leaked(String)
    /// The name of the activity, and the seconds that it was given.
    case overdue(String, Double)
    case nothingHoldsSleepBack
    /// The host and the task that it asked for.
    case noEngine(host: String, task: String)
    /// The command that notifies the user, and how it failed.
    case noticeCommand(String, String)

    /// Writes one line on standard error. Warnings are shown unless `LONGHAUL_LOG`
    /// asks for less; a machine that does not wait is shown if it asks for notices.
    func log() {
        guard let wanted = JournalLevel.wanted(standard: .warning) else { return }
        StandardErrorLog.logger(level: wanted).log(level: level, message, metadata: facts)
    }

    private var level: Logger.Level {
        switch self {
        case .leaked, .overdue, .noEngine, .noticeCommand: .warning
        case .nothingHoldsSleepBack: .notice
        }
    }

    private var message: Logger.Message {
        switch self {
        case .leaked: "a background activity was let go of before its end; keep it, and call end()"
        case .overdue: "a background activity has outlived its budget; it was ended"
        case .nothingHoldsSleepBack:
            "sleep and shutdown do not wait for background activities; logind does not answer"
        case .noticeCommand: "the command of notify.command has failed"
        case .noEngine:
            """
            a task waits, and no engine runs that starts its host; install one with \
            `longhaul install`, or keep a session open
            """
        }
    }

    private var facts: Logger.Metadata {
        switch self {
        case .leaked(let name): ["activity": "\(name)"]
        case .overdue(let name, let seconds): ["activity": "\(name)", "seconds": "\(seconds)"]
        case .nothingHoldsSleepBack: [:]
        case .noticeCommand(let program, let how): ["program": "\(program)", "how": "\(how)"]
        case .noEngine(let host, let task): ["host": "\(host)", "task": "\(task)"]
        }
    }
}
