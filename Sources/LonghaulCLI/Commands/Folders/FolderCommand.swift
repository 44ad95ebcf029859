import ArgumentParser
import Longhaul
import LonghaulPlatform

struct FolderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "folder",
        abstract: "Send what appears in directories, once it is complete.",
        discussion: """
            A file is complete when no program writes to it and it has not changed for --settle. \
            Names that begin with a dot and .part, .tmp, .crdownload and .longhaul-part are left \
            out unless a pattern includes them. Each file is a transfer of the session folder:NAME.

              longhaul folder add photos ~/Pictures https://example.com/photos/ -r
              longhaul folder add scans /srv/in https://nas/in/ --after move=/srv/done
              longhaul folder why photos
            """,
        subcommands: [
            FolderAdd.self, FolderList.self, FolderShow.self, FolderWhy.self, FolderScan.self,
            FolderPause.self, FolderResume.self, FolderRemove.self,
        ])

    static let endings: [ExitStatus] = [.done, .noSuchTransfer, .usage, .storeUnavailable]
}

/// Names one folder.
struct FolderName: ParsableArguments {
    @Argument(help: "The folder's name.", completion: Candidates.folders)
    var name: String
}

/// Names folders.
struct FolderNames: ParsableArguments {
    @Argument(help: "The folders' names.", completion: Candidates.folders)
    var names: [String]

    /// Changes each folder, then has the changes applied. Programs get the records.
    func change(
        on console: Console, then apply: (TransferQueue) -> Void,
        _ body: (Folders, String) throws -> Void
    ) throws -> ExitStatus {
        let queue = try TransferQueue()
        for name in names { try body(Folders(queue), name) }
        apply(queue)
        if console.isJSON {
            for name in names {
                let folder = try Folders(queue).find(name)
                try console.line { $0.value(folder) }
            }
        }
        return .done
    }
}

struct FolderAdd: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a folder, and upload what appears there.",
        discussion: """
            What is in the folder already is sent, too, unless it was sent before and is unchanged. \
            The same name again replaces the folder. Prints its name.

            A pattern without a slash is matched with the last name of the path; --exclude wins. \
            Files that were sent are kept, deleted, or moved to a directory on the same file system.

              longhaul folder add cam /srv/cam s3://bucket/cam/ --include '*.mp4'

            \(ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The folder's name: letters, digits, '.', '_' and '-'.")
    var name: String

    @Argument(help: "The directory that is watched.", completion: .directory)
    var directory: String

    @Argument(help: "Where its files go, with a slash at the end.")
    var url: String

    @Option(help: ArgumentHelp("How long a file stays unchanged (10s).", valueName: "duration"))
    var settle: String?

    @OptionGroup var patterns: PatternOptions

    @Flag(name: .shortAndLong, help: "Watch the directories below it, too.")
    var recursive = false

    @Option(
        help: ArgumentHelp(
            "What happens to a file that was sent: keep, delete or move=DIR.", valueName: "ending"))
    var after: String?

    @Option(help: "The host that is started with the events of its transfers.")
    var host: String?

    @OptionGroup var start: StartOptions
    @OptionGroup(title: "Upload") var sending: FieldOptions<FolderUploadFields>
    @OptionGroup(title: "Request") var access: FieldOptions<AccessFields>
    @OptionGroup(title: "Schedule") var schedule: FieldOptions<FolderScheduleFields>
    @OptionGroup(title: "Transfer") var transfer: FieldOptions<TransferFields>
    @OptionGroup(title: "Output") var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let context = InputContext.current()
        _ = try start.isWanted()
        if directory.isEmpty { throw LonghaulError.usage("the path is empty") }
        var new = Folders.New(
            name, directory: try context.absolute(directory), url: try OptionText.transferURL(url),
            try template(context))
        if let settle { new.settings.settle = try OptionText.duration(settle, "--settle") }
        new.settings.include = patterns.include
        new.settings.exclude = patterns.exclude
        new.settings.isRecursive = recursive
        new.settings.ending = try ending(context)
        new.host = host
        let queue = try TransferQueue()
        try Folders(queue).add(new)
        start.start(queue, on: console)
        start.sayWhatAReboot(ends: queue, on: console)
        let folder = try Folders(queue).find(name)
        if console.isJSON {
            try console.line { $0.value(folder) }
        } else {
            try console.line(TerminalText.shown(name))
        }
        return .done
    }

    private func template(_ context: InputContext) throws -> TransferRequest {
        var request = TransferRequest(url: "", destination: .file(""))
        request.options.upload = UploadOptions()
        try ConfigurationFile.read().defaults.apply(to: &request)
        request.options.proxyVariables = context.proxyVariables
        try sending.apply(to: &request, context)
        try access.apply(to: &request, context)
        try schedule.apply(to: &request, context)
        try transfer.apply(to: &request, context)
        return request
    }

    private func ending(_ context: InputContext) throws -> FolderEnding {
        switch after {
        case nil, "keep": return .keep
        case "delete": return .delete
        case .some(let text):
            guard text.hasPrefix("move="), text.utf8.count > 5 else {
                throw LonghaulError.usage("--after: it is keep, delete or move=DIR")
            }
            return .move(try context.absolute(String(text.dropFirst(5))))
        }
    }
}

struct FolderList: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List all folders, by name.",
        discussion: ExitStatus.help([.done, .usage, .storeUnavailable]))

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let folders = try Folders(TransferQueue.toShow(on: console)).all()
        if console.isJSON {
            for folder in folders { try console.line { $0.value(folder) } }
            return .done
        }
        for line in FolderText.table(folders, TerminalFacts.of(1)) { try console.line(line) }
        return .done
    }
}

struct FolderShow: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show everything about one folder.",
        discussion: ExitStatus.help(FolderCommand.endings))

    @OptionGroup var which: FolderName
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let folder = try Folders(TransferQueue.toShow(on: console)).find(which.name)
        if console.isJSON {
            try console.line { $0.value(folder) }
            return .done
        }
        for line in FolderText.lines(folder, .current()) { try console.line(line) }
        return .done
    }
}

struct FolderWhy: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "why", abstract: "Say what a folder waits for, or what is wrong.",
        discussion: ExitStatus.help(FolderCommand.endings))

    @OptionGroup var which: FolderName
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue.toShow(on: console)
        let folder = try Folders(queue).find(which.name)
        if console.isJSON {
            try console.line { $0.value(folder) }
            return .done
        }
        for line in FolderText.why(folder, .current()) { try console.line(line) }
        var filter = TransferFilter()
        filter.session = folder.session
        filter.states = [.failed]
        filter.limit = Limits.notedTransfers
        for transfer in try queue.transfers(filter) {
            let error = transfer.error?.message ?? ""
            try console.line("\(transfer.id) failed: \(TerminalText.shown(error))")
        }
        return .done
    }
}

struct FolderScan: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "Read folders now, and try failed files again.",
        discussion: ExitStatus.help(FolderCommand.endings))

    @OptionGroup var which: FolderNames
    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try which.change(on: console, then: { start.start($0, on: console) }) { try $0.scan($1) }
    }
}

struct FolderPause: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pause folders: nothing is looked for or sent.",
        discussion: ExitStatus.help(FolderCommand.endings))

    @OptionGroup var which: FolderNames
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try which.change(on: console, then: console.settle) { try $0.pause($1) }
    }
}

struct FolderResume: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume paused folders.",
        discussion: ExitStatus.help(FolderCommand.endings))

    @OptionGroup var which: FolderNames
    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try which.change(on: console, then: { start.start($0, on: console) }) {
            try $0.resume($1)
        }
    }
}

struct FolderRemove: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove folders, and cancel their uploads.",
        discussion: """
            All files stay, here and at the server.

            \(ExitStatus.help(FolderCommand.endings))
            """)

    @OptionGroup var which: FolderNames
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        for name in which.names {
            try Folders(queue).remove(name)
            try console.removed(name)
        }
        console.settle(queue)
        return .done
    }
}
