import ArgumentParser
import Longhaul

struct LimitCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Limit the rate of all transfers together, at once and without a restart.",
        discussion: """
            Replaces `limits.rate` and `limits.rates` of the configuration file for running and \
            later engines, until `limit default` or the end of --for. `off` removes every limit. \
            Without a rate it shows the limit.

              longhaul limit 2M
              longhaul limit 500K --for 1h
              longhaul limit off --for 30m
              longhaul limit default

            \(ExitStatus.help([.done, .usage, .storeUnavailable]))
            """)

    @Argument(help: "Bytes a second, off, or default (as configured).")
    var rate: String?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Return to the configuration after this time.", valueName: "duration"))
    var duration: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if duration != nil, rate == nil || rate == "default" {
            throw ValidationError("--for needs a rate, or off")
        }
    }

    func perform(on console: Console) throws -> ExitStatus {
        let time = TimeText.current()
        // Understood before anything is changed.
        let wanted = try rate.map { try LimitCommand.limit($0, duration, now: time.now) }
        let queue = try TransferQueue()
        let control = RateControl(queue)
        if let wanted { try control.set(wanted) }
        let limit = try control.limit()
        let configured = control.rate(of: try ConfigurationFile.read().limits.rates)
        if console.isJSON {
            try console.line { json in
                json.object {
                    $0.field("rateLimit", limit)
                    $0.field("configured", configured)
                }
            }
        } else {
            let words = limit.map { LimitText.line($0, time) }
            try console.line("Limit: " + (words ?? LimitText.configured(configured)))
        }
        return .done
    }

    /// `nil` = the configuration.
    static func limit(
        _ rate: String, _ duration: String?, now: Timestamp
    ) throws(LonghaulError) -> RateOverride? {
        if rate == "default" { return nil }
        var limit = RateOverride(bytesPerSecond: nil)
        if rate != "off", rate != "none" {
            limit.bytesPerSecond = try OptionText.rate(rate, "the rate")
        }
        if let duration {
            let seconds = try OptionText.duration(duration, "--for")
            if seconds == 0 { throw .usage("--for: the limit would end at once") }
            limit.until = now + seconds
        }
        return limit
    }
}
