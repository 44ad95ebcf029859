import ArgumentParser
import Longhaul

struct Wake: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "wake",
        abstract: "Send a host a message, like a push notification.",
        discussion: """
            It is handed over within seconds if the machine has external power and does not save \
            power, or after a day. A host has \(Limits.wakeUpsAtOnce) launches for wake-ups at once, \
            and then one in 20 minutes. Until then wake-ups of one identifier are merged, and the \
            newest payload counts.

            An urgent one is handed over at once, also to a host that is delayed after failures, \
            and takes waiting ones along; an unhandled one comes again, no longer urgent.

              longhaul wake com.example.feed --payload '{"channel":7}'
              longhaul wake com.example.feed --identifier mail --urgent
              longhaul wake com.example.feed --expires 10m

            \(ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The host's name.")
    var host: String

    @Option(help: ArgumentHelp("Merge it with wake-ups of this name.", valueName: "name"))
    var identifier: String?

    @Option(help: ArgumentHelp("Your own JSON, handed to the host.", valueName: "json"))
    var payload: String?

    @Flag(help: "Deliver it at once, even on battery and during the host's back-off.")
    var urgent = false

    @Option(
        help: ArgumentHelp(
            "Drop it if it was not delivered within this time; 0: now or never.",
            valueName: "duration"))
    var expires: String?

    @OptionGroup var conditions: FieldOptions<WakeUpFields>

    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func wakeUp(_ context: InputContext) throws(LonghaulError) -> WakeUp {
        var wakeUp = WakeUp(identifier: identifier, isUrgent: urgent)
        if let payload { wakeUp.payload = try OptionText.json(payload, "--payload") }
        if let expires {
            let seconds = expires == "0" ? 0 : try OptionText.duration(expires, "--expires")
            wakeUp.expiresAt = context.now + seconds
        }
        var said = TransferRequest.blank
        try conditions.apply(to: &said, context)
        wakeUp.requires = said.schedule.requires
        wakeUp.prefers = said.schedule.prefers
        return wakeUp
    }

    func perform(on console: Console) throws -> ExitStatus {
        _ = try start.isWanted()
        let wakeUp = try wakeUp(.current())
        let queue = try TransferQueue()
        try queue.tasks.wake(host: host, wakeUp)
        start.start(queue, on: console)
        if !console.isJSON { return .done }
        try console.line { json in
            json.object {
                $0.field("host", host)
                $0.field("identifier", wakeUp.identifier)
                $0.field("urgent", wakeUp.isUrgent)
                $0.field("expiresAt", wakeUp.expiresAt)
                $0.field("payload", json: wakeUp.payload)
            }
        }
        return .done
    }
}
