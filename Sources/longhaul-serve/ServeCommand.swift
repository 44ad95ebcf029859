import ArgumentParser
import Longhaul
import LonghaulPlatform
import LonghaulServe

@main
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "longhaul serve",
        abstract: "Serve the queue over HTTP: a page, an API, aria2's JSON-RPC.",
        discussion: """
            The page is at /, the JSON of the commands below /v1 (described by /v1/openapi.json), \
            aria2's JSON-RPC at /jsonrpc, OpenMetrics at /metrics. The program is the engine while \
            no other runs. Files are written and sent only below the directory where it was \
            started, or `serve.directories` of the configuration file. Started in the home \
            directory it serves the directory for downloads. docs/serve.md says more.

              longhaul serve
              longhaul serve --new-secret
              longhaul serve --listen 0.0.0.0:6800 --secret-file ~/.config/longhaul/secret
            """,
        version: "longhaul \(LonghaulVersion.current)")

    @Option(help: "The address and the port; port 0 = any that is free.")
    var listen = "127.0.0.1:6800"

    @Option(help: "The secret that clients have to know: the first line of this file.")
    var secretFile: String?

    @Flag(help: "Make a secret in the user's configuration, or in --secret-file; print its path.")
    var newSecret = false

    @Option(help: "Pages of this origin may use the server, as https://ariang.example; * = all.")
    var allowOrigin: [String] = []

    @Flag(help: "Change nothing for clients.")
    var readOnly = false

    @Flag(help: "Clients may create, change and remove jobs: run any program. Needs a secret.")
    var allowJobs = false

    static func main() {
        JobSupervisor.serveIfAsked()
        CommandStream.fillStandardStreams()
        OwnProcess.tune()
        Signals.ignoreFailedWrites()
        do {
            // Help is a command of its own.
            var command = try parseAsRoot()
            try command.run()
        } catch let error as LonghaulError {
            complain("longhaul: " + TerminalText.shown(Redaction.text(error.message)))
            OwnProcess.exit(status(of: error))
        } catch {
            if !exitCode(for: error).isSuccess, !(error is CleanExit) {
                complain(fullMessage(for: error))
                OwnProcess.exit(64)
            }
            exit(withError: error)
        }
    }

    mutating func run() throws {
        let secretPath = try secretFile.map(CurrentDirectory.absolute)
        if newSecret {
            let line = try SecretFile.create(at: secretPath) + "\n"
            return try Array(line.utf8).withUnsafeBytes { try CommandStream.writeAll(1, $0) }
        }
        let configuration = try ConfigurationFile.read()
        var options = ServeOptions(directories: try directories(configuration))
        try options.listen(listen)
        options.secret = try secretPath.map(SecretFile.read)
        for origin in allowOrigin { try options.allow(origin: origin) }
        options.isReadOnly = readOnly
        options.allowsJobs = allowJobs
        options.defaults = configuration.defaults
        options.limits = configuration.limits
        options.configuration = configuration.path
        let warning = options.warning.map { "longhaul: \($0)\n" } ?? ""
        let queue = try TransferQueue()
        try ServeProgram(queue, options).run(
            limits: { () throws(LonghaulError) in try ConfigurationFile.read().limits },
            ready: { StandardError.write("longhaul: serving at \($0)\n" + warning) })
    }

    private func directories(
        _ configuration: UserConfiguration
    ) throws(LonghaulError) -> [String] {
        if !configuration.servedDirectories.isEmpty { return configuration.servedDirectories }
        let current = try CurrentDirectory.path
        let chosen = try StartDirectory.choose(from: current, environment: Environment.all())
        if chosen != current {
            ServeCommand.complain(
                "longhaul: files go below \(TerminalText.shown(chosen)); \(current) is served only "
                    + "where `serve.directories` of the configuration file names it")
        }
        return [chosen]
    }

    private static func complain(_ text: String) {
        StandardError.write(text + "\n")
    }

    /// As the commands' own.
    private static func status(of error: LonghaulError) -> Int32 {
        switch error.code {
        case .invalidRequest, .unsupported: 64
        case .storeUnavailable: 73
        case .conflict, .permission, .noSpace: 5
        // Codes are open: a code that no refusal can have is an internal error.
        default: 2
        }
    }
}
