internal import LonghaulCore
internal import LonghaulPlatform

/// Retries of a due run of a job that stays, unless its request sets another number.
package let jobRetries = 3

/// A job as JSON describes it, with the keys of a listed job.
package struct JobInput: Sendable {
    package private(set) var argv: [String] = []
    package private(set) var settings: JobSettings
    package private(set) var request = TaskRequest(identifier: "job", kind: .processing)

    /// Keys of a listed job that are not settings.
    private static let shown: Set<String> = [
        "name", "state", "timeZone", "waitingFor", "forecast", "failures", "runs",
    ]

    private static let conditions = RequestField.all.filter {
        ["earliestBegin", "window", "require", "prefer", "discretionary"].contains($0.key)
    }

    /// Values that are read once all keys are known.
    private struct Texts {
        var said = TransferRequest.blank
        var words: [String] = []
        var every: String?
        var tolerance: String?
        var times: [String] = []
        var days: String?
        var calendar: String?
        var deadline: String?
        var events: [String] = []
        var settle: String?
    }

    /// - Parameters:
    ///   - old: The settings of the job that is replaced, whose environment stays.
    ///   - environment: The environment of a new job.
    /// - Throws: `invalidRequest` names the key.
    package init(
        json: UnsafeBufferPointer<UInt8>, replacing old: JobSettings?, _ context: InputContext,
        environment: [String: String] = Environment.all()
    ) throws(LonghaulError) {
        if let old {
            settings = old
        } else {
            let directory = try context.directory.get()
            settings = JobSettings.ofCaller(in: directory, environment: environment)
        }
        request.job = JobSchedule()
        request.job?.retries = jobRetries
        var texts = Texts()
        var input = self
        try JSONProblem.asUsage {
            var scanner = JSONScanner(json)
            try scanner.object { key, scanner in
                if Self.shown.contains(key) { return try scanner.skip() }
                if scanner.null() {
                    if key == "slot" { input.settings.slot = nil }
                    if key == "maxMemory" { input.settings.maxMemory = nil }
                    return
                }
                if try input.readSetting(key, &scanner, context) { return }
                if try input.readSchedule(key, &scanner, &texts, context) { return }
                throw LonghaulError.usage("'\(TerminalText.shown(key))' is no key of a job")
            }
            try scanner.end()
        }
        try input.finish(texts, context, environment)
        self = input
    }

    /// `false` = it is another key.
    private mutating func readSetting(
        _ key: String, _ scanner: inout JSONScanner, _ context: InputContext
    ) throws -> Bool {
        switch key {
        case "once": settings.isOnce = try scanner.bool()
        case "directory":
            settings.directory = try JobSettings.directory(try scanner.string(), key, context)
        case "nice":
            let number = try scanner.integer()
            guard (0...19).contains(number) else {
                throw LonghaulError.usage("nice: it is a number from 0 to 19")
            }
            settings.nice = Int(number)
        case "grace": settings.graceSeconds = try scanner.seconds(key)
        case "maxTime":
            settings.maxSeconds = try scanner.seconds(key)
            if settings.maxSeconds == 0 {
                throw LonghaulError.usage("maxTime: no run would begin")
            }
        case "inhibitSleep":
            settings.inhibitsSleep = try scanner.word(key)
        case "notify": settings.notifies = try scanner.bool()
        case "slot": settings.slot = try OptionText.slot(try scanner.string(), key)
        case "maxMemory":
            let text = scanner.isString() ? try scanner.string() : "\(try scanner.integer())"
            settings.maxMemory = try OptionText.memory(text, key)
        default: return false
        }
        return true
    }

    private mutating func readSchedule(
        _ key: String, _ scanner: inout JSONScanner, _ texts: inout Texts, _ context: InputContext
    ) throws -> Bool {
        switch key {
        case "argv": texts.words = try scanner.texts()
        case "every": texts.every = try scanner.durationText()
        case "tolerance": texts.tolerance = try scanner.durationText()
        case "at": texts.times = try scanner.texts()
        case "days": texts.days = try scanner.string()
        case "calendar": texts.calendar = try scanner.string()
        case "on":
            texts.events = try scanner.texts()
        case "settle": texts.settle = try scanner.durationText()
        case "deadline": texts.deadline = try scanner.string()
        case "retries":
            request.job?.retries = try OptionText.retries(
                scanner.isString() ? try scanner.string() : String(try scanner.integer()), key)
        case "after":
            var ids: Set<TransferID> = []
            try scanner.array { ids.insert(TransferID(rawValue: try $0.integer())) }
            request.job?.after = ids.sorted()
        case "whenLost":
            let reaction: WhenLost = try scanner.word(key)
            request.expiresWhenRequirementIsLost = reaction == .stop
        default:
            guard let field = Self.conditions.first(where: { $0.key == key }) else { return false }
            let source = FieldSource(name: key, context)
            try field.read(try scanner.input(field.shape, key), source, &texts.said)
        }
        return true
    }

    private enum WhenLost: String, CaseIterable {
        case stop
        case `continue`
    }

    private mutating func finish(
        _ texts: Texts, _ context: InputContext, _ environment: [String: String]
    ) throws(LonghaulError) {
        argv = try JobWords.resolved(texts.words, context, environment: environment)
        request.earliestBegin = texts.said.earliestBegin
        request.requirements = texts.said.schedule.requires
        request.job?.prefers = texts.said.schedule.prefers
        request.job?.isDiscretionary = texts.said.isDiscretionary
        request.job?.windows = texts.said.schedule.windows
        if !texts.events.isEmpty || texts.settle != nil {
            request.triggers = try OptionText.triggers(
                texts.events, settle: texts.settle, prefix: "")
        }
        let whens = [
            texts.every != nil, !texts.times.isEmpty, texts.calendar != nil,
            !request.triggers.isEmpty,
        ]
        if whens.count(where: { $0 }) > 1 {
            throw .usage("every, at, calendar and on exclude each other")
        }
        if let every = texts.every {
            request.repetition = try OptionText.repetition(
                every: every, tolerance: texts.tolerance, prefix: "")
        }
        if !texts.times.isEmpty {
            request.job?.daily = try OptionText.daily(
                texts.times.joined(separator: ","), days: texts.days, prefix: "")
        }
        if let calendar = texts.calendar {
            request.job?.calendar = try OptionText.calendar(calendar, "calendar")
        }
        guard let deadline = texts.deadline else { return }
        let begin = max(request.earliestBegin ?? context.now, context.now)
        switch try OptionText.deadline(
            deadline, "deadline", context, earliest: request.earliestBegin)
        {
        case .at(let time): request.job?.deadline = time
        case .after(let seconds): request.job?.deadline = begin + seconds
        }
    }
}

/// The command of a job.
package enum JobWords {
    /// The command with its program by absolute path, as a shell would find it now.
    package static func resolved(
        _ words: [String], _ context: InputContext, environment: [String: String]
    ) throws(LonghaulError) -> [String] {
        guard let program = words.first, !program.isEmpty else {
            throw .usage("the command is missing")
        }
        let places =
            program.contains("/")
            ? [try context.absolute(program)]
            : (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
                .filter { $0.isAbsolutePath }.map { "\($0)/\(program)" }
        guard let found = places.first(where: { Executable.obstacle($0) == nil }) else {
            throw .usage("there is no command \(TerminalText.shown(program)) that can be run")
        }
        return [found] + words.dropFirst()
    }
}

extension JobSettings {
    /// The variables that a job keeps of the process that creates it; `LC_*` too.
    private static let kept: Set<String> = [
        "PATH", "HOME", "LANG", "USER", "LOGNAME", "SHELL", "TZ",
    ]

    /// Variables of a login, which another login may replace.
    private static let ofLogin = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"]

    /// The variables of a job's command that it was given by name.
    package var givenEnvironment: [String: String] {
        environment.filter { !Self.kept.contains($0.key) && !$0.key.hasPrefix("LC_") }
    }

    /// A directory that a job can be run in, as an absolute path.
    ///
    /// - Parameter name: What names it in messages.
    package static func directory(
        _ text: String, _ name: String, _ context: InputContext
    ) throws(LonghaulError) -> String {
        let place = try context.absolute(text)
        guard CurrentDirectory.mayBe(place) else {
            throw .usage(
                "\(name): there is no directory \(TerminalText.shown(place)) that can be entered")
        }
        return place
    }

    /// The default settings of a job that this process creates.
    package static func ofCaller(in directory: String, environment: [String: String]) -> Self {
        var settings = JobSettings(
            directory: directory,
            environment: environment.filter { kept.contains($0.key) || $0.key.hasPrefix("LC_") })
        let login = environment.filter { ofLogin.contains($0.key) }
        if !login.isEmpty { settings.loginVariables = login }
        return settings
    }
}

extension OptionText {
    /// The values of `every` and `tolerance`.
    ///
    /// - Parameter prefix: Stands before the names in messages.
    package static func repetition(
        every: String, tolerance: String?, prefix: String = "--"
    ) throws(LonghaulError) -> TaskRepetition {
        TaskRepetition(
            interval: try duration(every, prefix + "every"),
            tolerance: try tolerance.map { text throws(LonghaulError) in
                try duration(text, prefix + "tolerance")
            })
    }

    /// Several texts form one list.
    ///
    /// - Parameters:
    ///   - settle: The value of `settle`, for the paths; `nil` = the default.
    ///   - prefix: Stands before the names in messages.
    package static func triggers(
        _ texts: [String], settle: String?, prefix: String = "--"
    ) throws(LonghaulError) -> [TaskTrigger] {
        var triggers: [TaskTrigger] = []
        let words = texts.joined(separator: ",")
        let seconds = try settle.map { text throws(LonghaulError) in
            try duration(text, prefix + "settle")
        }
        for word in words.split(separator: ",", omittingEmptySubsequences: false) {
            guard var trigger = TaskTrigger(rawValue: String(word)) else {
                let all = TaskTrigger.allCases.map(\.rawValue).joined(separator: ", ")
                throw bad(
                    TerminalText.shown(words), prefix + "on",
                    "it is a list of \(all), mount=NAME, network=NAME and path=/PATH")
            }
            if let seconds, case .path(let path, _) = trigger {
                trigger = .path(path, settle: seconds.rounded(.up))
            }
            if !triggers.contains(trigger) { triggers.append(trigger) }
        }
        if settle != nil, !triggers.contains(where: { $0.event == TaskTrigger.pathEvent }) {
            throw .usage("\(prefix)settle is a part of \(prefix)on path=PATH")
        }
        return triggers
    }

    /// Bytes that a launch may have.
    package static func memory(_ text: String, _ name: String) throws(LonghaulError) -> Int64 {
        let bytes = try size(text, name)
        if bytes < Limits.memoryMinimumBytes {
            throw bad(TerminalText.shown(text), name, "the memory of a launch is 1M or more")
        }
        return bytes
    }

    package static func slot(_ text: String, _ name: String) throws(LonghaulError) -> JobSlot {
        if let slot = JobSlot(rawValue: text) { return slot }
        throw bad(
            TerminalText.shown(text), name,
            "a slot is NAME or NAME=N; a name has letters, digits, '.', '_' and '-'")
    }

    /// Moments of a calendar. Its zone is one that this machine knows.
    package static func calendar(
        _ text: String, _ name: String
    ) throws(LonghaulError) -> CalendarMoments {
        guard let calendar = CalendarMoments(parsing: text) else {
            throw bad(
                TerminalText.shown(text), name,
                "it is DAYS YEAR-MONTH-DAY HOUR:MINUTE, as Mon *-*-01..07 03:00, or monthly")
        }
        if let zone = calendar.zone { _ = try ZoneFiles.checked(zone, name) }
        return calendar
    }

    /// The values of `at` and `days`.
    package static func daily(
        _ text: String, days: String?, prefix: String = "--"
    ) throws(LonghaulError) -> DailyMoment {
        var among = Weekdays.all
        if let days {
            guard let known = Weekdays(parsing: days) else {
                throw bad(
                    TerminalText.shown(days), prefix + "days", "days are Mon-Fri or Sat,Sun")
            }
            among = known
        }
        guard let moment = DailyMoment(parsing: text, days: among) else {
            throw bad(
                TerminalText.shown(text), prefix + "at",
                "a time of day is 02:30, several are 02:30,14:30")
        }
        return moment
    }
}

extension JSONScanner {
    /// A list of texts, or one text.
    fileprivate mutating func texts() throws -> [String] {
        if isString() { return [try string()] }
        var texts: [String] = []
        try array { texts.append(try $0.string()) }
        return texts
    }

    /// A duration as a text, or a number of seconds.
    package mutating func durationText() throws -> String {
        isString() ? try string() : "\(try integer())s"
    }

    fileprivate mutating func seconds(_ key: String) throws -> Double {
        try OptionText.duration(try durationText(), key)
    }

    fileprivate mutating func word<Word: RawRepresentable & CaseIterable>(
        _ key: String
    ) throws -> Word where Word.RawValue == String {
        let text = try string()
        guard let word = Word(rawValue: text) else {
            let all = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw OptionText.bad(TerminalText.shown(text), key, "it is one of \(all)")
        }
        return word
    }
}
