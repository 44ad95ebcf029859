import ArgumentParser
import Longhaul

struct Install: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Set up a service or a cron entry that runs transfers in the background.",
        discussion: """
            --systemd writes units for your own service manager: an engine that is started when \
            something is to be done and leaves when nothing is, and a timer that runs `longhaul \
            run` once an hour should no engine run. --cron puts one marked line for `longhaul run` \
            into your crontab. The options of `run` are passed on. Doing it again updates it; \
            `uninstall` removes it.

              longhaul install --systemd
              longhaul install --cron "*/30 * * * *" --max-time 25m
              longhaul install --cron @hourly --spread 30m --max-bytes 2G --print

            \(ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))
            """)

    @Flag(help: "Set up services of your user, with systemd.")
    var systemd = false

    @Option(
        help: ArgumentHelp(
            "Set up a cron entry for these times: \"*/30 * * * *\".", valueName: "spec"))
    var cron: String?

    @Option(
        help: ArgumentHelp(
            "Delay each start by a part of this time, fixed for the machine (default: 5m with "
                + "--systemd).", valueName: "duration"))
    var spread: String?

    @Flag(help: "Only show what would be written.")
    var print = false

    @OptionGroup(title: "For `longhaul run`") var box: RunOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    func validate() throws {
        if systemd, cron != nil { throw ValidationError("--systemd and --cron exclude each other") }
        if !systemd, cron == nil { throw ValidationError("--systemd or --cron SPEC is needed") }
    }

    func perform(on console: Console) throws -> ExitStatus {
        let runOptions = try box.arguments()
        let installation = try Installation.current()
        let spread = try spread.map { text throws(LonghaulError) in
            try OptionText.duration(text, "--spread")
        }
        let schedule = try cron.map { text throws(LonghaulError) in
            try Install.schedule(text, spread, installation.machinePlace)
        }
        if print {
            let texts =
                try schedule.map { try [installation.cronText($0, runOptions: runOptions)] }
                ?? installation.unitTexts(runOptions: unitOptions(runOptions), spread: spread)
            for text in texts { try Install.show(text, on: console) }
            return .done
        }
        let steps =
            try schedule.map { try installation.installCron($0, runOptions: runOptions) }
            ?? installation.installUnits(runOptions: unitOptions(runOptions), spread: spread)
        return try Install.report(steps, on: console)
    }

    /// The default limit ends a timer's run before the next one is due.
    private func unitOptions(_ given: [String]) -> [String] {
        box.maxTime == nil ? ["--max-time", "50m"] + given : given
    }

    private static func schedule(
        _ text: String, _ spread: Double?, _ place: Double
    ) throws(LonghaulError) -> CronSchedule {
        do {
            let schedule = try CronSchedule(parsing: text)
            guard let spread else { return schedule }
            return try schedule.spread(within: spread, place: place)
        } catch {
            throw .usage("--cron: \(error)")
        }
    }

    private static func show(_ text: InstallText, on console: Console) throws {
        if console.isJSON { return try console.line { $0.installText(text) } }
        if let path = text.path { try console.line("# \(TerminalText.shown(path))") }
        for line in text.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            try console.line(TerminalText.shown(String(line)))
        }
        if text.path != nil { try console.line("") }
    }

    /// A failed command of the service manager counts as a refusal; written files stay.
    static func report(_ steps: [InstallStep], on console: Console) throws -> ExitStatus {
        var status = ExitStatus.done
        for step in steps {
            if case .command(_, .some) = step { status = .refused }
            if console.isJSON {
                try console.line { $0.installStep(step) }
            } else {
                try console.line(TerminalText.shown(line(step)))
            }
        }
        return status
    }

    static func line(_ step: InstallStep) -> String {
        switch step {
        case .file(let path, let change): "\(change.rawValue): \(path)"
        case .crontab(let change): "\(change.rawValue): the lines in your crontab"
        case .command(let line, nil): "ran: \(line)"
        case .command(let line, .some(let failure)): "failed: \(line): \(failure)"
        case .advice(let why, let line): "to do: \(line)   (\(why))"
        }
    }
}

struct Uninstall: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninstall",
        abstract: "Remove what `install` set up.",
        discussion: """
            Units, the lines in the crontab, and nothing else: the queue stays.

              longhaul uninstall

            \(ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))
            """)

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let steps = try Installation.current().uninstall()
        if steps.isEmpty, !console.isJSON { try console.line("nothing is installed") }
        return try Install.report(steps, on: console)
    }
}
