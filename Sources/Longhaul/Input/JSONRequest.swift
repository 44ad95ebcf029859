internal import LonghaulCore

/// A line of JSON Lines input. Field names are the keys of a printed transfer, and option names in
/// camelCase. `null` keeps the value of the command line.
///
/// A printed transfer is a request, too: facts about the transfer itself are ignored, and its
/// options may stand in `options`.
package struct JSONRequest {
    private let template: RequestTemplate
    private let context: InputContext
    private let passesOverEnded: Bool

    /// - Parameter passesOverEnded: A printed transfer that has ended is not a request.
    package init(
        template: RequestTemplate, context: InputContext, passesOverEnded: Bool = false
    ) {
        self.template = template
        self.context = context
        self.passesOverEnded = passesOverEnded
    }

    /// Errors name the field. An unknown field is refused, not ignored, because it was given for a
    /// purpose.
    package func request(
        _ line: UnsafeBufferPointer<UInt8>
    ) throws(LonghaulError) -> TransferRequest {
        guard let request = try requestUnlessEnded(line) else {
            throw .usage("the transfer has ended")
        }
        return request
    }

    /// The same; `nil`: it is a printed transfer that has ended.
    package func requestUnlessEnded(
        _ line: UnsafeBufferPointer<UInt8>
    ) throws(LonghaulError) -> TransferRequest? {
        var fields = Fields(request: template.request)
        try JSONProblem.asUsage {
            var scanner = JSONScanner(line)
            try scanner.object { key, scanner in
                // The state stands before all that may be hidden.
                if !fields.hasEnded {
                    if try readMember(key, &scanner, into: &fields) { return }
                    guard JSONRequest.printed.contains(key) else { throw JSONRequest.unknown(key) }
                }
                let value = try scanner.raw()
                let isEnd = key == "state" && Self.ended.contains(value)
                if passesOverEnded, isEnd { fields.hasEnded = true }
            }
            try scanner.end()
            if fields.hasEnded { return }
            if let (field, input) = fields.last {
                try field.read(input, FieldSource(name: field.key, context), &fields.request)
            }
        }
        if fields.hasEnded { return nil }
        guard let url = fields.url else { throw .usage("the url is missing") }
        fields.request.url = url
        if let zone = fields.timeZone { fields.request.schedule.windows?.timeZone = zone }
        if let source = try source(fields) {
            if template.request.options.upload == nil { fields.keepForUpload() }
            if fields.request.options.upload == nil {
                fields.request.options.upload = UploadOptions()
            }
            fields.request.destination = .file(source)
        } else {
            fields.request.destination = try destination(fields)
        }
        return fields.request
    }

    private struct Fields {
        var request: TransferRequest
        /// The members that were there, see ``JSONRequest/places``.
        var seen = FieldSet()
        var url: String?
        var kind: Transfer.Kind?
        /// File to send; for uploads only.
        var source: String?
        var destination: String?
        var directory: String?
        /// It is a printed transfer that has ended, and passed over.
        var hasEnded = false
        /// Time zone of the windows.
        var timeZone: String?
        /// Read at the end: a time of day means the first one after the transfer may begin.
        var last: (field: RequestField, input: FieldInput)?

        /// The command line and the configuration file apply to the downloads in the list: options
        /// that an upload cannot have are dropped, or refused if they are in its own line.
        mutating func keepForUpload() {
            for field in RequestField.downloadOnly {
                guard let place = JSONRequest.places[field.key], !seen.contains(place) else {
                    continue
                }
                field.copy(TransferRequest.blank, &request)
            }
        }
    }

    /// The members that are no field of the table.
    private enum Member: String, CaseIterable {
        case url, source, destination, directory, kind, timeZone, options
    }

    /// Names of a printed transfer that ask for nothing.
    private static let printed: Set<String> = [
        "id", "state", "host", "bytesTotal", "bytesDone", "bytesSent", "bytesFetched",
        "bytesPerSecond", "createdAt", "startedAt", "finishedAt", "attempts", "restarts",
        "sharedWith", "waitingFor", "error", "validator", "requests", "preferencesWaived",
        "runsNow",
        "preferencesCheckedAt", "contentCoding", "response", "yielding", "attemptRecords", "events",
        "type", "leftOut",
    ]

    private static let ended = Set(
        TransferState.allCases.filter(\.hasEnded).map { "\"\($0.rawValue)\"" })

    /// The place of each name: that in the table, and for members the places behind it.
    private static let places: [String: Int] = Dictionary(
        uniqueKeysWithValues: (RequestField.all.map(\.key) + Member.allCases.map(\.rawValue))
            .enumerated().filter { !$1.isEmpty }.map { ($1, $0) })

    /// `false` = no field of a request has this name.
    private func readMember(
        _ key: String, _ scanner: inout JSONScanner, into fields: inout Fields
    ) throws -> Bool {
        guard let place = JSONRequest.places[key] else { return false }
        // The line leaves open which of the two values is meant.
        if fields.seen.contains(place) { throw LonghaulError.usage("'\(key)' is there twice") }
        fields.seen.insert(place)
        if scanner.null() { return true }
        let fieldCount = RequestField.all.count
        if place >= fieldCount {
            try read(Member.allCases[place - fieldCount], &scanner, into: &fields)
            return true
        }
        let field = RequestField.all[place]
        let input = try scanner.input(field.shape, key)
        if field.rules.contains(.last) {
            fields.last = (field, input)
        } else {
            try field.read(input, FieldSource(name: key, context), &fields.request)
        }
        return true
    }

    private func read(
        _ member: Member, _ scanner: inout JSONScanner, into fields: inout Fields
    ) throws {
        switch member {
        case .url:
            let url = try scanner.string()
            try OptionText.refuseHidden(url, "url")
            fields.url = try OptionText.transferURL(url)
        case .source: fields.source = try scanner.string()
        case .destination: fields.destination = try scanner.string()
        case .directory: fields.directory = try scanner.string()
        case .timeZone: fields.timeZone = try scanner.string()
        case .kind:
            fields.kind = Transfer.Kind(rawValue: try scanner.string())
            if fields.kind == nil { throw LonghaulError.usage("kind: it is download or upload") }
        case .options:
            try scanner.object { key, scanner in
                if try readMember(key, &scanner, into: &fields) { return }
                throw JSONRequest.unknown(key)
            }
        }
    }

    /// The file that is sent; `nil` = it is a download.
    private func source(_ fields: Fields) throws(LonghaulError) -> String? {
        guard
            fields.source != nil || fields.kind == .upload || template.request.options.upload != nil
        else {
            if fields.request.options.upload == nil { return nil }
            throw .usage("it says how an upload is sent, but has no source")
        }
        guard let source = fields.source, !source.isEmpty else {
            throw .usage("the source is missing")
        }
        if fields.kind == .download { throw .usage("a download has no source") }
        if fields.destination != nil || fields.directory != nil {
            throw .usage("an upload has a source and no destination")
        }
        return try context.absolute(source)
    }

    private func destination(_ fields: Fields) throws(LonghaulError) -> Destination {
        let directory = try fields.directory.map(context.absolute) ?? template.directory
        if let file = fields.destination {
            if file.isEmpty { throw .usage("destination: the path is empty") }
            return .file(context.absolute(file, in: directory))
        }
        if fields.directory == nil, let file = template.file { return .file(file) }
        return .directory(directory, remoteName: fields.request.options.remoteName)
    }

    private static func unknown(_ key: String) -> LonghaulError {
        .usage("'\(TerminalText.shown(key))' is no field of a request")
    }
}
