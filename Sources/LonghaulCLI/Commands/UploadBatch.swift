import ArgumentParser
import Longhaul
import LonghaulPlatform

/// Options of `upload` about its files.
struct BatchOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Send the files below a directory.")
    var recursive = false

    @Flag(
        name: [.customShort("L"), .customLong("copy-links")],
        help: "With -r: send what symbolic links lead to.")
    var copiesLinks = false

    @OptionGroup var patterns: PatternOptions

    @Flag(help: "Of several files, send also unchanged ones that were sent before.")
    var again = false

    @Flag(help: "Send a file that is still written, until it is complete (ietf, tus, s3).")
    var follow = false
}

/// Chooses files of a directory by their names.
struct PatternOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Of a directory: only the files that match (repeatable).", valueName: "glob"))
    var include: [String] = []

    @Option(
        help: ArgumentHelp(
            "Of a directory: without the files that match (repeatable).", valueName: "glob"))
    var exclude: [String] = []
}

/// The files of one `upload` that has several, and the requests for them.
struct UploadBatch {
    /// Without a file and a URL.
    private var template: TransferRequest
    private let options: BatchOptions
    private let shard: Shard?
    private let keepsGoing: Bool
    private var url = ""
    /// The directory that ``files`` are below, with a slash at the end; empty = they are absolute.
    private var root = ""
    private var files: [String] = []
    private var passedOver: [(path: String, why: FileTree.Obstacle)] = []
    private var skipped = 0

    init(
        _ template: TransferRequest, _ options: BatchOptions, _ shard: Shard?,
        keepsGoing: Bool
    ) {
        self.template = template
        self.shard = shard
        self.options = options
        self.keepsGoing = keepsGoing
        self.template.options.upload?.createsDirectories = true
    }

    /// Looks for the files of the command line.
    mutating func find(
        _ words: some Collection<String>, to url: String, _ context: InputContext
    ) throws(LonghaulError) {
        self.url = url
        if isPlace, !UploadPlace.isDirectory(url) {
            let place = Redaction.url(url)
            throw .usage("several files go to a URL that ends in a slash, as \(place)/")
        }
        if words.contains(where: \.isEmpty) { throw .usage("the path is empty") }
        if options.recursive {
            for word in words { try findTree(below: context.absolute(word)) }
        } else {
            for word in words { files.append(try context.absolute(word)) }
            try checkNames()
        }
        if let shard { files = files.filter { shard.contains(request(of: $0)) } }
    }

    private mutating func findTree(below directory: String) throws(LonghaulError) {
        var directory = directory
        while directory.hasSuffix("/") { directory.removeLast() }
        root = directory + "/"
        let path = TerminalText.shown(root)
        let selection = try FileSelection(
            include: options.patterns.include, exclude: options.patterns.exclude)
        if !FileTree.isDirectory(root) { throw .usage("\(path) is no directory; leave out -r") }
        do throws(SystemFailure) {
            let tree = try FileTree(root, followsLinks: options.copiesLinks)
            files = tree.files.filter(selection.selects)
            passedOver = tree.obstacles.filter { selection.selects($0.path) }
        } catch {
            throw error.longhaulError()
        }
    }

    /// Refuses what would not be at the server in the end.
    private func checkNames() throws(LonghaulError) {
        var seen: Set<Substring> = []
        for file in files {
            if FileTree.isDirectory(file) {
                throw .usage("\(TerminalText.shown(file)) is a directory; send it alone, with -r")
            }
            guard let name = file.split(separator: "/").last else { continue }
            if isPlace, !seen.insert(name).inserted {
                throw .usage(
                    "two of the files have the name \(TerminalText.shown(String(name))), and only "
                        + "one could stay at the URL")
            }
        }
    }

    /// The URL of each file is its own; otherwise each makes a resource at the URL.
    private var isPlace: Bool { template.options.upload?.namesItsPlace ?? false }

    private func request(of file: String) -> TransferRequest {
        template.sending(file, below: root, to: url)
    }

    // MARK: - Recording

    /// Leaves out files that were sent before, and missing or unreadable ones.
    private mutating func leaveOut(in queue: TransferQueue) throws(LonghaulError) {
        var sent = SentUploads(queue)
        var kept: [String] = []
        for file in files {
            do throws(LonghaulError) {
                if try !sent.contains(request(of: file)) || options.again {
                    kept.append(file)
                } else {
                    skipped += 1
                }
            } catch {
                guard !root.isEmpty, let why = FileTree.obstacle(toReading: root + file)
                else { throw error }
                passedOver.append((file, why))
            }
        }
        files = kept
    }

    private var refusals: RefusalPolicy {
        if keepsGoing { return .keepGoing }
        return template.options.onDuplicate == .fail ? .allOrNone : .passOverConflicts
    }

    /// Records the uploads for the background.
    mutating func record(
        _ recorder: RequestRecorder, _ start: StartOptions
    ) throws -> ExitStatus {
        let (queue, console) = (recorder.queue, recorder.console)
        try leaveOut(in: queue)
        sayPassedOver(on: console)
        let status = try recorder.perform(start) {
            if template.options.upload?.snapshot == true {
                let requests = files.map(request)
                let prepared = try PreparedRequests.of(
                    requests, in: queue, copying: console.sayCopying)
                for request in requests { recorder.handOver(request, line: nil) }
                return try Signals.withoutSuspension {
                    try prepared.enqueue(in: queue, refusals) { recorder.record($0) }
                }
            }
            var rest = files.makeIterator()
            try Signals.withoutSuspension {
                try PreparedRequests.enqueue(in: queue, refusals) {
                    guard let file = rest.next() else { return nil }
                    let request = request(of: file)
                    recorder.handOver(request, line: nil)
                    return request
                } report: {
                    recorder.record($0)
                }
            }
        }
        let counts = recorder.counts
        var totals = summary(recorded: counts.recorded, existing: counts.existing)
        totals.refused = files.count - counts.recorded - counts.existing
        try totals.show(on: console)
        return self.status(status)
    }

    /// Records the uploads, transfers now and waits for them.
    mutating func recordAndWait(
        in queue: TransferQueue, _ limits: EngineLimits, _ report: RunReport?, on console: Console
    ) throws -> ExitStatus {
        try leaveOut(in: queue)
        sayPassedOver(on: console)
        if files.isEmpty {
            try summary(recorded: 0, existing: 0).show(on: console)
            try report?.finish()
            return status(.done)
        }
        var awaited = AwaitedTransfers(files.map(request), isCompared: true, limits)
        awaited.refusals = refusals
        awaited.report = report
        var last = summary(recorded: 0, existing: 0)
        awaited.didRecord = { outcomes in
            for outcome in outcomes {
                switch outcome {
                case .recorded: last.queued += 1
                case .existing: last.existing += 1
                case .refused: last.refused += 1
                case .skipped: break
                }
            }
            if !console.isJSON { try? last.show(on: console) }
        }
        awaited.didEnd = { transfers in
            last.completed = transfers.count { $0.state == .completed }
            last.failed = transfers.count - (last.completed ?? 0)
            try? last.show(on: console)
        }
        return status(try awaited.perform(on: console))
    }

    /// A file that should have been sent and could not be read is no success.
    private func status(_ status: ExitStatus) -> ExitStatus {
        let isMissed = passedOver.contains { $0.why.isFailure }
        return status == .done && isMissed ? .refused : status
    }

    // MARK: - Words

    private func sayPassedOver(on console: Console) {
        if !root.isEmpty, files.isEmpty, passedOver.isEmpty, skipped == 0 {
            console.complain("longhaul: \(TerminalText.shown(root)) has no file in it")
        }
        for (index, item) in passedOver.enumerated() {
            if console.isJSON {
                try? console.line { json in
                    json.object {
                        $0.field("passedOver", item.path)
                        $0.field("reason", item.why.rawValue)
                    }
                }
            } else if index < Limits.notedTransfers {
                let path = TerminalText.shown(root + item.path)
                sayPassedOver("\(path) \(item.why.text)", isFailure: item.why.isFailure, console)
            }
        }
        let rest = passedOver.dropFirst(Limits.notedTransfers)
        if rest.isEmpty || console.isJSON { return }
        sayPassedOver(
            "\(rest.count) more", isFailure: rest.contains { $0.why.isFailure }, console)
    }

    /// `--quiet` hides no failure.
    private func sayPassedOver(_ what: String, isFailure: Bool, _ console: Console) {
        let text = "longhaul: passed over: " + what
        if isFailure { console.complain(text) } else { console.say(text) }
    }

    private func summary(recorded: Int, existing: Int) -> UploadSummary {
        UploadSummary(
            queued: recorded, existing: existing, skipped: skipped, passedOver: passedOver.count)
    }
}

/// The outcomes of the files of an `upload`.
private struct UploadSummary {
    var queued: Int
    var existing: Int
    var skipped: Int
    var passedOver: Int
    var refused = 0
    /// `nil` = the command does not wait.
    var completed: Int?
    var failed: Int?

    func show(on console: Console) throws {
        if console.isJSON {
            return try console.line { json in
                json.object {
                    $0.field("type", "summary")
                    $0.field("queued", queued)
                    $0.field("existing", existing)
                    $0.field("skipped", skipped)
                    $0.field("passedOver", passedOver)
                    $0.field("refused", refused)
                    if let completed { $0.field("completed", completed) }
                    if let failed { $0.field("failed", failed) }
                }
            }
        }
        if let completed, let failed {
            return console.say("longhaul: \(completed) completed, \(failed) failed")
        }
        var parts = ["\(queued) queued"]
        if existing > 0 { parts.append("\(existing) recorded before") }
        if skipped > 0 { parts.append("\(skipped) skipped, sent before and the same") }
        if passedOver > 0 { parts.append("\(passedOver) passed over") }
        if refused > 0 { parts.append("\(refused) refused") }
        console.say("longhaul: " + parts.joined(separator: ", "))
    }
}

extension FileTree.Obstacle {
    /// A file that should have been sent was not.
    fileprivate var isFailure: Bool { self == .unreadable || self == .badName }

    fileprivate var text: String {
        switch self {
        case .link: "is a symbolic link; --copy-links sends its target"
        case .special: "is a device, a pipe or a socket"
        case .unreadable: "cannot be read"
        case .badLink: "is gone, or a link that leads nowhere or back"
        case .badName: "has a name that is not UTF-8"
        }
    }
}
