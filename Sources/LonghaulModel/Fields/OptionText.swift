/// Characters of a refused value that are shown; a line may be a megabyte long.
private let quotedCharacters = 200

/// The context in which typed values are resolved.
package struct InputContext: Sendable {
    package var now: Timestamp
    /// How far local time is ahead of UTC at that moment.
    package var secondsFromUTC: @Sendable (Timestamp) -> Int
    /// Absolute. If there is no current directory, only relative paths are refused.
    package var directory: Result<String, LonghaulError>
    /// `nil` = none is set.
    package var proxyVariables: ProxyVariables?

    package init(
        now: Timestamp, secondsFromUTC: @escaping @Sendable (Timestamp) -> Int,
        directory: Result<String, LonghaulError>, proxyVariables: ProxyVariables? = nil
    ) {
        self.now = now
        self.secondsFromUTC = secondsFromUTC
        self.directory = directory
        self.proxyVariables = proxyVariables
    }

    package func absolute(_ path: String) throws(LonghaulError) -> String {
        if path.isAbsolutePath { return path }
        return absolute(path, in: try directory.get())
    }

    package func absolute(_ path: String, in directory: String) -> String {
        if path.isAbsolutePath { return path }
        var relative = Substring(path)
        while relative.hasPrefix("./") { relative = relative.dropFirst(2).drop { $0 == "/" } }
        if relative.isEmpty || relative == "." { return directory }
        return directory == "/" ? "/" + relative : directory + "/" + relative
    }
}

/// Values as they are typed, on the command line and in batch input alike. An error names the
/// option or field of the invalid value.
package enum OptionText {
    package static func size(_ text: String, _ name: String) throws(LonghaulError) -> Int64 {
        guard let bytes = SizeText.parse(text) else {
            throw bad(text, name, "a size is a number of bytes, or 10K, 10M, 2G, 10MB")
        }
        return bytes
    }

    package static func rate(_ text: String, _ name: String) throws(LonghaulError) -> Int64 {
        let rate = try size(text, name)
        if rate == 0 { throw bad(text, name, "nothing would ever move") }
        return rate
    }

    package static func duration(_ text: String, _ name: String) throws(LonghaulError) -> Double {
        guard let seconds = DurationText.parse(text) else {
            throw bad(text, name, "a duration is 90s, 15m, 2h or 7d")
        }
        return seconds
    }

    package static func moment(
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
    package static func deadline(
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

    /// Several texts form one list.
    static func windows(
        _ texts: [String], _ name: String
    ) throws(LonghaulError) -> TimeWindows {
        let text = texts.joined(separator: ";")
        guard let windows = TimeWindows(parsing: text) else {
            throw bad(
                text, name,
                "windows are 22:00-06:00, Sat,Sun or Mon-Fri 22:00-06:00, with ; between")
        }
        return windows
    }

    /// Several texts form one list.
    package static func needs(_ texts: [String], _ name: String) throws(LonghaulError)
        -> ConditionNeeds
    {
        let text = texts.joined(separator: ",")
        guard let needs = ConditionNeeds(parsing: text) else {
            throw bad(
                text, name,
                "it is a list of power, unmetered, idle, network, battery=50, network=NAME|NAME and"
                    + " mounted=NAME, or none")
        }
        return needs
    }

    /// The URL of a transfer. The parts of `s3://BUCKET/KEY` are checked with the request.
    package static func transferURL(
        _ text: String, _ name: String? = nil
    ) throws(LonghaulError) -> String {
        text.hasPrefix("s3://") ? text : try url(text, name)
    }

    package static func url(_ text: String, _ name: String? = nil) throws(LonghaulError) -> String {
        do {
            return try URLParts(text).url
        } catch {
            let place = name.map { "\($0): " } ?? ""
            var url = shown(refused: text)
            if url.count > quotedCharacters {
                url = url.prefix(quotedCharacters) + "…"
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
    package static func proxy(_ text: String, _ name: String) throws(LonghaulError) -> String {
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
        if let colon = url.utf8.firstRange(of: "://".utf8), colon.upperBound <= at,
            url[..<colon.lowerBound].utf8.allSatisfy({ $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A })
        {
            start = colon.upperBound
        }
        return Redaction.url(url[..<start] + Redaction.mark + url[at...])
    }

    package static func header(
        _ text: String, _ name: String
    ) throws(LonghaulError) -> HeaderFields.Field {
        do {
            return try HeaderFields.Field(parsing: text)
        } catch {
            throw .usage("\(name): \(error)")
        }
    }

    package static func checksum(_ text: String, _ name: String) throws(LonghaulError) -> Checksum {
        guard let checksum = Checksum(parsing: text) else {
            throw bad(text, name, "a checksum is sha256:HEX, sha512:HEX, sha1:HEX or md5:HEX")
        }
        return checksum
    }

    package static func onOff(_ text: String, _ name: String) throws(LonghaulError) -> Bool {
        switch text {
        case "on": return true
        case "off": return false
        default: throw bad(text, name, "it is on or off")
        }
    }

    package static func connections(
        _ text: String, _ name: String
    ) throws(LonghaulError) -> ConnectionCount {
        if text == "auto" { return .automatic }
        guard let count = text.decimalValue, (1...Int64(Limits.segmentsPerFetch)).contains(count)
        else { throw bad(text, name, "it is auto, or 1 to \(Limits.segmentsPerFetch)") }
        return .exactly(Int(count))
    }

    package static func retries(_ text: String, _ name: String) throws(LonghaulError) -> Int {
        guard let count = text.decimalValue, count <= Int64(Int32.max) else {
            throw bad(text, name, "it is a number, at most \(Int32.max)")
        }
        return Int(count)
    }

    package static func priority(_ text: String, _ name: String) throws(LonghaulError) -> Priority {
        guard let priority = Priority(name: text) else {
            throw bad(text, name, "it is high, normal or low")
        }
        return priority
    }

    static func statuses(_ text: String, _ name: String) throws(LonghaulError) -> [Int] {
        if text == "none" { return [] }
        return try text.split(separator: ",", omittingEmptySubsequences: false).map {
            word throws(LonghaulError) in
            guard let status = Int(word.trimmingBlanks) else {
                throw bad(text, name, "it is a list of statuses, as 403,404, or none")
            }
            return status
        }
    }

    /// The ids of transfers, each once.
    static func transfers(_ text: String, _ name: String) throws(LonghaulError) -> [TransferID] {
        if text == "none" || text.isEmpty { return [] }
        var ids: [TransferID] = []
        var known: Set<TransferID> = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let id = TransferID(String(word.trimmingBlanks)) else {
                throw bad(text, name, "it is a list of ids of transfers, as 7,8, or none")
            }
            if known.insert(id).inserted { ids.append(id) }
        }
        return ids
    }

    /// The name ends before the first equals sign.
    static func formField(_ text: String, _ name: String) throws(LonghaulError) -> FormField {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")), mark != text.startIndex else {
            throw bad(text, name, "a field of a form is NAME=VALUE")
        }
        return FormField(
            name: String(text[..<mark]), value: String(text[text.utf8.index(after: mark)...]))
    }

    /// A value of a type with few of them.
    package static func choice<Value: RawRepresentable & CaseIterable>(
        _ text: String, _ name: String
    ) throws(LonghaulError) -> Value where Value.RawValue == String {
        if let value = Value(rawValue: text) ?? Value(rawValue: text.uppercased()) { return value }
        let all = Value.allCases.map(\.rawValue)
        throw bad(
            text, name,
            "it is " + all.dropLast().joined(separator: ", ") + " or " + (all.last ?? ""))
    }

    /// Refuses a printed URL without its secrets: the request would be made without them.
    package static func refuseHidden(_ url: String, _ name: String) throws(LonghaulError) {
        if Redaction.isRedacted(url) { throw hidden(name) }
    }

    package static func hidden(_ name: String) -> LonghaulError {
        .usage("\(name): a secret in it is hidden; write the secret, or leave the field out")
    }

    package static func bad(_ text: String, _ name: String, _ what: String) -> LonghaulError {
        .usage("\(name): '\(text)' is not understood; \(what)")
    }
}

extension LonghaulError {
    /// An argument or an input line cannot be understood.
    package static func usage(_ message: String) -> LonghaulError {
        LonghaulError(.invalidRequest, message)
    }
}
