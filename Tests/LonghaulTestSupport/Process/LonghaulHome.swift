import Foundation

/// A state directory and the command that works on it, for an end-to-end test.
///
/// The command has a clean environment: no autostart of an engine, no proxies, and no configuration
/// of the user's own.
package final class LonghaulHome: Sendable {
    package let scratch: Scratch
    /// The whole environment of the command. Change a copy with `with`.
    package let environment: [String: String]
    /// The program that starts the command, whose path and arguments follow; empty = none.
    private let launcher: [String]

    package init() throws {
        scratch = try Scratch("home")
        _ = try scratch.directory("files")
        environment = [
            "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "HOME": scratch.path,
            "LONGHAUL_HOME": scratch("state"), "LONGHAUL_AUTOSTART": "0", "NO_COLOR": "1",
        ]
        launcher = []
    }

    private init(
        _ other: LonghaulHome, _ changes: [String: String?], launcher: [String]? = nil
    ) {
        scratch = other.scratch
        self.launcher = launcher ?? other.launcher
        var environment = other.environment
        for (name, value) in changes { environment[name] = value }
        self.environment = environment
    }

    /// The same home with some variables set, or unset by nil.
    package func with(_ changes: [String: String?]) -> LonghaulHome {
        LonghaulHome(self, changes)
    }

    /// The same home; the command is started by another program: `/usr/bin/env`, `strace`, ….
    package func through(_ launcher: [String]) -> LonghaulHome {
        LonghaulHome(self, [:], launcher: launcher)
    }

    /// The state directory, `LONGHAUL_HOME`.
    package var state: String { scratch("state") }

    /// A path in the directory in which the command runs.
    package func file(_ name: String) -> String { scratch("files/\(name)") }

    /// Starts `longhaul` with these arguments in the directory `files`.
    package func start(_ arguments: String..., input: String? = nil) throws -> CLIProcess {
        try start(arguments, input: input)
    }

    package func start(_ arguments: [String], input: String? = nil) throws -> CLIProcess {
        let words = launcher + [try BuiltBinary.longhaul] + arguments
        return try CLIProcess(
            words[0], Array(words.dropFirst()), environment: environment,
            directory: scratch("files"), input: input.map { Data($0.utf8) })
    }

    /// Runs `longhaul` with these arguments to its end.
    package func run(
        _ arguments: String..., input: String? = nil, within limit: Duration = Patience.usual
    ) async throws -> CLIProcess.Result {
        try await start(arguments, input: input).wait(within: limit)
    }
}

extension CLIProcess.Result {
    /// Standard output as JSON Lines.
    package var rows: [JSONValue] { get throws { try JSONValue.lines(output) } }
}
