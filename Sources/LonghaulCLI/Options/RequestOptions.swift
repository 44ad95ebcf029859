import ArgumentParser
import Longhaul
import LonghaulPlatform

/// All options of a download.
struct RequestOptions: CommonOptions {
    @OptionGroup(title: "Destination") var place: PlaceOptions
    @OptionGroup(title: "Destination") var file: FieldOptions<DestinationFields>
    @OptionGroup(title: "Session") var owner: HostOptions
    @OptionGroup(title: "Session") var session: FieldOptions<SessionFields>
    @OptionGroup(title: "Request") var access: FieldOptions<AccessFields>
    @OptionGroup(title: "Schedule") var schedule: FieldOptions<ScheduleFields>
    @OptionGroup(title: "Transfer") var transfer: FieldOptions<TransferFields>
    @OptionGroup(title: "Download") var download: FieldOptions<DownloadFields>

    func validate() throws {
        if place.output != nil, file.says("remoteName") {
            throw ValidationError("-o and --remote-name exclude each other")
        }
    }

    /// The common part of all requests of one command.
    func template(
        _ context: InputContext, _ defaults: TransferDefaults = TransferDefaults()
    ) throws(LonghaulError) -> RequestTemplate {
        var template = RequestTemplate(directory: (try? context.directory.get()) ?? ".")
        defaults.apply(to: &template.request)
        try place.apply(to: &template, context)
        try file.apply(to: &template.request, context)
        try applyCommon(to: &template.request, context)
        try download.apply(to: &template.request, context)
        return template
    }
}

/// The options that downloads and uploads have. They are groups of the command itself, not a group
/// of groups: in a debug build the parser checks all options five times for each level.
protocol CommonOptions: ParsableArguments {
    var owner: HostOptions { get }
    var session: FieldOptions<SessionFields> { get }
    var access: FieldOptions<AccessFields> { get }
    var schedule: FieldOptions<ScheduleFields> { get }
    var transfer: FieldOptions<TransferFields> { get }
}

extension CommonOptions {
    func applyCommon(
        to request: inout TransferRequest, _ context: InputContext
    ) throws(LonghaulError) {
        request.options.proxyVariables = context.proxyVariables
        owner.apply(to: &request)
        try session.apply(to: &request, context)
        try access.apply(to: &request, context)
        try schedule.apply(to: &request, context)
        try transfer.apply(to: &request, context)
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
            "The directory to write to; -o or the URL names the file (default: here).",
            valueName: "dir"),
        completion: .directory)
    var directory: String?

    func validate() throws {
        if let output, directory != nil, output.hasPrefix("/") || isStandardOutput {
            throw ValidationError("with -d, -o is the name of a file in that directory")
        }
        if !isStandardOutput { try PlaceOptions.validate(output) }
        if directory == "" { throw ValidationError("the path is empty") }
    }

    /// The bytes go to standard output, see `get`.
    var isStandardOutput: Bool { output == "-" }

    /// Refuses a path that is not a file's.
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
        template.file = try output.map { output throws(LonghaulError) in
            directory == nil
                ? try context.absolute(output)
                : context.absolute(output, in: template.directory)
        }
    }
}

struct HostOptions: ParsableArguments {
    @Option(help: "The host that the session belongs to from now on.")
    var host: String?

    func validate() throws {
        if host == "" { throw ValidationError("--host must not be empty") }
    }

    func apply(to request: inout TransferRequest) {
        if let host { request.session = host }
        request.host = host
    }
}

extension InputContext {
    static func current() -> InputContext {
        InputContext(
            now: SystemClock.now().wall, secondsFromUTC: LocalClock.secondsFromUTC,
            directory: Result { () throws(LonghaulError) in try CurrentDirectory.path },
            proxyVariables: ProxyVariables.ofCommand.isEmpty ? nil : ProxyVariables.ofCommand)
    }
}

extension ProxyVariables {
    /// Proxy variables of this command, as they were at the first access.
    static let ofCommand = ProxyVariables(Environment.value)

    /// A transfer is recorded with the proxy variables of the command that enqueues it. An engine
    /// within a command, or started by it, serves other transfers, too, to which these do not
    /// apply.
    static func dropOfCommand() {
        _ = ofCommand
        Environment.remove(ProxyVariables.names)
    }
}
