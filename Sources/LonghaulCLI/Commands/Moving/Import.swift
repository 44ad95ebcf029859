import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Import: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import what `export` has printed: transfers, sessions, hosts and jobs.",
        discussion: """
            Prints what was recorded. The transfers have new ids, and begin without their bytes. \
            Sessions, hosts and jobs of the same name are replaced. A transfer whose credentials \
            were left out is paused until they are set. What cannot be recorded here is reported, \
            and the rest is recorded; a malformed line records nothing.

              longhaul import queue.jsonl
              ssh laptop longhaul export | longhaul import -

            \(ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "The file, or - for standard input.", completion: .file())
    var file: String

    @OptionGroup var start: StartOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        _ = try start.isWanted()
        let context = InputContext.current()
        let lines = try ExportedLine.all(in: ByteLines(path: file), context)
        let queue = try TransferQueue()
        let importer = Importer(queue, on: console)
        for line in lines { try importer.record(line) }
        try importer.recordTransfers()
        start.start(queue, on: console)
        return importer.status
    }
}

/// A line of an export.
struct ExportedLine {
    enum Content {
        case transfer(TransferRequest, TransferID)
        case session(String, SessionChange)
        case host(String, HostSettings)
        case job(ExportedJob)
    }

    var number: Int
    var content: Content
    /// The fields that have a secret.
    var leftOut: [String]
    var isPaused: Bool

    /// - Throws: A usage error if one line cannot be understood.
    static func all(
        in lines: ByteLines, _ context: InputContext
    ) throws(InputProblem) -> [ExportedLine] {
        var all: [ExportedLine] = []
        do {
            while let text = try lines.next() {
                if text.allSatisfy(\.isBlank) { continue }
                all.append(try ExportedLine(text, lines.number, context))
            }
        } catch {
            throw InputProblem(error: error, line: lines.number == 0 ? nil : lines.number)
        }
        return all
    }

    private init(
        _ text: UnsafeBufferPointer<UInt8>, _ number: Int, _ context: InputContext
    ) throws(LonghaulError) {
        var fields: [String: FieldInput] = [:]
        var options: [(String, FieldInput)] = []
        try JSONProblem.asUsage {
            var scanner = JSONScanner(text)
            try scanner.object { key, scanner in
                if key != "options" { fields[key] = try scanner.plainValue() }
                if key == "options" {
                    try scanner.object { options.append(($0, try $1.plainValue())) }
                }
            }
            try scanner.end()
        }
        self.number = number
        leftOut = fields["leftOut"]?.list ?? []
        isPaused = fields["state"]?.text == "paused"
        let name = fields["name"]?.text ?? ""
        let argv = fields["argv"]?.list ?? []
        switch fields["type"]?.text {
        case "transfer":
            let template = RequestTemplate(directory: (try? context.directory.get()) ?? ".")
            let id = fields["id"]?.text.flatMap { TransferID($0) } ?? TransferID(rawValue: 0)
            // Its URL is refused when the others are recorded.
            let request =
                leftOut.contains("url")
                ? .blank : try JSONRequest(template: template, context: context).request(text)
            content = .transfer(request, id)
        case "session":
            var change = SessionChange()
            change.host = .some(fields["host"]?.text)
            change.isDiscretionary = fields["discretionary"]?.flag
            change.launchEvents = fields["launchEvents"]?.flag
            change.askBeforeStart = fields["askBeforeStart"]?.flag
            change.launchDelay = .some(fields["launchDelay"]?.seconds)
            change.notifies = fields["notify"]?.flag
            content = .session(name, change)
        case "host":
            var settings = HostSettings(argv: argv, permitted: fields["permitted"]?.list ?? [])
            settings.eventBudget = fields["eventBudget"]?.seconds
            settings.taskBudget = fields["taskBudget"]?.seconds
            if let text = fields["maxMemory"]?.text {
                settings.maxMemory = try OptionText.memory(text, "maxMemory")
            }
            settings.notifies = fields["notify"]?.flag ?? false
            content = .host(name, settings)
        case "job":
            content = .job(
                ExportedJob(
                    name: name, argv: argv, isOnce: fields["once"]?.flag ?? false,
                    timeZone: fields["timeZone"]?.text, options: options))
        case let type:
            let shown = type.map { TerminalText.shown($0) } ?? ""
            throw .usage("it is no line of an export: there is no type '\(shown)'")
        }
    }
}

/// A job of an export: made by the command with the same options.
struct ExportedJob {
    var name: String
    var argv: [String]
    var isOnce: Bool
    var timeZone: String?
    var options: [(key: String, value: FieldInput)]

    /// - Parameter ids: New ids of transfers.
    func record(in queue: TransferQueue, _ ids: [TransferID: TransferID]) throws {
        // Times of day are in the zone that the job had.
        let ours = Environment.value("TZ")
        if let timeZone { Environment.set("TZ", to: timeZone) }
        defer {
            if let ours { Environment.set("TZ", to: ours) } else { Environment.remove(["TZ"]) }
        }
        let words = words(ids) + ["--"] + program
        if !isOnce {
            try JobAdd.parse([name] + words).record(in: queue)
            return
        }
        let once = try JobOnce.parse(["--name", name] + words)
        // The same import again: the run that waits is replaced.
        if let known = try? queue.jobs.find(name), known.settings.isOnce,
            known.state == .waiting || known.state == .paused
        {
            try queue.jobs.cancel(name)
        }
        try once.record(in: queue)
    }

    /// The program may be elsewhere on this machine.
    private var program: [String] {
        guard let path = argv.first, Executable.obstacle(path) != nil else { return argv }
        return [path.split(separator: "/").last.map(String.init) ?? path] + argv.dropFirst()
    }

    /// `maxTime` is `--max-time`.
    private func words(_ ids: [TransferID: TransferID]) -> [String] {
        options.flatMap { key, value -> [String] in
            let name = key.reduce(into: "--") { name, letter in
                name += letter.isUppercase ? "-" + letter.lowercased() : String(letter)
            }
            if key == "after" {
                // Those that are not in the export have ended.
                let new = value.list.compactMap { TransferID($0).flatMap { ids[$0] } }
                return new.flatMap { [name, $0.description] }
            }
            switch value {
            case .flag(let flag): return flag ? [name] : []
            default: return value.list.flatMap { [name, $0] }
            }
        }
    }
}

/// Records the lines of an export, in their order.
private final class Importer {
    private(set) var status = ExitStatus.done
    private let queue: TransferQueue
    private let console: Console
    /// The new ids of the transfers so far.
    private var ids: [TransferID: TransferID] = [:]
    /// Transfers that are recorded next, together.
    private var waiting: [(line: ExportedLine, request: TransferRequest, id: TransferID)] = []

    init(_ queue: TransferQueue, on console: Console) {
        self.queue = queue
        self.console = console
    }

    func record(_ line: ExportedLine) throws {
        switch line.content {
        case .transfer(let request, let id):
            if line.leftOut.contains("url") {
                return try refuse(
                    line, .usage("transfer \(id): its URL has a secret, which is left out"))
            }
            var request = request
            if !request.options.after.isEmpty {
                // The new ids are needed. Those that are not in the export have ended.
                try recordTransfers()
                request.options.after = request.options.after.compactMap { ids[$0] }
            }
            waiting.append((line, request, id))
            if waiting.count == Limits.changesPerRead { try recordTransfers() }
        case .session(let name, let change):
            try record(line, "session", name) { try self.queue.change(session: name, change) }
        case .host(let name, let settings):
            try record(line, "host", name) { try self.queue.add(host: name, settings) }
        case .job(let job):
            try recordTransfers()
            try record(line, "job", job.name) {
                try job.record(in: self.queue, self.ids)
                if line.isPaused || !line.leftOut.isEmpty {
                    try self.queue.jobs.setPaused(job.name, true)
                }
            }
        }
    }

    private func record(
        _ line: ExportedLine, _ kind: String, _ name: String, _ body: () throws -> Void
    ) throws {
        do {
            if line.leftOut.contains("argv") {
                throw LonghaulError.usage("an argument has a secret, which is left out")
            }
            try body()
        } catch let error as LonghaulError {
            var error = error
            error.message = "\(kind) \(name): \(error.message)"
            return try refuse(line, error)
        } catch {
            // Of the parser of options.
            let message = JobAdd.message(for: error)
            return try refuse(line, .usage("\(kind) \(name): \(message)"))
        }
        try show(kind, TerminalText.shown(name)) { $0.field("name", name) }
        sayLeftOut(line, "\(kind) \(TerminalText.shown(name))", "longhaul \(kind) add")
    }

    func recordTransfers() throws {
        let batch = waiting
        waiting = []
        var paused: [TransferID] = []
        let outcomes = try queue.enqueue(batch.map(\.request), keepGoing: true)
        for (transfer, outcome) in zip(batch, outcomes) {
            switch outcome {
            case .recorded(let id, destination: _), .existing(let id, destination: _):
                ids[transfer.id] = id
                if transfer.line.isPaused || !transfer.line.leftOut.isEmpty { paused.append(id) }
                try show("transfer", "\(id) (was \(transfer.id))") {
                    $0.field("id", id.rawValue)
                    $0.field("was", transfer.id.rawValue)
                }
                sayLeftOut(
                    transfer.line, "\(id)", "longhaul set \(id)` and `longhaul resume \(id)")
            case .skipped(let path): console.skipped(path, isCompared: true)
            case .refused(let error): try refuse(transfer.line, error)
            }
        }
        if !paused.isEmpty {
            _ = try queue.pause(.ids(paused))
            console.settle(queue)
        }
    }

    private func show(_ kind: String, _ text: String, _ fields: (inout JSONText) -> Void) throws {
        if !console.isJSON { return try console.line("\(kind) \(text)") }
        try console.line { json in
            json.object {
                $0.field("type", kind)
                fields(&$0)
            }
        }
    }

    private func sayLeftOut(_ line: ExportedLine, _ name: String, _ command: String) {
        if line.leftOut.isEmpty { return }
        let fields = line.leftOut.map { TerminalText.shown($0) }.joined(separator: ", ")
        console.say("longhaul: \(name): paused, without \(fields): `\(command)`")
    }

    private func refuse(_ line: ExportedLine, _ error: LonghaulError) throws {
        try console.refuse(error, line: line.number)
        status = .refused
    }
}

extension JSONScanner {
    /// A value of an export: text, number, flag or a list of texts; `null` is an empty list.
    fileprivate mutating func plainValue() throws -> FieldInput {
        if null() { return .texts([]) }
        if isString() { return .text(try string()) }
        if isArray() { return try input(.list) }
        let raw = try raw()
        return raw == "true" || raw == "false" ? .flag(raw == "true") : .text(raw)
    }
}

extension FieldInput {
    fileprivate var text: String? { if case .text(let text) = self { text } else { nil } }

    fileprivate var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }

    fileprivate var seconds: Double? { text.flatMap(Double.init) }

    fileprivate var list: [String] {
        switch self {
        case .text(let text): [text]
        case .texts(let texts): texts
        default: []
        }
    }
}
