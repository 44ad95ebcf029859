import ArgumentParser
import Longhaul

struct SetCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change the URL, schedule or limits of a transfer; its bytes are kept.",
        discussion: """
            A failed transfer then waits for `resume` or `retry`. `none` takes away a limit, an \
            expectation, a credential or any other value that may be left out; `default` does so \
            with --prefer. A header without a value is taken away.

              longhaul set 12 --priority high --limit-rate none
              longhaul set 12 --url 'https://example.com/f?sig=new' --deadline 2h
              longhaul set 12 --cacert ours.pem --proxy http://proxy:3128
              longhaul set 12 --header 'Authorization: Bearer new' --header 'X-Old:'

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The transfer's id.", completion: Candidates.ids)
    var id: TransferID

    @Option(help: "The URL where the same bytes are now; of an upload, its new target.")
    var url: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("Write a download to another file.", valueName: "file"),
        completion: .file())
    var destination: String?

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp("A request header to set (repeatable).", valueName: "k: v"))
    var headers: [String] = []

    @Flag(help: "The file of an upload with --follow is complete as it is now.")
    var complete = false

    @OptionGroup var fields: FieldOptions<ChangeableFields>

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
        let before = try queue.transfer(id)
        for field in RequestField.downloadOnly
        where before?.kind == .upload && !field.isDefault(in: change.fields.request) {
            let name = field.option?.name ?? field.key
            throw LonghaulError.usage("--\(name) applies to downloads only")
        }
        if fields.says("deadline"), let begin = before?.earliestBegin {
            try fields.apply(to: &change.fields, context, begin: begin)
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
            try console.line { $0.value(transfer) }
        }
        return .done
    }

    func change(_ context: InputContext) throws(LonghaulError) -> TransferChange {
        var change = TransferChange()
        if let url { change.url = try OptionText.transferURL(url, "--url") }
        if let destination { change.destination = try context.absolute(destination) }
        change.headers = try OptionText.headers(headers)
        change.completesFile = complete
        try fields.apply(to: &change.fields, context)
        return change
    }
}
