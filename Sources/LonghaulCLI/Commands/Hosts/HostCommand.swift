import ArgumentParser
import Longhaul

struct HostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host",
        abstract: "Register programs to be started when transfers end, and for background tasks.",
        discussion: """
            A host reads JSON Lines from its standard input: events of its sessions, its tasks and \
            wake-ups. An exit with status 0 says that it has dealt with all of them.

              longhaul host add com.example.photos -- /usr/local/bin/photosync --background
              longhaul session set photos --host com.example.photos
              longhaul host show com.example.photos
            """,
        subcommands: [
            HostAdd.self, HostList.self, HostShow.self, HostRemove.self, HostReset.self,
            HostToken.self, HostSubscribe.self, HostUnsubscribe.self,
        ])
}

struct HostAdd: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Register a program as a host, or replace it.",
        discussion: """
            The program is given by its absolute path and run without a shell.

              longhaul host add com.example.photos --event-budget 1m -- /opt/photos/sync

            \(ExitStatus.help([.done, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The host's name: letters, digits, '.', '_' and '-'.")
    var id: String

    @Argument(
        help: "After --: the program by absolute path, and its arguments.", completion: .file())
    var command: [String] = []

    @Option(
        name: .customLong("permit"),
        help: ArgumentHelp(
            "A task that may be submitted for it (repeatable); NAME.* for continued ones.",
            valueName: "task"))
    var permitted: [String] = []

    @Option(
        help: ArgumentHelp(
            "How long a launch for events, refreshes and wake-ups may take (default: 30s).",
            valueName: "duration"))
    var eventBudget: String?

    @Option(
        help: ArgumentHelp(
            "How long a launch for processing tasks may take (default: 10m).", valueName: "duration"
        ))
    var taskBudget: String?

    @Option(
        help: ArgumentHelp(
            "How much memory a launch may have; 1M or more (default: without a limit).",
            valueName: "size"))
    var maxMemory: String?

    @Flag(help: "Notify when one of its tasks, or an activity, has used up its time.")
    var notify = false

    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if command.isEmpty { throw ValidationError("say which program: -- /path/of/it args…") }
    }

    func perform(on console: Console) throws -> ExitStatus {
        var settings = HostSettings(argv: command, permitted: permitted)
        settings.eventBudget = try eventBudget.map {
            try OptionText.duration($0, "--event-budget")
        }
        settings.taskBudget = try taskBudget.map { try OptionText.duration($0, "--task-budget") }
        settings.maxMemory = try maxMemory.map { try OptionText.memory($0, "--max-memory") }
        settings.notifies = notify
        let queue = try TransferQueue()
        try queue.add(host: id, settings)
        // The host is recorded all the same: the program may be installed later.
        switch try queue.host(id)?.obstacle {
        case .missing: warn("does not exist; it is started when it is there", on: console)
        case .notExecutable: warn("may not be run; correct its mode (`chmod +x`)", on: console)
        case .removed, nil: break
        }
        return try report(id, queue, start, on: console)
    }
}

extension HostAdd {
    private func warn(_ what: String, on console: Console) {
        console.say("longhaul: the host's program \(TerminalText.shown(command[0])) \(what)")
    }
}

/// Reports a host after a change that may make a launch due.
private func report(
    _ id: String, _ queue: TransferQueue, _ start: StartOptions, on console: Console
) throws -> ExitStatus {
    guard let host = try queue.host(id) else { return .done }
    if host.nextLaunch != nil { start.start(queue, on: console) }
    if console.isJSON { try console.line { $0.value(host) } }
    return .done
}

struct HostList: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List all hosts, by name.",
        discussion: ExitStatus.help([.done, .usage, .storeUnavailable]))

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let hosts = try TransferQueue().hosts()
        if console.isJSON {
            for host in hosts { try console.line { $0.value(host) } }
            return .done
        }
        let terminal = TerminalFacts.of(1)
        for line in HostText(time: .current()).table(hosts, terminal) { try console.line(line) }
        return .done
    }
}

struct HostShow: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show everything about one host, and its last launches.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @Argument(help: "The host's name.")
    var id: String

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        guard let host = try queue.host(id) else {
            throw LonghaulError(.noSuchHost, "there is no host \(TerminalText.shown(id))")
        }
        if console.isJSON {
            try console.line { $0.value(host) }
            return .done
        }
        let tasks = try queue.tasks.all(host: id)
        for line in HostText(time: .current()).lines(host, tasks) { try console.line(line) }
        return .done
    }
}

struct HostRemove: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract:
            "Remove a host: its sessions and their events stay, its tasks do not.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @Argument(help: "The host's name.")
    var id: String

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try TransferQueue().remove(host: id)
        try console.removed(id)
        return .done
    }
}

struct HostReset: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Forget that a host and its tasks failed: it may be started at once.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @Argument(help: "The host's name.")
    var id: String

    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        try queue.reset(host: id)
        return try report(id, queue, start, on: console)
    }
}

struct HostToken: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Print a new secret that wakes a host over HTTP, and allows nothing else.",
        discussion: """
            It is printed once, and the one before does not count any more. With it another \
            machine sends a wake-up to `longhaul serve`:

              longhaul host token com.example.feed
              curl -H 'Authorization: Bearer SECRET' -d '{"identifier":"mail"}' \\
                http://nas:6800/v1/hosts/com.example.feed/wake

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The host's name.")
    var id: String

    @Flag(help: "Print none: no secret wakes the host any more.")
    var revoke = false

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        let token = revoke ? nil : try HostPushes(queue).makeToken(host: id)
        if revoke { try HostPushes(queue).revokeToken(host: id) }
        if console.isJSON {
            try console.line { json in
                json.object {
                    $0.field("id", id)
                    $0.field("token", token)
                }
            }
        } else if let token {
            try console.line(token)
        }
        return .done
    }
}

struct HostSubscribe: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Subscribe a host to a stream, whose events wake it.",
        discussion: """
            The engine keeps a connection to a stream of Server-Sent Events, or of ntfy's JSON \
            lines. Each event is a wake-up: its identifier is the name of the event, or the \
            topic; its payload is the data, as JSON where it is JSON. A connection that ends is \
            made again and goes on after the last event.

              longhaul host subscribe com.example.feed https://ntfy.sh/mytopic/json
              longhaul host subscribe com.example.feed https://example.com/events --urgent

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The host's name.")
    var id: String

    @Argument(help: "URL of the stream, http or https.")
    var url: String

    @Option(
        name: .customLong("header-from"),
        help: ArgumentHelp(
            "Header fields from this file, read at each connection and never stored.",
            valueName: "file"), completion: .file())
    var headersFrom: String?

    @Flag(help: "Its wake-ups are urgent.")
    var urgent = false

    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        _ = try start.isWanted()
        let file = try headersFrom.map { try InputContext.current().absolute($0) }
        let queue = try TransferQueue()
        try HostPushes(queue).subscribe(host: id, to: url, headersFrom: file, isUrgent: urgent)
        start.start(queue, on: console)
        return try report(id, queue, start, on: console)
    }
}

struct HostUnsubscribe: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "unsubscribe",
        abstract: "Unsubscribe a host from a stream, or from all.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @Argument(help: "The host's name.")
    var id: String

    @Argument(help: "URL of the stream (default: all of the host).")
    var url: String?

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        if try HostPushes(TransferQueue()).unsubscribe(host: id, from: url) == 0 {
            throw LonghaulError(
                .noSuchHost,
                "the host \(TerminalText.shown(id)) has no such subscription;"
                    + " `host show` lists them"
            )
        }
        try console.removed(id)
        return .done
    }
}

extension Console {
    /// Prints a removed host for programs, in the form of a removed transfer; users see that there
    /// was no error.
    func removed(_ name: String) throws {
        if !isJSON { return }
        try line { json in
            json.object {
                $0.field("id", name)
                $0.field("removed", true)
            }
        }
    }
}
