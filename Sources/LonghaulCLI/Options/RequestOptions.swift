import ArgumentParser
import Longhaul

/// All options of a request.
struct RequestOptions: ParsableArguments {
    @OptionGroup(title: "Where it goes") var place: PlaceOptions
    @OptionGroup(title: "Whose it is") var owner: OwnerOptions
    @OptionGroup(title: "How it is asked for") var asking: AskingOptions
    @OptionGroup(title: "When") var schedule: ScheduleOptions
    @OptionGroup(title: "How it is moved") var moving: MovingOptions
    @OptionGroup(title: "How it is fetched") var fetching: FetchingOptions

    /// The common part of all requests of one command.
    func template(
        _ context: InputContext, _ defaults: TransferDefaults = TransferDefaults()
    ) throws(LonghaulError) -> RequestTemplate {
        var template = RequestTemplate(directory: (try? context.directory.get()) ?? ".")
        defaults.apply(to: &template.request)
        try place.apply(to: &template, context)
        try owner.apply(to: &template.request)
        try asking.apply(to: &template.request.options, context)
        try schedule.apply(to: &template.request, context)
        try moving.apply(to: &template.request)
        try fetching.apply(to: &template.request.options)
        return template
    }
}

struct PlaceOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file())
    var output: String?

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: ArgumentHelp(
            "The directory to write to; the URL names the file (default: here).", valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Flag(help: "Let the server name the file (Content-Disposition).")
    var remoteName = false

    @Option(
        help: ArgumentHelp(
            "What to do where the file exists (default: fail).",
            valueName: "what"))
    var ifExists: ExistingFilePolicy?

    @Flag(help: "Copy a finished download of the same where the server says it is still current.")
    var reuse = false

    func validate() throws {
        if output != nil, directory != nil {
            throw ValidationError("-o and -d exclude each other")
        }
        if output != nil, remoteName {
            throw ValidationError("-o and --remote-name exclude each other")
        }
        if !isStandardOutput { try PlaceOptions.validate(output) }
        if directory == "" { throw ValidationError("the path is empty") }
    }

    /// The bytes go to standard output, see `get`.
    var isStandardOutput: Bool { output == "-" }

    /// Refuses what is no path of a file.
    static func validate(_ output: String?) throws {
        // Other programs take `-` for standard output; a file of that name would surprise.
        if output == "-" {
            throw ValidationError(
                "only `get` writes to standard output; -o ./- makes a file of that name")
        }
        if output == "" { throw ValidationError("the path is empty") }
    }

    func apply(
        to template: inout RequestTemplate, _ context: InputContext
    ) throws(LonghaulError) {
        if let directory { template.directory = try context.absolute(directory) }
        template.file = try output.map(context.absolute)
        template.request.options.remoteName = remoteName
        if let ifExists { template.request.options.ifExists = ifExists }
        template.request.options.reuse = reuse
    }
}

/// Whose a transfer is, and what it means to ask for the same twice.
struct OwnerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "What to do where an equal transfer is live (default: join).", valueName: "what"))
    var onDuplicate: DuplicatePolicy?

    @Option(help: "The session it belongs to (default: default, or the name of --host).")
    var session: String?

    @Option(help: "The host that the session belongs to from now on.")
    var host: String?

    @Option(
        help: ArgumentHelp("Your own JSON, kept and shown with the transfer.", valueName: "json"))
    var meta: String?

    func validate() throws {
        if session == "" { throw ValidationError("--session must not be empty") }
        if host == "" { throw ValidationError("--host must not be empty") }
    }

    func apply(to request: inout TransferRequest) throws(LonghaulError) {
        if let onDuplicate { request.options.onDuplicate = onDuplicate }
        if let name = session ?? host { request.session = name }
        request.host = host
        if let meta { request.options.metadata = try OptionText.json(meta, "--meta") }
    }
}

struct AskingOptions: ParsableArguments {
    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp(
            "A request header; @FILE reads one from each line (repeatable).", valueName: "k: v"))
    var headers: [String] = []

    @Option(help: ArgumentHelp("User and password for the URL's server.", valueName: "u:p"))
    var user: String?

    @Flag(help: "Look user and password up in ~/.netrc.")
    var netrc = false

    @Option(help: ArgumentHelp("Go through this proxy.", valueName: "url"))
    var proxy: String?

    @Option(
        help: ArgumentHelp("Trust the certificates in this file.", valueName: "file"),
        completion: .file())
    var cacert: String?

    @Option(
        help: ArgumentHelp("The client certificate to show.", valueName: "file"),
        completion: .file())
    var cert: String?

    @Option(
        help: ArgumentHelp("Its private key; alone, SFTP's.", valueName: "file"),
        completion: .file())
    var key: String?

    @Flag(help: "Do not verify the server's certificate.")
    var insecure = false

    func apply(
        to options: inout TransferOptions, _ context: InputContext
    ) throws(LonghaulError) {
        options.headers = HeaderFields(try OptionText.headers(headers))
        options.user = user
        options.netrc = netrc
        if let proxy, proxy != "none" {
            options.proxy = try OptionText.proxy(proxy, "--proxy")
        }
        options.proxyVariables = context.proxyVariables
        options.caCertificate = try cacert.map(context.absolute)
        options.clientCertificate = try cert.map(context.absolute)
        options.clientKey = try key.map(context.absolute)
        options.insecure = insecure
    }
}

struct ScheduleOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Not before: 2030-01-31T22:00:00Z, 2030-01-31, 22:00, tomorrow, +2h30m, now.",
            valueName: "time"))
    var earliest: String?

    @Option(
        help: ArgumentHelp(
            "Give up: at such a time, or so long after it may begin, as 12h (default: 7d).",
            valueName: "time"))
    var deadline: String?

    @Option(
        help: ArgumentHelp(
            "Only at this time of day, as 01:00-06:00 or 22:00-06:00.", valueName: "hh:mm-hh:mm"))
    var window: String?

    @Option(
        name: .customLong("require"),
        help: ArgumentHelp(
            "Only with power, unmetered, idle, network, battery=50 (a list).", valueName: "what"))
    var requires: [String] = []

    @Option(
        name: .customLong("prefer"),
        help: ArgumentHelp(
            "The same, but waived when the deadline comes near or after --waive-after.",
            valueName: "what"))
    var prefers: [String] = []

    @Option(
        help: ArgumentHelp(
            "How long preferences may keep it waiting (default: 24h).", valueName: "duration"))
    var waiveAfter: String?

    @Flag(
        help:
            "Let the engine pick the moment: prefers power, an unmetered network, idleness."
    )
    var discretionary = false

    @Option(
        help: "high, normal (default) or low.", completion: .list(["high", "normal", "low"]))
    var priority: String?

    func apply(
        to request: inout TransferRequest, _ context: InputContext
    ) throws(LonghaulError) {
        if let earliest {
            request.earliestBegin = try OptionText.moment(earliest, "--earliest", context)
        }
        if let deadline {
            request.deadline = try OptionText.deadline(
                deadline, "--deadline", context, earliest: request.earliestBegin)
        }
        if let window { request.schedule.window = try OptionText.window(window, "--window") }
        if !requires.isEmpty {
            request.schedule.requires = try OptionText.needs(requires, "--require")
        }
        if !prefers.isEmpty {
            request.schedule.prefers = try OptionText.needs(prefers, "--prefer")
        }
        if let waiveAfter {
            request.options.waiveAfter = try OptionText.duration(waiveAfter, "--waive-after")
        }
        request.isDiscretionary = discretionary
        if let priority { request.priority = try OptionText.priority(priority, "--priority") }
    }
}

struct MovingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Bytes per second at most: 500K, 10M, none.", valueName: "size"))
    var limitRate: String?

    @Option(
        name: .customLong("yield"),
        help: ArgumentHelp(
            "Take only what other traffic leaves of the line (default: if discretionary).",
            valueName: "on|off"),
        completion: .list(["on", "off"]))
    var yields: String?

    @Option(help: ArgumentHelp("The size you expect; a hint.", valueName: "size"))
    var expect: String?

    @Option(help: ArgumentHelp("sha256:HEX, sha512:…, sha1:… or md5:…", valueName: "digest"))
    var checksum: String?

    @Option(
        help: ArgumentHelp(
            "Without a byte for this long, try again (default: 60s).", valueName: "duration"))
    var stallTimeout: String?

    @Option(
        help: ArgumentHelp(
            "Retries after the first attempt; gained bytes reset the count (default: none = until "
                + "the deadline).", valueName: "n"))
    var retries: String?

    func apply(to request: inout TransferRequest) throws(LonghaulError) {
        if let limitRate {
            request.options.limitRate =
                limitRate == "none" ? nil : try OptionText.rate(limitRate, "--limit-rate")
        }
        if let yields { request.options.yields = try OptionText.onOff(yields, "--yield") }
        if let expect { request.expectedBytes = try OptionText.size(expect, "--expect") }
        if let checksum {
            request.options.checksum = try OptionText.checksum(checksum, "--checksum")
        }
        if let stallTimeout {
            request.options.stallTimeout = try OptionText.duration(stallTimeout, "--stall-timeout")
        }
        if let retries {
            request.options.retries =
                retries == "none" ? nil : try OptionText.retries(retries, "--retries")
        }
    }
}

/// Options that uploads do not have.
struct FetchingOptions: ParsableArguments {
    @Option(
        name: .customLong("mirror"),
        help: ArgumentHelp("Another URL of the same bytes (repeatable).", valueName: "url"))
    var mirrors: [String] = []

    @Option(help: ArgumentHelp("Connections for one file, or auto (default).", valueName: "n"))
    var connections: String?

    @Option(help: ArgumentHelp("Refuse a file larger than this.", valueName: "size"))
    var maxSize: String?

    func apply(to options: inout TransferOptions) throws(LonghaulError) {
        for mirror in mirrors { options.mirrors.append(try OptionText.url(mirror, "--mirror")) }
        if let connections {
            options.connections = try OptionText.connections(connections, "--connections")
        }
        if let maxSize { options.maxSize = try OptionText.size(maxSize, "--max-size") }
    }
}
