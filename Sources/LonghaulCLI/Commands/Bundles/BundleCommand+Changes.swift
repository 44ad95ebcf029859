import ArgumentParser
import Longhaul

struct BundleList: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List all bundles, by name.",
        discussion: ExitStatus.help([.done, .usage, .storeUnavailable]))

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let bundles = try Bundles(TransferQueue.toShow(on: console)).all()
        if console.isJSON {
            for bundle in bundles { try console.line { $0.value(bundle) } }
            return .done
        }
        for line in BundleText(time: .current()).table(bundles, TerminalFacts.of(1)) {
            try console.line(line)
        }
        return .done
    }
}

struct BundleShow: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show everything about one bundle.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @OptionGroup var which: BundleName

    @Flag(help: "Show its files in its place, one line each.")
    var files = false

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let bundles = try Bundles(TransferQueue.toShow(on: console))
        let bundle = try bundles.find(which.name)
        let text = BundleText(time: .current())
        if files {
            try bundles.forEachFile(of: which.name) { file in
                if console.isJSON {
                    try console.line { $0.value(file) }
                } else {
                    try console.line(text.line(file))
                }
            }
        } else if console.isJSON {
            try console.line { $0.value(bundle) }
        } else {
            for line in text.lines(bundle) { try console.line(line) }
        }
        return .done
    }
}

struct BundleWhy: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "why", abstract: "Say what a bundle waits for, or why it has failed.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @OptionGroup var which: BundleName
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let bundles = try Bundles(TransferQueue.toShow(on: console))
        let bundle = try bundles.find(which.name)
        if console.isJSON {
            try console.line { $0.value(bundle) }
            return .done
        }
        let text = BundleText(time: .current())
        for line in text.why(bundle) { try console.line(line) }
        try bundles.forEachFile(of: which.name) { file in
            if file.error != nil || file.state == "fetching" { try console.line(text.line(file)) }
        }
        return .done
    }
}

struct BundlePause: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pause bundles: nothing is fetched or checked.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @OptionGroup var which: BundleNames
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try which.change(on: console, then: console.settle) { try $0.pause($1) }
    }
}

struct BundleResume: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume paused bundles.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @OptionGroup var which: BundleNames
    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try which.change(on: console, then: { start.start($0, on: console) }) {
            try $0.resume($1)
        }
    }
}

struct BundleNow: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "now", abstract: "Run bundles now, regardless of their conditions.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @OptionGroup var which: BundleNames
    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try which.change(on: console, then: { start.start($0, on: console) }) {
            try $0.runNow($1)
        }
    }
}

struct BundleCancel: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "End what is done for bundles; complete files stay.",
        discussion: ExitStatus.help([.done, .noSuchTransfer, .usage, .storeUnavailable]))

    @OptionGroup var which: BundleNames
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try which.change(on: console, then: console.settle) { try $0.cancel($1) }
    }
}

struct BundleRemove: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Forget bundles, and delete the files that they have brought.",
        discussion: """
            Files that somebody has changed since stay.

            \(ExitStatus.help([.done, .noSuchTransfer, .refused, .usage, .storeUnavailable]))
            """)

    @OptionGroup var which: BundleNames

    @Flag(help: "Only forget: all files stay.")
    var keepFiles = false

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        for name in which.names {
            try Bundles(queue).remove(name, keepingFiles: keepFiles)
            try console.removed(name)
        }
        return .done
    }
}
