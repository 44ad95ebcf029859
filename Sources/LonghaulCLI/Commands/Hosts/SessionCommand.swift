import ArgumentParser
import Longhaul

struct SessionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Show and change sessions: groups of transfers with one host.",
        discussion: """
            A session comes into being with its first transfer, or when it is set.

              longhaul session set photos --host com.example.photos --discretionary
              longhaul enqueue --session photos https://example.com/1.jpg
              longhaul session show photos --json | jq .waitingEvents
            """,
        subcommands: [
            SessionList.self, SessionShow.self, SessionSet.self, SessionRemove.self,
        ])
}

struct SessionList: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List all sessions, by name.",
        discussion: ExitStatus.help([.done, .usage, .storeUnavailable]))

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let sessions = try TransferQueue().sessions()
        if console.isJSON {
            for session in sessions { try console.line { $0.value(session) } }
            return .done
        }
        let terminal = TerminalFacts.of(1)
        for line in SessionText.table(sessions, terminal) { try console.line(line) }
        return .done
    }
}

struct SessionShow: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show everything about one session.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @Argument(help: "The session's name.")
    var id: String

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        guard let session = try TransferQueue().session(id) else {
            throw LonghaulError.noSuchSession(id)
        }
        if console.isJSON {
            try console.line { $0.value(session) }
            return .done
        }
        for line in SessionText.lines(session, time: .current()) { try console.line(line) }
        return .done
    }
}

struct SessionSet: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change the settings of a session; create it if it is missing.",
        discussion: """
            Transfers that were enqueued before keep their settings; the host applies to all of \
            them, and to waiting events.

              longhaul session set photos --host com.example.photos --launch-delay 1m
              longhaul session set photos --launch-events off

            \(ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The session's name.")
    var id: String

    @Option(help: "The host that receives its events, or none.")
    var host: String?

    @Flag(inversion: .prefixedNo, help: "Let the engine pick the moment for its transfers.")
    var discretionary: Bool?

    @Option(help: ArgumentHelp("Start the host for events.", valueName: "on|off"))
    var launchEvents: String?

    @Option(
        help: ArgumentHelp(
            "Ask the host before a postponed transfer begins.", valueName: "on|off"))
    var askBeforeStart: String?

    @Option(
        help: ArgumentHelp(
            "From the first event to the start of the host (default: 5s), or default.",
            valueName: "duration"))
    var launchDelay: String?

    @Option(
        help: ArgumentHelp(
            "Notify on the desktop when it has finished or needs an answer.", valueName: "on|off"))
    var notify: String?

    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        var change = SessionChange()
        if let host { change.host = .some(host == "none" ? nil : host) }
        change.isDiscretionary = discretionary
        change.launchEvents = try launchEvents.map { try OptionText.onOff($0, "--launch-events") }
        change.askBeforeStart = try askBeforeStart.map {
            try OptionText.onOff($0, "--ask-before-start")
        }
        change.notifies = try notify.map { try OptionText.onOff($0, "--notify") }
        if let launchDelay {
            change.launchDelay = .some(
                launchDelay == "default"
                    ? nil : try OptionText.duration(launchDelay, "--launch-delay"))
        }
        let queue = try TransferQueue()
        try queue.change(session: id, change)
        guard let session = try queue.session(id) else { return .done }
        // Events may have waited for a host.
        if session.settings.host != nil, session.waitingEvents > 0 {
            start.start(queue, on: console)
        }
        if console.isJSON { try console.line { $0.value(session) } }
        return .done
    }
}

struct SessionRemove: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Forget a session with its ended transfers and its events.",
        discussion: """
            Refused while a transfer has not ended, and while unacknowledged events wait, unless \
            they are discarded.

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The session's name.")
    var id: String

    @Flag(help: "Forget unacknowledged events, too.")
    var discardEvents = false

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try TransferQueue().remove(session: id, discardingEvents: discardEvents)
        try console.removed(id)
        return .done
    }
}

enum SessionText {
    static func table(_ sessions: [SessionRecord], _ terminal: TerminalFacts) -> [String] {
        let rows = sessions.map { session in
            let ended = session.counts.reduce(0) { $1.key.hasEnded ? $0 + $1.value : $0 }
            let all = session.counts.reduce(0) { $0 + $1.value }
            return [
                TerminalText.shown(session.name),
                session.settings.host.map { TerminalText.shown($0) } ?? "none",
                "\(all - ended)", "\(ended)",
                session.settings.host == nil ? "-" : "\(session.waitingEvents)",
            ]
        }
        return TableLayout.lines(
            [
                .init(title: "SESSION"), .init(title: "HOST"), .init(title: "LIVE"),
                .init(title: "ENDED", dropRank: 1), .init(title: "EVENTS WAITING"),
            ], rows, terminal)
    }

    static func lines(_ session: SessionRecord, time: TimeText) -> [String] {
        let settings = session.settings
        let delay = settings.launchDelay ?? SessionSettings.defaultLaunchDelay
        let counts = TransferState.allCases.compactMap { state in
            session.counts[state].map { "\($0) \(state.rawValue)" }
        }
        return [
            "session        \(TerminalText.shown(session.name))",
            "created        \(time.full(session.createdAt))",
            "host           \(settings.host.map { TerminalText.shown($0) } ?? "none")",
            "discretionary  \(settings.isDiscretionary ? "yes" : "no")",
            "launch         \(settings.launchEvents ? "after \(Units.duration(delay))" : "off")",
            "asked before   \(settings.askBeforeStart ? "yes" : "no")",
            "notifies       \(settings.notifies ? "yes" : "no")",
            "transfers      \(counts.isEmpty ? "none" : counts.joined(separator: ", "))",
            "events         \(waiting(session)), \(acknowledged(session))",
        ]
    }

    /// Without a host nothing comes for them.
    private static func waiting(_ session: SessionRecord) -> String {
        session.settings.host == nil
            ? "\(session.waitingEvents) kept (there is no host)"
            : "\(session.waitingEvents) waiting"
    }

    private static func acknowledged(_ session: SessionRecord) -> String {
        let through = session.acknowledgedThrough
        if through == 0 { return "none acknowledged" }
        let deed = session.acknowledgingLaunch.map { "launch \($0)" } ?? "hand"
        return "acknowledged through \(through) by \(deed)"
    }
}
