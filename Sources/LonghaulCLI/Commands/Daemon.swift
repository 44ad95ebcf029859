import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Daemon: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon",
        abstract: "Process the queue until stopped, and wait for new transfers.",
        discussion: """
            SIGTERM and SIGINT: everything is saved, exit 0. SIGHUP: the configuration file is \
            read again; running transfers continue. SIGUSR2, after an upgrade: everything is \
            saved, and the newly installed program continues in the same process. While another \
            engine runs, this one stands by and takes over when that leaves. It reports its state \
            to a service manager (sd_notify).

              longhaul daemon
              longhaul daemon --exit-when-idle 5m

            \(ExitStatus.help([.done, .internalError, .usage, .storeUnavailable]))
            """)

    @Option(help: "Leave after this time with nothing to do or to wait for: 90s, 15m.")
    var exitWhenIdle: String?

    /// Shown by `status` only: this engine was started by a command that needed one.
    @Flag(help: .hidden)
    var background = false

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        var options = EngineOptions(mode: background ? .background : .daemon)
        if let exitWhenIdle {
            options.exitWhenIdle = try OptionText.duration(exitWhenIdle, "--exit-when-idle")
        }
        options.limits = try ConfigurationFile.read().limits
        options.onOverdue = { Run.leaveWithoutDisk() }
        options.onHandOver = { Daemon.isConfigured }
        let queue = try TransferQueue()
        // A command that needs an engine for a while is content with the running one. A daemon
        // stands by, and so does a service, whose start the service manager waits for.
        options.waitsForLease = options.exitWhenIdle == nil || (Daemon.isService && !background)
        if options.waitsForLease, queue.isEngineRunning {
            console.say("longhaul: another engine runs; standing by")
        }
        let engine = EngineRun(queue: queue, options: options)
        let summary = try engine.runUntilSignalled(onHangUp: { Daemon.reload(engine) })
        return try report(summary, on: console)
    }

    private static var isService: Bool {
        Environment.value("NOTIFY_SOCKET").map { !$0.isEmpty } ?? false
    }

    /// True if a successor would start with the present configuration.
    private static var isConfigured: Bool {
        do {
            _ = try ConfigurationFile.read()
            return true
        } catch {
            Console.standard(isJSON: false).complain(
                "longhaul: does not hand over: " + TerminalText.shown(error.message))
            return false
        }
    }

    /// An invalid configuration changes nothing.
    private static func reload(_ engine: EngineRun) {
        do {
            try engine.reload { () throws(LonghaulError) in try ConfigurationFile.read().limits }
        } catch {
            // On the signal's own thread, which must not use the command's console.
            Console.standard(isJSON: false).complain(
                "longhaul: the configuration stays as it was: "
                    + TerminalText.shown(error.message))
        }
    }

    private func report(_ summary: EngineSummary, on console: Console) throws -> ExitStatus {
        if console.isJSON {
            try console.line { $0.value(summary) }
        } else if CommandStream.isWritable(2) {
            // A reader that does not read must not keep a service from ending.
            console.say("longhaul: " + Run.text(summary))
        }
        return .done
    }
}
