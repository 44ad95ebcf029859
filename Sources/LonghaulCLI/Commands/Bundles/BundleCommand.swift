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
              sums:URL                       SHA256SUMS or the like beside its files
              hf:ORG/NAME[@REVISION]         also hf:datasets/ORG/NAME, hf:spaces/ORG/NAME
              github:OWNER/REPO[@TAG]        the assets of a release
              zenodo:RECORD                  the files of a record
              oci:IMAGE[:TAG]                a container image

              longhaul bundle add qwen hf:Qwen/Qwen3-8B --every 1d
              longhaul bundle ensure qwen && ls "$(longhaul bundle path qwen)"
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

extension BundleNames {
    /// Changes each bundle, then has the changes applied. Programs get the records.
    func change(
        on console: Console, then apply: (TransferQueue) -> Void,
        _ body: (Bundles, String) throws -> Void
    ) throws -> ExitStatus {
        let queue = try TransferQueue()
        for name in names { try body(Bundles(queue), name) }
        apply(queue)
        return console.isJSON ? try console.show(names, in: queue) : .done
    }
}

struct BundleAdd: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a bundle, and fetch it in the background.",
        discussion: """
            It is recorded whether the source answers or not. The same again is the same bundle; \
            other options change it. Prints its name.

            The policy is essential (fetch now), prefetch (at a good moment) or on-demand (only \
            the list of files, until `ensure`). The layout is plain (DIR/PATH), versions \
            (DIR/current leads to the version that is ready), hf-cache (the cache of the \
            Hugging Face Hub's own client) or oci.

              longhaul bundle add iso sums:https://example.org/SHA256SUMS --to iso

            \(ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The bundle's name: letters, digits, '.', '_' and '-'.")
    var name: String

    @Argument(help: "Where the files come from; see `bundle --help`.")
    var source: String

    @OptionGroup var settings: BundleOptions
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
        try settings.apply(to: &new, context)
        let added = try Bundles(queue).add(new, in: try context.directory.get())
        start.start(queue, on: console)
        return try console.show([added], in: queue)
    }

    private func template(_ context: InputContext) throws -> TransferRequest {
        var request = TransferRequest(url: "", destination: .file(""))
        try ConfigurationFile.read().defaults.apply(to: &request)
        request.options.proxyVariables = context.proxyVariables
        try access.apply(to: &request, context)
        try schedule.apply(to: &request, context)
        try transfer.apply(to: &request, context)
        return request
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
        for name in which.names { _ = try Bundles(queue).find(name) }
        Signals.watch()
        Signals.watchSuspension()
        for name in which.names { _ = try Bundles(queue).want(name, latest: latest) }
        return try BundleWait(queue, which.names, seconds: seconds).perform(on: console)
    }
}

struct BundleCheck: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check sources for newer versions; fetch no file.",
        discussion: ExitStatus.help(BundleWait.endings))

    @OptionGroup var which: BundleNames
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        for name in which.names { _ = try Bundles(queue).find(name) }
        Signals.watch()
        for name in which.names { try Bundles(queue).check(name) }
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
            problems += try Bundles(queue).verify(name, repair: repair) { problem in
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
            let path = try Bundles(TransferQueue()).path(which.name, file: file)
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
                "LONGHAUL_BUNDLE_PATH", to: try Bundles(TransferQueue()).hold(which.name))
        } catch {
            guard error.code == .notFound else { throw error }
            try console.refuse(error)
            return .transferFailed
        }
        // The hold belongs to the process, which the command takes over.
        throw OwnProcess.become(program, command.dropFirst().map { Array($0.utf8) }).longhaulError()
    }
}
