import ArgumentParser
import Longhaul
import LonghaulPlatform

struct BundleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bundle",
        abstract: "Keep sets of files that are whole or an error: models, images, releases.",
        discussion: """
            A bundle is a set of files from one source, pinned to one version. Each file is \
            proved by the digest that the source gives. A SOURCE is one of

              list:FILE, list:URL, list:-    JSON Lines with path, url, size and a digest
              sums:URL                       SHA256SUMS and the like; the files are beside it
              hf:ORG/NAME[@REVISION]         also hf:datasets/ORG/NAME, hf:spaces/ORG/NAME
              github:OWNER/REPO[@TAG]        the assets of a release
              zenodo:RECORD                  the files of a record
              oci:IMAGE[:TAG]                a container image
              s3://BUCKET/PREFIX/            the objects below a prefix

              longhaul bundle add qwen hf:Qwen/Qwen3-8B --to ~/models/qwen --every 1d
              longhaul bundle ensure qwen && serve-model "$(longhaul bundle path qwen)"
              longhaul bundle verify qwen --repair
            """,
        subcommands: [
            BundleAdd.self, BundleEnsure.self, BundleList.self, BundleShow.self, BundleWhy.self,
            BundleCheck.self, BundleVerify.self, BundlePath.self, BundleHold.self,
            BundlePause.self, BundleResume.self, BundleNow.self, BundleCancel.self,
            BundleRemove.self,
        ])
}

/// Names one bundle.
struct BundleName: ParsableArguments {
    @Argument(help: "The bundle's name.", completion: Candidates.bundles)
    var name: String
}

/// Names bundles.
struct BundleNames: ParsableArguments {
    @Argument(help: "The bundles' names.", completion: Candidates.bundles)
    var names: [String]
}

/// Selects files of a source.
struct BundleFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Of a set: only the files whose path matches (repeatable).", valueName: "glob"))
    var include: [String] = []

    @Option(
        help: ArgumentHelp(
            "Of a set: without the files whose path matches (repeatable).", valueName: "glob"))
    var exclude: [String] = []

    @Option(
        help: ArgumentHelp("Of an image: OS/ARCH (default: this machine's).", valueName: "os/arch"))
    var platform: String?

    var isEmpty: Bool { include.isEmpty && exclude.isEmpty && platform == nil }

    /// Reads SOURCE, with what the environment says about it.
    func bundle(
        _ source: String, _ request: TransferRequest, in queue: TransferQueue
    ) throws -> Bundles.New {
        let environment = Environment.all()
        var new = Bundles.New(
            try BundleSource(
                parsing: source, environment: environment, platform: platform,
                directory: try CurrentDirectory.path))
        new.settings.adopt(request)
        new.settings.include = include
        new.settings.exclude = exclude
        new.settings.overwrites = request.options.ifExists == .overwrite
        new.settings.secret = new.source.secret(in: environment)
        if new.source == .list("-") { new.source = .list(try queue.bundles.keepInput()) }
        return new
    }
}

struct BundleAdd: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Record a bundle, and fetch it in the background.",
        discussion: """
            It is recorded whether the source answers or not. The same again is the same bundle; \
            other options change it. Prints its name.

            The policy is essential (fetch now), prefetch (at a good moment) or on-demand (only \
            the list of files, until `ensure`). The layout is plain (DIR/PATH), versions \
            (DIR/current leads to the version that is ready), hf-cache (the cache of the \
            Hugging Face Hub's own client) or oci.

              longhaul bundle add debian sums:https://example.org/iso/SHA256SUMS --to /srv/iso \
            --signed-by debian.gpg --include '*.iso'

            \(ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The bundle's name: letters, digits, '.', '_' and '-'.")
    var name: String

    @Argument(help: "Where the files come from; see `bundle --help`.")
    var source: String

    @Option(
        name: .customLong("to"),
        help: ArgumentHelp(
            "Its directory (default: NAME, here; of hf-cache the hub's).", valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Option(
        help: ArgumentHelp("plain, versions, hf-cache or oci.", valueName: "layout"),
        completion: .list(BundleLayoutKind.allCases.map(\.rawValue)))
    var layout: String?

    @Option(
        help: ArgumentHelp("essential, prefetch or on-demand.", valueName: "policy"),
        completion: .list(BundlePolicy.allCases.map(\.rawValue)))
    var policy: String?

    @Option(
        help: ArgumentHelp("Look for a newer version this often: 1d.", valueName: "duration"))
    var every: String?

    @Option(help: ArgumentHelp("Old versions that stay (default: 1).", valueName: "n"))
    var keep: Int?

    @Option(
        help: ArgumentHelp(
            "The public key that must have signed the list: OpenPGP, minisign, signify.",
            valueName: "file"), completion: .file())
    var signedBy: String?

    @Flag(help: "Record the events of single files, too.")
    var fileEvents = false

    @Flag(help: "Replace files that somebody has changed.")
    var overwrite = false

    @Option(help: "The host that is started with the bundle's events.")
    var host: String?

    @OptionGroup var files: BundleFileOptions
    @OptionGroup(title: "Request") var access: FieldOptions<AccessFields>
    @OptionGroup(title: "Schedule") var schedule: FieldOptions<ScheduleFields>
    @OptionGroup(title: "Transfer") var transfer: FieldOptions<TransferFields>
    @OptionGroup var start: StartOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let context = InputContext.current()
        _ = try start.isWanted()
        let queue = try TransferQueue()
        var new = try files.bundle(source, try template(context), in: queue)
        new.name = name
        new.layout = try layout.map { try OptionText.choice($0, "--layout") }
        new.directory = try directory.map { try context.absolute($0) }
        new.host = host
        new.settings.overwrites = overwrite
        try apply(to: &new.settings, new, context)
        if new.layout == .hfCache, new.directory == nil { new.directory = hubCache }
        let added = try queue.bundles.add(new, in: try context.directory.get())
        start.start(queue, on: console)
        return try console.show([added], in: queue)
    }

    private var hubCache: String { BundleSource.hubCache(Environment.all()) }

    private func template(_ context: InputContext) throws -> TransferRequest {
        var request = TransferRequest(url: "", destination: .file(""))
        try ConfigurationFile.read().defaults.apply(to: &request)
        request.options.proxyVariables = context.proxyVariables
        try access.apply(to: &request, context)
        try schedule.apply(to: &request, context)
        try transfer.apply(to: &request, context)
        return request
    }

    private func apply(
        to settings: inout BundleSettings, _ new: Bundles.New, _ context: InputContext
    ) throws {
        if let policy { settings.policy = try OptionText.choice(policy, "--policy") }
        if let every { settings.every = try OptionText.duration(every, "--every") }
        if let keep {
            guard new.layout == .versions else {
                throw LonghaulError.usage("--keep is a part of --layout versions")
            }
            guard (0...1000).contains(keep) else {
                throw LonghaulError.usage("--keep: it is 0 to 1000")
            }
            settings.keep = keep
        }
        settings.signedBy = try signedBy.map { try context.absolute($0) }
        settings.fileEvents = fileEvents
    }
}

struct BundleEnsure: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "ensure", abstract: "Wait until bundles are whole; fetch what is missing.",
        discussion: """
            A bundle that is whole needs no request, and no network. A running engine does the \
            work; without one, this process does. Ctrl-C pauses the bundles.

            \(ExitStatus.help(BundleWait.endings + [.timedOut]))
            """)

    @OptionGroup var which: BundleNames

    @Flag(help: "Fetch the newest version: the source is asked for it.")
    var latest = false

    @Option(help: ArgumentHelp("Wait no longer than this: 90s, 15m.", valueName: "duration"))
    var timeout: String?

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let seconds = try timeout.map { try OptionText.duration($0, "--timeout") }
        let queue = try TransferQueue()
        for name in which.names { _ = try queue.bundles.find(name) }
        Signals.watch()
        Signals.watchSuspension()
        for name in which.names { _ = try queue.bundles.want(name, latest: latest) }
        return try BundleWait(queue, which.names, seconds: seconds).perform(on: console)
    }
}

struct BundleCheck: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Ask sources for their versions; fetch no file.",
        discussion: ExitStatus.help(BundleWait.endings))

    @OptionGroup var which: BundleNames
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        for name in which.names { _ = try queue.bundles.find(name) }
        Signals.watch()
        for name in which.names { try queue.bundles.check(name) }
        var wait = BundleWait(queue, which.names, seconds: nil)
        wait.isCheck = true
        return try wait.perform(on: console)
    }
}

struct BundleVerify: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Read every file of a bundle again, and compare.",
        discussion: """
            Prints the files that are missing or different. They are not believed any more: \
            `ensure` fetches those that are missing or shorter, and --repair all of them.

            \(ExitStatus.help(BundleWait.endings))
            """)

    @OptionGroup var which: BundleNames

    @Flag(help: "Fetch what is missing or different, and wait for it.")
    var repair = false

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        Signals.watch()
        var problems = 0
        for name in which.names {
            problems += try queue.bundles.verify(name, repair: repair) { problem in
                if console.isJSON {
                    try console.line { $0.value(problem) }
                } else {
                    try console.line("\(problem.kind.rawValue): ", path: problem.path)
                }
            }
        }
        if problems == 0 { return .done }
        guard repair else { return .transferFailed }
        var wait = BundleWait(queue, which.names, seconds: nil)
        wait.printsResults = false
        return try wait.perform(on: console)
    }
}

struct BundlePath: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "path", abstract: "Print where the version that is ready is.",
        discussion: ExitStatus.help([
            .done, .transferFailed, .noSuchTransfer, .usage, .storeUnavailable,
        ]))

    @OptionGroup var which: BundleName

    @Argument(help: "One of its files, by its path in the bundle.")
    var file: String?

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        do throws(LonghaulError) {
            let path = try TransferQueue().bundles.path(which.name, file: file)
            try? console.line(path: path)
        } catch {
            guard error.code == .notFound else { throw error }
            try console.refuse(error)
            return .transferFailed
        }
        return .done
    }
}

struct BundleHold: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold", abstract: "Run a command while the version that is ready is kept.",
        discussion: """
            The directory is in LONGHAUL_BUNDLE_PATH. The exit status is the command's.

              longhaul bundle hold qwen -- sh -c 'serve-model "$LONGHAUL_BUNDLE_PATH"'

            \(ExitStatus.help([
                .done, .transferFailed, .noSuchTransfer, .usage, .storeUnavailable,
            ]))
            """)

    @OptionGroup var which: BundleName

    @Argument(
        parsing: .postTerminator, help: "After --: the command and its arguments.",
        completion: Candidates.programs)
    var command: [String] = []

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        guard let name = command.first else { throw LonghaulError.usage("a command is needed") }
        let program =
            name.contains("/")
            ? name : ProgramRun.find(name, environment: Environment.all())
        guard let program else {
            throw LonghaulError.usage("there is no program \(TerminalText.shown(name))")
        }
        do throws(LonghaulError) {
            Environment.set(
                "LONGHAUL_BUNDLE_PATH", to: try TransferQueue().bundles.hold(which.name))
        } catch {
            guard error.code == .notFound else { throw error }
            try console.refuse(error)
            return .transferFailed
        }
        // The hold belongs to the process, which the command takes over.
        throw OwnProcess.become(program, command.dropFirst().map { Array($0.utf8) }).longhaulError()
    }
}
