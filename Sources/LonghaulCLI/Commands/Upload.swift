import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Upload: ConsoleCommand, CommonOptions {
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "Queue uploads of files and return; a background engine sends them.",
        discussion: """
            Prints the ids; with --wait, transfers now and waits as `get` does. The server is \
            asked for its protocol: IETF resumable uploads, tus, or a plain PUT. A resumable \
            upload continues from the byte that the server has. The file must stay unchanged until \
            the end, except with --snapshot. At a URL that ends in a slash the file keeps its name, \
            unless the server makes a resource there (tus, IETF, POST).

            Several files, and a directory with -r, go to such a URL; each is a transfer. \
            Directories that the server has not got are made there (WebDAV, FTP, SFTP). The same \
            command again sends only new or changed files.

              longhaul upload photo.jpg https://example.com/photos/photo.jpg
              longhaul upload backup.tar.zst s3://bucket/backups/
              longhaul upload --wait --protocol tus disk.img https://example.com/files/
              longhaul upload --form file report.pdf https://example.com/reports
              longhaul upload --key id_ecdsa a.zst sftp://me@example.com/srv/a.zst
              longhaul upload -r photos sftp://me@example.com/srv/photos/
              longhaul upload a.jpg b.jpg https://example.com/dav/
              tar c photos | longhaul upload - https://example.com/dav/photos.tar
              longhaul upload --follow talk.ts https://example.com/files/
              longhaul upload --input requests.jsonl

            \(ExitStatus.help(endings))
            """)

    private static let endings: [ExitStatus] = [
        .done, .transferFailed, .refused, .usage, .storeUnavailable, .interrupted,
    ]

    @Argument(
        help: ArgumentHelp("The files, and the URL that they go to.", valueName: "file... url"))
    var words: [String] = []

    @Option(help: ArgumentHelp("Read requests from this file, as JSON Lines.", valueName: "file"))
    var input: String?

    @OptionGroup var shard: ShardOptions
    @OptionGroup var files: BatchOptions

    @Flag(help: "Record the good lines, and report the others.")
    var keepGoing = false

    @Flag(help: "Send now, wait, and print the files that were sent.")
    var wait = false

    @OptionGroup var report: ReportOptions

    @OptionGroup var start: StartOptions
    @OptionGroup(title: "Upload") var sending: FieldOptions<UploadFields>
    @OptionGroup(title: "Session") var owner: HostOptions
    @OptionGroup(title: "Session") var session: FieldOptions<SessionFields>
    @OptionGroup(title: "Request") var access: FieldOptions<AccessFields>
    @OptionGroup(title: "Schedule") var schedule: FieldOptions<ScheduleFields>
    @OptionGroup(title: "Transfer") var transfer: FieldOptions<TransferFields>
    @OptionGroup(title: "Output") var output: OutputOptions

    var isQuiet: Bool { report.quiet }

    func validate() throws {
        if input == nil ? words.count < 2 : !words.isEmpty {
            throw ValidationError("a FILE and a URL are needed, or --input FILE alone")
        }
        if words.count > 2, words.dropLast().contains("-") {
            throw ValidationError("- (standard input) is sent alone")
        }
        if files.recursive, words.count != 2 {
            throw ValidationError("-r takes one directory, and the URL that its files go to")
        }
        if !files.recursive, !(files.patterns.include + files.patterns.exclude).isEmpty {
            throw ValidationError("--include and --exclude go with -r")
        }
        if report.path != nil, !wait { throw ValidationError("--report goes with --wait") }
        if files.follow, files.recursive || words.count != 2 || words[0] == "-" {
            throw ValidationError("--follow takes one file, and the URL that it goes to")
        }
        if keepGoing, wait {
            throw ValidationError("--keep-going goes without --wait; `longhaul wait` waits")
        }
    }

    func perform(on console: Console) throws -> ExitStatus {
        let context = InputContext.current()
        let configuration = try ConfigurationFile.read()
        _ = try start.isWanted()
        var template = RequestTemplate(directory: (try? context.directory.get()) ?? ".")
        template.request.options.upload = UploadOptions()
        configuration.defaults.apply(to: &template.request)
        try sending.apply(to: &template.request, context)
        if files.follow {
            if sending.says("ifChanged") {
                throw LonghaulError.usage("--follow and --if-changed exclude each other")
            }
            template.request.options.upload?.ifChanged = .follow
        }
        try applyCommon(to: &template.request, context)
        let queue = try TransferQueue()
        let recorder = RequestRecorder(queue, keepGoing: keepGoing, console)
        let limits = configuration.limits.divided(for: shard.part)
        if files.recursive || words.count > 2 {
            var batch = UploadBatch(template.request, files, shard.part, keepsGoing: keepGoing)
            try batch.find(
                words.dropLast(), to: OptionText.transferURL(words.last ?? ""), context)
            return try wait
                ? batch.recordAndWait(in: queue, limits, report.begin(shard.part), on: console)
                : batch.record(recorder, start)
        }
        var requests: [TransferRequest] = []
        var lines: [Int?] = []
        if let input {
            let source = BatchInput(
                urls: [], lines: try ByteLines(path: input), template: template, context: context,
                shard: shard.part)
            while let request = try recorder.read(from: source) {
                requests.append(request)
                lines.append(source.line)
            }
        } else {
            requests.append(try request(template, context))
            lines.append(nil)
        }
        if wait {
            var awaited = AwaitedTransfers(requests, lines: lines, isCompared: true, limits)
            awaited.report = try report.begin(shard.part)
            return try awaited.perform(on: console)
        }
        return try recorder.perform(start) {
            // First: the error of a snapshot that cannot be made names its file, and is about no
            // line.
            let prepared = try PreparedRequests.of(
                requests, in: queue, copying: console.sayCopying)
            for (request, line) in zip(requests, lines) { recorder.handOver(request, line: line) }
            try Signals.withoutSuspension {
                try prepared.enqueue(in: queue, keepGoing ? .keepGoing : .allOrNone) {
                    recorder.record($0)
                }
            }
        }
    }

    /// The one of the command line.
    private func request(
        _ template: RequestTemplate, _ context: InputContext
    ) throws(LonghaulError) -> TransferRequest {
        var request = template.request
        if words[0].isEmpty { throw LonghaulError.usage("the path is empty") }
        request.url = try OptionText.transferURL(words[1])
        if let defect = request.followDefect { throw LonghaulError.usage(defect) }
        let isInput = words[0] == "-" || words[0] == UploadPlace.standardInput
        guard isInput else {
            request.destination = .file(try context.absolute(words[0]))
            return request
        }
        if request.options.upload?.namesItsPlace == true, UploadPlace.isDirectory(request.url) {
            let place = Redaction.url(request.url)
            throw .usage("standard input has no name; give the URL one: \(place)NAME")
        }
        request.destination = .file(UploadPlace.standardInput)
        request.options.upload?.snapshot = true
        return request
    }
}
