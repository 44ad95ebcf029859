import ArgumentParser
import Longhaul

struct SetCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change a transfer that is not completed; its bytes are kept.",
        discussion: """
            A failed transfer then waits for `resume` or `retry`. `none` takes a limit or an \
            expectation away; a header without a value is taken away.

              longhaul set 12 --priority high --limit-rate none
              longhaul set 12 --url 'https://example.com/f?sig=new' --deadline 2h
              longhaul set 12 --cacert ours.pem --proxy http://proxy:3128
              longhaul set 12 --header 'Authorization: Bearer new' --header 'X-Old:'

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The transfer's id.", completion: Candidates.ids)
    var id: TransferID

    @Option(help: "Where the same bytes are now; of an upload, where it goes.")
    var url: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("Another file to write, of a download.", valueName: "file"),
        completion: .file())
    var destination: String?

    @Option(help: "high, normal or low.")
    var priority: String?

    @Option(help: ArgumentHelp("Not before this time; now or none = at once.", valueName: "time"))
    var earliest: String?

    @Option(help: ArgumentHelp("Only at this time of day, or none.", valueName: "hh:mm-hh:mm"))
    var window: String?

    @Option(
        name: .customLong("require"),
        help: ArgumentHelp("Only with power, idle and so on, or none.", valueName: "what"))
    var requires: [String] = []

    @Option(
        name: .customLong("prefer"),
        help: ArgumentHelp("The same, but waived in time; or none, or default.", valueName: "what"))
    var prefers: [String] = []

    @Option(help: ArgumentHelp("How long preferences may hold it.", valueName: "duration"))
    var waiveAfter: String?

    @Option(help: ArgumentHelp("Give up then: a time or a duration.", valueName: "time"))
    var deadline: String?

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp("A request header to set (repeatable).", valueName: "k: v"))
    var headers: [String] = []

    @OptionGroup var identity: IdentityChangeOptions

    @Option(
        name: .customLong("mirror"),
        help: ArgumentHelp("The mirrors from now on (repeatable), or none.", valueName: "url"))
    var mirrors: [String] = []

    @Option(help: ArgumentHelp("Bytes per second at most, or none.", valueName: "size"))
    var limitRate: String?

    @Option(
        name: .customLong("yield"),
        help: ArgumentHelp(
            "Take only what other traffic leaves of the line; none = if discretionary.",
            valueName: "on|off|none"))
    var yields: String?

    @Option(help: ArgumentHelp("Connections for one file, or auto.", valueName: "n"))
    var connections: String?

    @Option(help: ArgumentHelp("The size you expect, or none.", valueName: "size"))
    var expect: String?

    @Option(help: ArgumentHelp("Refuse a file larger than this, or none.", valueName: "size"))
    var maxSize: String?

    @Option(help: ArgumentHelp("sha256:HEX and so on, or none.", valueName: "digest"))
    var checksum: String?

    @Option(help: ArgumentHelp("Without a byte for this long, try again.", valueName: "duration"))
    var stallTimeout: String?

    @Option(help: ArgumentHelp("Retries after the first attempt, or none.", valueName: "n"))
    var retries: String?

    @Option(help: ArgumentHelp("Your own JSON, or none.", valueName: "json"))
    var meta: String?

    @Option(
        help: ArgumentHelp("What to do where the file exists by now.", valueName: "what"))
    var ifExists: ExistingFilePolicy?

    @Flag(inversion: .prefixedNo, help: "Whether the engine picks the moment.")
    var discretionary: Bool?

    @OptionGroup var output: OutputOptions

    func validate() throws { try PlaceOptions.validate(destination) }

    func perform(on console: Console) throws -> ExitStatus {
        let context = InputContext.current()
        var change = try change(context)
        if change == TransferChange() {
            throw LonghaulError.usage(
                "nothing is to be changed; `longhaul set --help` shows what can be")
        }
        let queue = try TransferQueue()
        if let deadline, earliest == nil, let begin = try queue.transfer(id)?.earliestBegin {
            change.deadline = try OptionText.deadline(
                deadline, "--deadline", context, earliest: begin)
        }
        do {
            try queue.change(id, change)
        } catch {
            var error = error
            error.transferID = error.transferID ?? id
            throw error
        }
        console.settle(queue)
        if !console.isJSON {
            try console.line("\(id) changed")
        } else if let transfer = try queue.transfer(id) {
            try console.line { $0.transfer(transfer) }
        }
        return .done
    }

    func change(_ context: InputContext) throws(LonghaulError) -> TransferChange {
        var change = TransferChange()
        if let url {
            change.url = url.hasPrefix("s3://") ? url : try OptionText.url(url, "--url")
        }
        if let destination { change.destination = try context.absolute(destination) }
        if let priority { change.priority = try OptionText.priority(priority, "--priority") }
        if let earliest {
            change.earliestBegin =
                earliest == "none" || earliest == "now"
                ? .some(nil) : try OptionText.moment(earliest, "--earliest", context)
        }
        if let deadline {
            change.deadline = try OptionText.deadline(
                deadline, "--deadline", context, earliest: change.earliestBegin ?? nil)
        }
        try applySchedule(to: &change)
        change.headers = try OptionText.headers(headers)
        try identity.apply(to: &change, context)
        if mirrors == ["none"] {
            change.mirrors = []
        } else if !mirrors.isEmpty {
            change.mirrors = try mirrors.map { (url) throws(LonghaulError) in
                try OptionText.url(url, "--mirror")
            }
        }
        change.isDiscretionary = discretionary
        try applyLimits(to: &change)
        return change
    }

    private func applySchedule(to change: inout TransferChange) throws(LonghaulError) {
        if let window {
            change.window =
                window == "none" ? .some(nil) : try OptionText.window(window, "--window")
        }
        if !requires.isEmpty { change.requires = try OptionText.needs(requires, "--require") }
        if prefers == ["default"] {
            change.prefers = .some(nil)
        } else if !prefers.isEmpty {
            change.prefers = try OptionText.needs(prefers, "--prefer")
        }
        if let waiveAfter {
            change.waiveAfter = try OptionText.duration(waiveAfter, "--waive-after")
        }
    }

    private func applyLimits(to change: inout TransferChange) throws(LonghaulError) {
        if let limitRate {
            change.limitRate =
                limitRate == "none" ? .some(nil) : try OptionText.rate(limitRate, "--limit-rate")
        }
        if let yields {
            change.yields =
                yields == "none" ? .some(nil) : try OptionText.onOff(yields, "--yield")
        }
        if let connections {
            change.connections = try OptionText.connections(connections, "--connections")
        }
        if let expect {
            change.expectedBytes =
                expect == "none" ? .some(nil) : try OptionText.size(expect, "--expect")
        }
        if let maxSize {
            change.maxSize =
                maxSize == "none" ? .some(nil) : try OptionText.size(maxSize, "--max-size")
        }
        if let checksum {
            change.checksum =
                checksum == "none" ? .some(nil) : try OptionText.checksum(checksum, "--checksum")
        }
        if let stallTimeout {
            change.stallTimeout = try OptionText.duration(stallTimeout, "--stall-timeout")
        }
        if let retries {
            change.retries =
                retries == "none" ? .some(nil) : try OptionText.retries(retries, "--retries")
        }
        change.ifExists = ifExists
        if let meta {
            change.metadata = meta == "none" ? .some(nil) : try OptionText.json(meta, "--meta")
        }
    }
}
