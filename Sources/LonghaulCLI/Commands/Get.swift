import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Get: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Download now, wait, and print where the files are.",
        discussion: """
            Prints where the files are. The first Ctrl-C leaves the transfers paused with all \
            their bytes and says how to resume. A running engine does the work; without one, this \
            process does. When the terminal is closed (SIGHUP), a background engine takes over. \
            The same command again resumes.

              longhaul get https://example.com/big.iso
              longhaul get -d ~/Downloads https://example.com/a https://example.com/b
              longhaul get -o a.tar --if-exists overwrite https://example.com/a
              longhaul get -i urls.txt -d ~/Downloads
              longhaul get -o - https://example.com/a.tar | tar -x

            -o - writes the bytes to the standard output in order, as they come, and keeps no \
            file: it goes when the stream ends, also by Ctrl-C. Bytes of another version of the \
            file are never written: where the server has changed it, or the digest is wrong, the \
            exit status is 1.

            Existing files are skipped, and the others fetched. In place of a URL stands the \
            SOURCE of a set of files, as `hf:ORG/NAME`: see `bundle --help`. The same command \
            again fetches what is missing or has changed.

            \(ExitStatus.help(endings))
            """)

    private static let endings: [ExitStatus] = [
        .done, .transferFailed, .noSuchTransfer, .refused, .usage, .storeUnavailable, .interrupted,
    ]

    @OptionGroup var list: ListOptions

    @Flag(
        name: .customShort("c"), help: "Accepted: a transfer always resumes from its bytes.")
    var goesOn = false

    @OptionGroup var report: ReportOptions

    @Option(
        name: [.customShort("j"), .long],
        help: ArgumentHelp(
            "Transfers at the same time, while no other engine runs: 1 to 64 (default: 16).",
            valueName: "n"))
    var parallel: Int?

    @OptionGroup var files: BundleFileOptions
    @OptionGroup var request: RequestOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    var isQuiet: Bool { report.quiet }

    func validate() throws {
        try list.check(request.place)
        if let parallel, !Limits.configuredAtOnce.contains(parallel) {
            throw ValidationError("--parallel: it is 1 to \(Limits.configuredAtOnce.upperBound)")
        }
        guard request.place.isStandardOutput else { return }
        if output.json { throw ValidationError("-o - and --json exclude each other") }
        if report.path != nil { throw ValidationError("-o - and --report exclude each other") }
    }

    func perform(on console: Console) throws -> ExitStatus {
        if request.place.isStandardOutput {
            return try StreamedGet(request, url: list.urls[0]).perform(on: console)
        }
        let context = InputContext.current()
        let configuration = try ConfigurationFile.read()
        if let source = try list.bundleSource(files) {
            var limits = configuration.limits
            if let parallel { limits.running = parallel }
            return try BundleGet(
                source: source, files: files, request: request, limits: limits,
                defaults: configuration.defaults
            ).perform(on: console)
        }
        let template = try request.template(context, configuration.defaults)
        let source = list.source(template, try list.lines(), context)
        var requests: [TransferRequest] = []
        var lines: [Int?] = []
        while let request = try source.next() {
            requests.append(request)
            lines.append(source.line)
        }
        var limits = configuration.limits.divided(for: list.shard.part)
        if let parallel { limits.running = parallel }
        var awaited = AwaitedTransfers(
            requests, lines: lines, isCompared: template.request.options.checksum == nil, limits)
        awaited.report = try report.begin(list.shard.part)
        return try awaited.perform(on: console)
    }
}

extension Console {
    /// Prints the outcome of a transfer: its file's place, or why it has no file.
    func result(_ transfer: Transfer) throws {
        if isJSON { return try line { $0.value(transfer) } }
        switch transfer.state {
        case .completed:
            if transfer.isSkipped {
                skipped(transfer.path, isCompared: transfer.checksum == nil)
            }
            if let coding = transfer.contentCoding {
                complain("longhaul: \(transfer.id): content coding \(TransferText.coding(coding))")
            }
            try line(path: transfer.path)
        case .failed:
            var error = transfer.error ?? LonghaulError(.internal, "it failed")
            error.transferID = transfer.id
            try refuse(error)
            if error.bytesKept > 0 {
                complain(
                    "longhaul: \(transfer.id): \(Units.size(error.bytesKept)) are kept; "
                        + "resume with: longhaul retry \(transfer.id)")
            } else if error.retryable {
                complain(
                    "longhaul: \(transfer.id): try again with: longhaul retry \(transfer.id)")
            }
        case .cancelled: complain("longhaul: \(transfer.id): cancelled")
        case .waiting, .running, .paused: return
        }
    }
}
