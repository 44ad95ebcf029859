import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Enqueue: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "enqueue",
        abstract: "Queue downloads and return; a background engine fetches them.",
        discussion: """
            Prints one id per line; a printed one survives a power cut. Many URLs come from a \
            file or, with `-`, from the standard input: one URL per line, an aria2 input file, \
            or JSON Lines. Either all are recorded or, when one is refused, none; with \
            --keep-going the good ones are. A transfer with the same URL, destination and session \
            that has not completed is not recorded twice: its id is printed, and if it had \
            failed, it is tried again. Of the output of `list --json`, what has ended is passed \
            over, unless --again is given.

              longhaul enqueue https://example.com/a https://example.com/b
              longhaul enqueue --input urls.txt -d ~/Downloads --session isos
              echo '{"url":"https://example.com/a","meta":[1]}' | longhaul enqueue -

            \(ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))
            """,
        aliases: ["add"])

    @OptionGroup var list: ListOptions

    @Flag(help: "Record the good lines, and report the others.")
    var keepGoing = false

    @Flag(help: "Record the transfers of a printed list that have ended, too.")
    var again = false

    @OptionGroup var files: BundleFileOptions
    @OptionGroup var start: StartOptions
    @OptionGroup var request: RequestOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    func validate() throws {
        try PlaceOptions.validate(request.place.output)
        try list.check(request.place)
    }

    func perform(on console: Console) throws -> ExitStatus {
        let context = InputContext.current()
        _ = try start.isWanted()
        let defaults = try ConfigurationFile.read().defaults
        if let source = try list.bundleSource(files) {
            let bundle = BundleGet(
                source: source, files: files, request: request, limits: EngineLimits(),
                defaults: defaults)
            let queue = try TransferQueue()
            let name = try bundle.add(context, in: queue)
            start.start(queue, on: console)
            return try console.show([name], in: queue)
        }
        let template = try request.template(context, defaults)
        let lines = try list.lines()
        let source = list.source(template, lines, context, passesOverEnded: !again)
        let queue = try TransferQueue()
        // The input is read first: from the first batch to the last the store is locked for
        // writing. The file is beside the store, which will need more room for it anyway.
        try lines?.gather { () throws(LonghaulError) in
            do throws(SystemFailure) {
                return try SpooledFile.unnamed(in: queue.directory)
            } catch {
                throw error.longhaulError()
            }
        }
        let recorder = RequestRecorder(queue, keepGoing: keepGoing, console)
        let status = try recorder.perform(start) {
            try Signals.withoutSuspension {
                try queue.enqueue(keepGoing: keepGoing) {
                    guard let request = try recorder.read(from: source) else { return nil }
                    recorder.handOver(request, line: source.line)
                    return request
                } report: {
                    recorder.record($0)
                }
            }
        }
        if source.passedOver > 0 {
            console.say(
                "longhaul: passed over \(Units.counted(source.passedOver, "transfer")) of the list"
                    + " that had ended; --again records them, too")
        }
        return status
    }
}
