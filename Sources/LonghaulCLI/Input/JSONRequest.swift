import Longhaul

/// A line of JSON Lines input. The field names are those of a printed transfer, and those of the
/// options in camelCase. `null` keeps the value of the command line.
///
/// A printed transfer is a request, too: what it says of the transfer itself is passed over, and
/// its options may stand in `options`.
struct JSONRequest {
    let template: RequestTemplate
    let context: InputContext

    /// Errors name the field. An unknown field is refused, not ignored, because it was given for a
    /// purpose.
    func request(_ line: UnsafeBufferPointer<UInt8>) throws(LonghaulError) -> TransferRequest {
        var fields = Fields(request: template.request, upload: template.request.options.upload)
        do {
            var scanner = JSONScanner(line)
            try scanner.object { key, scanner in
                if try readMember(key, &scanner, into: &fields) { return }
                guard JSONRequest.printed.contains(key) else { throw JSONRequest.unknown(key) }
                _ = try scanner.raw()
            }
            try scanner.end()
            if let deadline = fields.deadline {
                fields.request.deadline = try OptionText.deadline(
                    deadline, "deadline", context, earliest: fields.request.earliestBegin)
            }
        } catch let problem as JSONProblem {
            throw .usage(TerminalText.shown(problem.description))
        } catch let error as LonghaulError {
            throw error
        } catch {
            throw .usage("\(error)")
        }
        guard let url = fields.url else { throw .usage("the url is missing") }
        fields.request.url = url
        if let upload = try self.upload(fields) {
            if template.request.options.upload == nil { fields.keepForUpload() }
            fields.request.options.upload = upload.options
            fields.request.destination = .file(upload.source)
        } else {
            fields.request.destination = try destination(fields)
        }
        return fields.request
    }

    private struct Fields {
        var request: TransferRequest
        /// `nil` = none was asked for.
        var upload: UploadOptions?
        /// See ``JSONRequest/bits``.
        var seen: UInt64 = 0
        var url: String?
        var kind: Transfer.Kind?
        /// File to send; for uploads only.
        var source: String?
        var destination: String?
        var directory: String?
        /// Resolved at the end: a time of day means the first one after the transfer may begin.
        var deadline: String?

        /// The command line and the configuration file speak of the downloads in the list: what an
        /// upload cannot have is left out, unless its own line has it, which is refused.
        mutating func keepForUpload() {
            let usual = TransferOptions()
            let seen = seen
            func isOwn(_ key: String) -> Bool { seen & (JSONRequest.bits[key] ?? 0) != 0 }
            if !isOwn("connections") { request.options.connections = usual.connections }
            if !isOwn("ifExists") { request.options.ifExists = usual.ifExists }
            if !isOwn("remoteName") { request.options.remoteName = usual.remoteName }
            if !isOwn("reuse") { request.options.reuse = usual.reuse }
            if !isOwn("maxSize") { request.options.maxSize = usual.maxSize }
        }
    }

    /// The names of all fields.
    static let names: Set<String> = [
        "url", "source", "destination", "directory", "kind", "session", "priority", "discretionary",
        "earliestBegin", "deadline", "window", "require", "prefer", "waiveAfter", "expectedBytes",
        "headers", "user", "netrc", "proxy", "cacert", "cert", "key", "insecure", "mirrors",
        "checksum", "ifExists", "onDuplicate", "reuse", "limitRate", "yield", "connections",
        "maxSize", "retries", "stallTimeout", "remoteName", "meta",
    ]

    /// Names that only uploads have.
    static let uploadNames: Set<String> = [
        "protocol", "method", "form", "contentType", "partSize", "repeatable", "inPlace",
        "ifChanged", "snapshot",
    ]

    /// Names of a printed transfer that ask for nothing.
    private static let printed: Set<String> = [
        "id", "state", "host", "bytesTotal", "bytesDone", "bytesSent", "bytesFetched",
        "bytesPerSecond", "createdAt", "startedAt", "finishedAt", "attempts", "restarts",
        "sharedWith", "waitingFor", "error", "preferencesWaived", "runsNow",
        "preferencesCheckedAt", "contentCoding", "response", "yielding", "attemptRecords", "events",
    ]

    /// A bit for each name, so that a line is read without making a set.
    private static let bits: [String: UInt64] = Dictionary(
        uniqueKeysWithValues: names.union(uploadNames).union(["options"]).enumerated().map {
            ($1, 1 << UInt64($0))
        })

    /// `false` = no field of a request has this name.
    private func readMember(
        _ key: String, _ scanner: inout JSONScanner, into fields: inout Fields
    ) throws -> Bool {
        guard let bit = JSONRequest.bits[key] else { return false }
        // The line leaves open which of the two values is meant.
        if fields.seen & bit != 0 { throw LonghaulError.usage("'\(key)' is there twice") }
        fields.seen |= bit
        if scanner.null() { return true }
        if key == "options" {
            try scanner.object { key, scanner in
                if try readMember(key, &scanner, into: &fields) { return }
                throw JSONRequest.unknown(key)
            }
        } else {
            try read(key, &scanner, into: &fields)
        }
        return true
    }

    /// `nil` = it is a download.
    private func upload(
        _ fields: Fields
    ) throws(LonghaulError) -> (options: UploadOptions, source: String)? {
        guard
            fields.source != nil || fields.kind == .upload || template.request.options.upload != nil
        else {
            if fields.upload == nil { return nil }
            throw .usage("it says how an upload is sent, but has no source")
        }
        guard let source = fields.source, !source.isEmpty else {
            throw .usage("the source is missing")
        }
        if fields.kind == .download { throw .usage("a download has no source") }
        if fields.destination != nil || fields.directory != nil {
            throw .usage("an upload has a source and no destination")
        }
        return (fields.upload ?? UploadOptions(), try context.absolute(source))
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

    private func read(
        _ key: String, _ scanner: inout JSONScanner, into fields: inout Fields
    ) throws {
        switch key {
        case "url":
            let url = try JSONRequest.shown(try scanner.string(), key)
            fields.url = url.hasPrefix("s3://") ? url : try OptionText.url(url)
        case "source": fields.source = try scanner.string()
        case "destination": fields.destination = try scanner.string()
        case "directory": fields.directory = try scanner.string()
        case "kind":
            let kind = try scanner.string()
            guard let kind = Transfer.Kind(rawValue: kind) else {
                throw LonghaulError.usage("kind: it is download or upload")
            }
            fields.kind = kind
        case "session":
            fields.request.session = try scanner.string()
            if fields.request.session.isEmpty { throw LonghaulError.usage("session: it is empty") }
        case "priority":
            fields.request.priority = try OptionText.priority(try scanner.string(), key)
        case "discretionary": fields.request.isDiscretionary = try scanner.bool()
        case "earliestBegin":
            fields.request.earliestBegin = try OptionText.moment(
                try scanner.string(), key, context)
        case "deadline": fields.deadline = try scanner.string()
        case "window":
            fields.request.schedule.window = try OptionText.window(try scanner.string(), key)
        case "require": fields.request.schedule.requires = try needs(key, &scanner)
        case "prefer": fields.request.schedule.prefers = try needs(key, &scanner)
        case "waiveAfter":
            fields.request.options.waiveAfter = try duration(key, &scanner)
        case "expectedBytes": fields.request.expectedBytes = try size(key, &scanner)
        default:
            if try readAsking(key, &scanner, into: &fields.request.options) { return }
            if try readMoving(key, &scanner, into: &fields.request.options) { return }
            var upload = fields.upload ?? UploadOptions()
            try readSending(key, &scanner, into: &upload)
            fields.upload = upload
        }
    }

    private static func unknown(_ key: String) -> LonghaulError {
        .usage("'\(TerminalText.shown(key))' is no field of a request")
    }

    private func readAsking(
        _ key: String, _ scanner: inout JSONScanner, into options: inout TransferOptions
    ) throws -> Bool {
        switch key {
        case "headers":
            // Printed, they are an array of names.
            if scanner.isArray() {
                try scanner.array { (_) in throw JSONRequest.redacted(key) }
                return true
            }
            var own = HeaderFields()
            try scanner.object { name, scanner in
                let field = try OptionText.header("\(name): \(try scanner.string())", key)
                own.append(name: field.name, value: field.value)
            }
            options.headers = options.headers.overridden(by: own)
        case "user":
            let user = try scanner.string()
            if user == Redaction.mark { throw JSONRequest.redacted(key) }
            options.user = user
        case "netrc": options.netrc = try scanner.bool()
        case "proxy":
            options.proxy = try OptionText.proxy(
                try JSONRequest.shown(try scanner.string(), key), key)
        case "cacert": options.caCertificate = try context.absolute(try scanner.string())
        case "cert": options.clientCertificate = try context.absolute(try scanner.string())
        case "key": options.clientKey = try context.absolute(try scanner.string())
        case "insecure": options.insecure = try scanner.bool()
        case "mirrors":
            options.mirrors = []
            try scanner.array {
                let url = try JSONRequest.shown(try $0.string(), key)
                options.mirrors.append(try OptionText.url(url, key))
            }
        default: return false
        }
        return true
    }

    private func readMoving(
        _ key: String, _ scanner: inout JSONScanner, into options: inout TransferOptions
    ) throws -> Bool {
        switch key {
        case "checksum": options.checksum = try OptionText.checksum(try scanner.string(), key)
        case "ifExists": options.ifExists = try OptionText.ifExists(try scanner.string(), key)
        case "onDuplicate":
            options.onDuplicate = try OptionText.onDuplicate(try scanner.string(), key)
        case "reuse": options.reuse = try scanner.bool()
        case "limitRate":
            let text = try textOrNumber(&scanner)
            options.limitRate = text == "none" ? nil : try OptionText.rate(text, key)
        case "yield": options.yields = try scanner.bool()
        case "connections":
            let text = try textOrNumber(&scanner)
            options.connections = try OptionText.connections(text, key)
        case "maxSize": options.maxSize = try size(key, &scanner)
        case "retries":
            let text = try textOrNumber(&scanner)
            options.retries = text == "none" ? nil : try OptionText.retries(text, key)
        case "stallTimeout":
            options.stallTimeout = try duration(key, &scanner)
        case "remoteName": options.remoteName = try scanner.bool()
        case "meta": options.metadata = try scanner.raw()
        default: return false
        }
        return true
    }

    private func readSending(
        _ key: String, _ scanner: inout JSONScanner, into upload: inout UploadOptions
    ) throws {
        func choice<Value: RawRepresentable & CaseIterable>(_: Value.Type) throws -> Value
        where Value.RawValue == String {
            if let value = Value(rawValue: try scanner.string()) { return value }
            let all = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw LonghaulError.usage("\(key): it is one of \(all)")
        }
        switch key {
        case "protocol": upload.uploadProtocol = try choice(UploadProtocol.self)
        case "method": upload.method = try choice(UploadMethod.self)
        case "form": upload.formField = try scanner.string()
        case "contentType": upload.contentType = try scanner.string()
        case "partSize": upload.partSize = try size(key, &scanner)
        case "repeatable": upload.isRepeatable = try scanner.bool()
        case "inPlace": upload.inPlace = try scanner.bool()
        case "ifChanged": upload.ifChanged = try choice(SourceChangePolicy.self)
        case "snapshot": upload.snapshot = try scanner.bool()
        default: throw JSONRequest.unknown(key)
        }
    }

    /// Refuses a printed URL without its secrets: the request would be made without them.
    private static func shown(_ url: String, _ key: String) throws(LonghaulError) -> String {
        if Redaction.isRedacted(url) { throw redacted(key) }
        return url
    }

    private static func redacted(_ key: String) -> LonghaulError {
        .usage("\(key): a secret in it is hidden; write what it was, or leave the field out")
    }

    /// Seconds, or a duration as it is typed.
    private func duration(_ key: String, _ scanner: inout JSONScanner) throws -> Double {
        if scanner.isString() { return try OptionText.duration(try scanner.string(), key) }
        let seconds = try scanner.double()
        if seconds >= 0 { return seconds }
        throw LonghaulError.usage("\(key): it is less than 0 seconds")
    }

    /// An array of names, or a list with commas.
    private func needs(_ key: String, _ scanner: inout JSONScanner) throws -> ConditionNeeds {
        if scanner.isString() { return try OptionText.needs([try scanner.string()], key) }
        var names: [String] = []
        try scanner.array { names.append(try $0.string()) }
        return try OptionText.needs(names, key)
    }

    /// A number of bytes, or a size as it is typed.
    private func size(_ key: String, _ scanner: inout JSONScanner) throws -> Int64 {
        try OptionText.size(try textOrNumber(&scanner), key)
    }

    /// The value as text, as on the command line.
    private func textOrNumber(_ scanner: inout JSONScanner) throws -> String {
        scanner.isString() ? try scanner.string() : String(try scanner.integer())
    }
}
