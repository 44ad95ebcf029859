import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Upload: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "Record the upload of a file and return; the background does it.",
        discussion: """
            Prints the id; with --wait, transfers now and waits as `get` does. The server is \
            asked what it speaks: IETF resumable uploads, tus, or a plain PUT. What is resumable \
            goes on from the byte that the server has. The file must stay as it is until the end, \
            but with --snapshot.

              longhaul upload photo.jpg https://example.com/photos/photo.jpg
              longhaul upload --wait --protocol tus disk.img https://example.com/files/
              longhaul upload --form file report.pdf https://example.com/reports
              longhaul upload --key id_ecdsa a.zst sftp://me@example.com/srv/a.zst
              echo '{"source":"a.txt","url":"https://example.com/a"}' | longhaul upload --input -

            \(ExitStatus.help(endings))
            """)

    private static let endings: [ExitStatus] = [
        .done, .transferFailed, .refused, .usage, .storeUnavailable, .interrupted,
    ]

    @Argument(help: ArgumentHelp("The file, and the URL that it goes to.", valueName: "file url"))
    var words: [String] = []

    @Option(help: ArgumentHelp("Read requests from this file, as JSON Lines.", valueName: "file"))
    var input: String?

    @Flag(help: "Transfer now, and wait for it.")
    var wait = false

    @Flag(name: .shortAndLong, help: "No progress.")
    var quiet = false

    @OptionGroup var start: StartOptions
    @OptionGroup(title: "How it is sent") var sending: SendingOptions
    @OptionGroup(title: "Whose it is") var owner: OwnerOptions
    @OptionGroup(title: "How it is asked for") var asking: AskingOptions
    @OptionGroup(title: "When") var schedule: ScheduleOptions
    @OptionGroup(title: "How it is moved") var moving: MovingOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    var isQuiet: Bool { quiet }

    func validate() throws {
        if input == nil ? words.count != 2 : !words.isEmpty {
            throw ValidationError("a FILE and a URL are needed, or --input FILE alone")
        }
    }

    func perform(on console: Console) throws -> ExitStatus {
        let context = InputContext.current()
        let configuration = try ConfigurationFile.read()
        _ = try start.isWanted()
        var template = RequestTemplate(directory: (try? context.directory.get()) ?? ".")
        configuration.defaults.apply(to: &template.request)
        template.request.options.ifExists = .fail
        try owner.apply(to: &template.request)
        try asking.apply(to: &template.request.options, context)
        try schedule.apply(to: &template.request, context)
        try moving.apply(to: &template.request)
        template.request.options.upload = try sending.options()
        let requests = try requests(template, context, on: console)
        if wait {
            return try AwaitedTransfers(requests, isCompared: true, configuration.limits)
                .perform(on: console)
        }
        let queue = try TransferQueue()
        let prepared = try PreparedRequests.of(
            requests, in: queue, copying: console.sayCopying)
        let outcomes = try prepared.enqueue(in: queue)
        let ids = outcomes.compactMap(\.id)
        if !ids.isEmpty { start.start(queue, on: console) }
        for id in ids {
            if !console.isJSON {
                try console.line(id.description)
            } else if let transfer = try queue.transfer(id) {
                try console.line { $0.transfer(transfer) }
            }
        }
        return .done
    }

    private func requests(
        _ template: RequestTemplate, _ context: InputContext, on console: Console
    ) throws -> [TransferRequest] {
        guard let input else {
            var request = template.request
            if words[0].isEmpty { throw LonghaulError.usage("the path is empty") }
            request.url =
                words[1].hasPrefix("s3://") ? words[1] : try OptionText.url(words[1])
            request.destination = .file(try context.absolute(words[0]))
            return [request]
        }
        let lines = try ByteLines(path: input)
        let reader = JSONRequest(template: template, context: context)
        var requests: [TransferRequest] = []
        while let line = try lines.next() {
            if line.allSatisfy(\.isBlank) { continue }
            do {
                requests.append(try reader.request(line))
            } catch {
                throw LonghaulError(error.code, "line \(lines.number): \(error.message)")
            }
        }
        return requests
    }
}

struct SendingOptions: ParsableArguments {
    @Option(
        name: .customLong("protocol"),
        help: ArgumentHelp(
            "auto (default: ask the server), put, post, ietf, tus or s3.", valueName: "name"))
    var uploadProtocol: UploadProtocol = .auto

    @Option(help: "PUT or POST (default: PUT, or as the protocol has it).")
    var method: UploadMethod?

    @Option(
        help: ArgumentHelp("Send it as this field of a form (POST).", valueName: "name"))
    var form: String?

    @Option(
        help: ArgumentHelp(
            "What the file is (default: application/octet-stream).", valueName: "type"))
    var contentType: String?

    @Option(
        help: ArgumentHelp("Bytes of one part, for S3 (default: 8M or more).", valueName: "size"))
    var partSize: String?

    @Flag(help: "A POST may be sent again where its answer was lost.")
    var repeatable = false

    @Option(
        help: ArgumentHelp(
            "What to do when the file was changed: fail (default) or restart.", valueName: "what"))
    var ifChanged: SourceChangePolicy = .fail

    @Flag(
        help: "Send it as it is now: a clone of it (reflink), else a copy, is made at once.")
    var snapshot = false

    func options() throws(LonghaulError) -> UploadOptions {
        var options = UploadOptions()
        options.uploadProtocol = uploadProtocol
        options.method = method
        options.formField = form
        options.contentType = contentType
        if let partSize { options.partSize = try OptionText.size(partSize, "--part-size") }
        options.isRepeatable = repeatable
        options.ifChanged = ifChanged
        options.snapshot = snapshot
        return options
    }
}

struct OwnerOptions: ParsableArguments {
    @Option(help: "The session it belongs to (default: default, or the name of --host).")
    var session: String?

    @Option(help: "The host that the session belongs to from now on.")
    var host: String?

    @Option(
        help: ArgumentHelp("Your own JSON, kept and shown with the transfer.", valueName: "json"))
    var meta: String?

    func validate() throws {
        if session == "" { throw ValidationError("--session must not be empty") }
        if host == "" { throw ValidationError("--host must not be empty") }
    }

    func apply(to request: inout TransferRequest) throws(LonghaulError) {
        if let name = session ?? host { request.session = name }
        request.host = host
        if let meta { request.options.metadata = try OptionText.json(meta, "--meta") }
    }
}
