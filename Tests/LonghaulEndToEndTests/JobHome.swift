import Foundation
import LonghaulTestSupport
import Testing

/// A queue with jobs that are shell commands, and what they have left behind.
final class JobHome: Sendable {
    let home: LonghaulHome

    convenience init() throws {
        self.init(try LonghaulHome())
    }

    init(_ home: LonghaulHome) {
        self.home = home
    }

    @discardableResult
    func run(
        _ arguments: String..., status: Int32 = 0, location: SourceLocation = #_sourceLocation
    ) async throws -> CLIProcess.Result {
        let result = try await home.start(arguments).wait()
        #expect(
            result.status == status, "\(arguments): \(result.output)\(result.errors)",
            sourceLocation: location)
        return result
    }

    /// Makes a job of a shell command in whose text `$D` is the test's directory. It begins by
    /// noting that it runs.
    func add(_ name: String, _ options: String..., body: String) async throws {
        let noted = "echo $LONGHAUL_RUN >> \"$D/started\"; " + body
        try await run(
            ["job", "add", name, "--env", "D=\(home.scratch.path)"] + options
                + ["--", "sh", "-c", noted])
    }

    func run(_ arguments: [String]) async throws {
        let result = try await home.start(arguments).wait()
        #expect(result.status == 0, "\(arguments): \(result.errors)")
    }

    func job(_ name: String) async throws -> JSONValue {
        try #require(try await run("job", "show", name, "--json").rows.first)
    }

    /// The last run.
    func lastRun(_ name: String) async throws -> JSONValue { try await job(name)["runs"][0] }

    func log(_ name: String) async throws -> [String] {
        try await run("job", "log", name, "--json").rows.compactMap { $0["text"].string }
    }

    /// Lines that a job has written to a file of its directory.
    func lines(_ name: String) -> [String] {
        guard let text = try? home.scratch.text(of: name) else { return [] }
        return text.split(separator: "\n").map(String.init)
    }

    func end(_ engine: CLIProcess, by signal: Int32 = SIGTERM) async throws {
        engine.send(signal)
        let result = try await engine.wait()
        if signal == SIGTERM { #expect(result.status == 0, "\(result.errors)") }
    }
}
