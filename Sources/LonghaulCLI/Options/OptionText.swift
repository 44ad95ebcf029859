import Longhaul

/// Values as they are typed, on the command line and in batch input alike. An error names the
/// option or field of the invalid value.
enum OptionText {
    static func size(_ text: String, _ name: String) throws(LonghaulError) -> Int64 {
        guard let bytes = SizeText.parse(text) else {
            throw bad(text, name, "a size is a number of bytes, or 10K, 10M, 2G, 10MB")
        }
        return bytes
    }

    static func rate(_ text: String, _ name: String) throws(LonghaulError) -> Int64 {
        let rate = try size(text, name)
        if rate == 0 { throw bad(text, name, "nothing would ever move") }
        return rate
    }

    static func duration(_ text: String, _ name: String) throws(LonghaulError) -> Double {
        guard let seconds = DurationText.parse(text) else {
            throw bad(text, name, "a duration is 90s, 15m, 2h or 7d")
        }
        return seconds
    }

    static func moment(
        _ text: String, _ name: String, _ context: InputContext
    ) throws(LonghaulError) -> Timestamp {
        guard
            let time = MomentText.parse(
                text, now: context.now, secondsFromUTC: context.secondsFromUTC)
        else {
            throw bad(
                text, name,
                "a time is 2030-01-31T22:00:00Z, 2030-01-31 22:00, 22:00, tomorrow, +2h30m or now")
        }
        return time
    }

    /// A duration counts from when the transfer may begin; a time is absolute, and must be later
    /// than that. A time of day means the first one after it.
    static func deadline(
        _ text: String, _ name: String, _ context: InputContext, earliest: Timestamp?
    ) throws(LonghaulError) -> Deadline {
        let begin = max(earliest ?? context.now, context.now)
        if let seconds = DurationText.parse(text) {
            if seconds > 0 { return .after(seconds: seconds) }
        } else {
            let isHour = text.utf8.count == 5 && text.utf8.first?.isASCIIDigit == true
            guard
                let time = MomentText.parse(
                    text, now: isHour && begin > context.now ? begin + 0.001 : context.now,
                    secondsFromUTC: context.secondsFromUTC)
            else {
                throw bad(
                    text, name,
                    "a deadline is a duration (90s, 15m, 12h, 7d) or a time (2030-01-31T22:00:00Z, "
                        + "22:00, +2h30m)")
            }
            if time > begin { return .at(time) }
        }
        throw bad(text, name, "it would be over before the transfer begins")
    }

    static func window(_ text: String, _ name: String) throws(LonghaulError) -> TimeWindow {
        guard let window = TimeWindow(parsing: text) else {
            throw bad(text, name, "a window is 01:00-06:00 or 22:00-06:00, in local time")
        }
        return window
    }

    /// Several texts form one list.
    static func needs(_ texts: [String], _ name: String) throws(LonghaulError) -> ConditionNeeds {
        let text = texts.joined(separator: ",")
        guard let needs = ConditionNeeds(parsing: text) else {
            throw bad(
                text, name,
                "it is a list of power, unmetered, idle, network and battery=50, or none")
        }
        return needs
    }

    /// The values of `--every` and `--tolerance`.
    static func repetition(
        every: String, tolerance: String?
    ) throws(LonghaulError) -> TaskRepetition {
        TaskRepetition(
            interval: try duration(every, "--every"),
            tolerance: try tolerance.map { text throws(LonghaulError) in
                try duration(text, "--tolerance")
            })
    }

    /// Several texts form one list.
    static func triggers(_ texts: [String], _ name: String) throws(LonghaulError) -> [TaskTrigger] {
        var triggers: [TaskTrigger] = []
        let words = texts.joined(separator: ",")
        for word in words.split(separator: ",", omittingEmptySubsequences: false) {
            guard let trigger = TaskTrigger(rawValue: String(word)) else {
                let all = TaskTrigger.allCases.map(\.rawValue).joined(separator: ", ")
                throw bad(words, name, "it is a list of \(all)")
            }
            if !triggers.contains(trigger) { triggers.append(trigger) }
        }
        return triggers
    }

    static func url(_ text: String, _ name: String? = nil) throws(LonghaulError) -> String {
        do {
            return try URLParts(text).url
        } catch {
            let place = name.map { "\($0): " } ?? ""
            var url = shown(refused: text)
            if url.count > Limits.quotedCharacters {
                url = url.prefix(Limits.quotedCharacters) + "…"
            }
            url = TerminalText.shown(url)
            switch error {
            // The text in place of the scheme may be a secret: `token:x@host`.
            case .unsupportedScheme where text.contains("@") && !text.contains("://"):
                throw LonghaulError(
                    .unsupported, "\(place)'\(url)': \(URLProblem.noScheme)")
            case .unsupportedScheme:
                throw LonghaulError(.unsupported, "\(place)'\(url)': \(error)")
            case .empty, .tooLong, .badCharacter, .noScheme, .badUser, .missingHost, .badHost,
                .badPort:
                throw .usage("\(place)'\(url)': \(error)")
            }
        }
    }

    /// An error does not show the value: any part of it may be the password.
    static func proxy(_ text: String, _ name: String) throws(LonghaulError) -> String {
        do throws(ProxyProblem) {
            try ProxyAddress.check(text)
        } catch {
            throw LonghaulError(error, at: "\(name): ")
        }
        return text
    }

    /// The parts of a malformed URL cannot be told apart: all text before its last @ may be a
    /// password.
    private static func shown(refused url: String) -> String {
        guard let at = url.utf8.lastIndex(of: UInt8(ascii: "@")) else { return Redaction.url(url) }
        var start = url.startIndex
        if let colon = url.firstRange(of: "://"), colon.upperBound <= at,
            url[..<colon.lowerBound].utf8.allSatisfy({ $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A })
        {
            start = colon.upperBound
        }
        return Redaction.url(url[..<start] + Redaction.mark + url[at...])
    }

    /// Each text is `K: V`, or `@FILE` with one field on each line.
    static func headers(_ texts: [String]) throws(LonghaulError) -> [HeaderFields.Field] {
        var fields: [HeaderFields.Field] = []
        for text in texts {
            if text.utf8.first == UInt8(ascii: "@") {
                fields += try headers(inFile: String(text.dropFirst()))
            } else {
                fields.append(try header(text, "--header"))
            }
        }
        return fields
    }

    static func header(
        _ text: String, _ name: String
    ) throws(LonghaulError) -> HeaderFields.Field {
        do {
            return try HeaderFields.Field(parsing: text)
        } catch {
            throw .usage("\(name): \(error)")
        }
    }

    private static func headers(
        inFile path: String
    ) throws(LonghaulError) -> [HeaderFields.Field] {
        var fields: [HeaderFields.Field] = []
        let lines = try ByteLines(path: path)
        while let line = try lines.next() {
            let name = "--header @\(path), line \(lines.number)"
            guard let text = try? line.text() else { throw .usage("\(name): it is not UTF-8") }
            if !text.isEmpty { fields.append(try header(text, name)) }
        }
        return fields
    }

    static func checksum(_ text: String, _ name: String) throws(LonghaulError) -> Checksum {
        guard let checksum = Checksum(parsing: text) else {
            throw bad(text, name, "a checksum is sha256:HEX, sha512:HEX, sha1:HEX or md5:HEX")
        }
        return checksum
    }

    static func onOff(_ text: String, _ name: String) throws(LonghaulError) -> Bool {
        switch text {
        case "on": return true
        case "off": return false
        default: throw bad(text, name, "it is on or off")
        }
    }

    static func connections(
        _ text: String, _ name: String
    ) throws(LonghaulError) -> ConnectionCount {
        if text == "auto" { return .automatic }
        guard let count = text.decimalValue, (1...Int64(Limits.segmentsPerFetch)).contains(count)
        else { throw bad(text, name, "it is auto, or 1 to \(Limits.segmentsPerFetch)") }
        return .exactly(Int(count))
    }

    static func retries(_ text: String, _ name: String) throws(LonghaulError) -> Int {
        guard let count = text.decimalValue, count <= Int64(Int32.max) else {
            throw bad(text, name, "it is a number, at most \(Int32.max)")
        }
        return Int(count)
    }

    static func priority(_ text: String, _ name: String) throws(LonghaulError) -> Priority {
        guard let priority = Priority(name: text) else {
            throw bad(text, name, "it is high, normal or low")
        }
        return priority
    }

    static func onDuplicate(
        _ text: String, _ name: String
    ) throws(LonghaulError) -> DuplicatePolicy {
        guard let policy = DuplicatePolicy(rawValue: text) else {
            throw bad(text, name, "it is join, separate, replace or fail")
        }
        return policy
    }

    static func ifExists(
        _ text: String, _ name: String
    ) throws(LonghaulError) -> ExistingFilePolicy {
        guard let policy = ExistingFilePolicy(rawValue: text) else {
            throw bad(text, name, "it is fail, skip, overwrite or rename")
        }
        return policy
    }

    /// Compact JSON, which stays on one line wherever it is shown.
    static func json(_ text: String, _ name: String) throws(LonghaulError) -> String {
        do {
            return String(decoding: try JSONScanner.compacted(text), as: UTF8.self)
        } catch {
            throw .usage("\(name): the JSON cannot be used: \(error)")
        }
    }

    private static func bad(_ text: String, _ name: String, _ what: String) -> LonghaulError {
        .usage("\(name): '\(text)' is not understood; \(what)")
    }
}
