internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// A host's answer about a transfer that waits for its word: a line of its standard output.
struct InputAnswer: Hashable {
    enum Action: Hashable {
        /// Begin, or try once more, unchanged.
        case goOn
        case use(url: String?, headers: [HeaderFields.Field])
        case cancel
    }

    var transfer: TransferID
    var action: Action

    /// `nil` = not an answer: a host may write any text.
    init?(_ line: [UInt8]) {
        var id: Int64?
        var word: String?
        var url: String?
        var headers: [HeaderFields.Field] = []
        let isObject = readObject(line) { key, scanner in
            if scanner.null() { return }
            switch key {
            case "transfer": id = try scanner.integer()
            case "action": word = try scanner.string()
            case "url": url = try scanner.string()
            case "headers":
                try scanner.object { name, scanner in
                    headers.append(HeaderFields.Field(name: name, value: try scanner.string()))
                }
            default: _ = try scanner.raw()
            }
        }
        guard isObject, let id, let word else { return nil }
        transfer = TransferID(rawValue: id)
        switch word {
        case "continue": action = .goOn
        case "cancel": action = .cancel
        case "use" where url != nil || !headers.isEmpty: action = .use(url: url, headers: headers)
        default: return nil
        }
    }
}

/// A host's result of a task that it was handed: a line of its standard output.
struct TaskAnswer: Hashable {
    var identifier: String
    var result: TaskResult

    /// `nil` = not an answer.
    init?(_ line: [UInt8]) {
        var identifier: String?
        var word: String?
        let isObject = readObject(line) { key, scanner in
            switch key {
            case "task": identifier = try scanner.string()
            case "result": word = try scanner.string()
            default: _ = try scanner.raw()
            }
        }
        guard isObject, let identifier, let result = word.flatMap(TaskResult.init(rawValue:))
        else { return nil }
        self.identifier = identifier
        self.result = result
    }
}

/// A report of progress about a continued task: a line of its program's standard output.
struct ProgressAnswer: Hashable {
    var identifier: String
    var report = ProgressReport()

    /// `nil` = not a report, or one that makes no sense.
    init?(_ line: [UInt8]) {
        var identifier: String?
        var report = ProgressReport()
        let isObject = readObject(line) { key, scanner in
            if scanner.null() { return }
            switch key {
            case "task": identifier = try scanner.string()
            case "progress": report.progress = try Self.progress(&scanner)
            case "title": report.title = try scanner.string()
            case "subtitle": report.subtitle = try scanner.string()
            default: _ = try scanner.raw()
            }
        }
        guard isObject, let identifier, report.isValid else { return nil }
        self.identifier = identifier
        self.report = report
    }

    private static func progress(_ scanner: inout JSONScanner) throws -> TaskProgress {
        var progress = TaskProgress()
        try scanner.object { key, scanner in
            switch key {
            case "completed": progress.completedUnitCount = try scanner.integer()
            case "total": progress.totalUnitCount = try scanner.integer()
            default: _ = try scanner.raw()
            }
        }
        return progress
    }
}

/// Reads the members of the object that is a whole line. `false` = it is none: a host may write any
/// text.
private func readObject(
    _ line: [UInt8], _ field: (String, inout JSONScanner) throws -> Void
) -> Bool {
    do {
        try line.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes)
            try scanner.object(field)
            try scanner.end()
        }
        return true
    } catch {
        return false
    }
}

extension TransferQueue {
    /// Carries an answer out, for a transfer of that session that waits for one.
    func apply(_ answer: InputAnswer, session: String) throws(LonghaulError) {
        let id = answer.transfer
        guard try store.questions.waitsForInput(id, session: session) else { return }
        switch answer.action {
        case .goOn: _ = try store.questions.answerInput(id)
        case .cancel: _ = try cancel(.ids([id]), by: .host)
        case .use(let url, let headers):
            var change = TransferChange()
            change.url = url
            // The same fields are taken as by `set --header`.
            for field in headers {
                change.headers.append(try HeaderFields.Field.checked(field))
            }
            try self.change(id, change)
        }
        WakeChannel.poke(directory)
    }
}

extension HeaderFields.Field {
    fileprivate static func checked(_ field: Self) throws(LonghaulError) -> Self {
        do {
            return try Self(parsing: "\(field.name): \(field.value)")
        } catch {
            throw LonghaulError(.invalidRequest, "\(error)")
        }
    }
}
