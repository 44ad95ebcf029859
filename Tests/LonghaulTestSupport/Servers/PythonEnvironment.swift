import Foundation
import Glibc

/// Servers from the Python Package Index, in an environment of the tests' own: the packages of
/// Fixtures/servers/requirements.txt.
///
/// It is made at its first use, below `.build`, and again when that file has changed.
package enum PythonEnvironment {
    /// Made, if need be. What was in the way is on standard error.
    package static var isReady: Bool {
        get async { (try? await making.value) != nil }
    }

    /// Starts its interpreter.
    static func start(_ arguments: [String]) async throws -> CLIProcess {
        try CLIProcess(try await making.value, arguments)
    }

    /// Runs a script below Fixtures/servers to its end.
    package static func run(
        _ script: String, _ arguments: [String], within limit: Duration = Patience.usual
    ) async throws -> CLIProcess.Result {
        let words = [Fixture.path("servers/\(script)")] + arguments
        return try await CLIProcess.run(try await making.value, words, within: limit)
    }

    /// The path of its interpreter.
    private static let making = Task {
        do {
            return try await make()
        } catch {
            FileHandle.standardError.write(Data("no Python environment: \(error)\n".utf8))
            throw error
        }
    }

    private static func make() async throws -> String {
        guard let python = InstalledProgram.find("python3") else { throw NotInstalled("python3") }
        let directory = Fixture.path("../.build/python-servers")
        let wanted = try Fixture.text("servers/requirements.txt")
        let lock = try await Lock(directory + ".lock")
        defer { lock.release() }
        let stamp = directory + "/requirements.txt"
        let interpreter = directory + "/bin/python3"
        if FileManager.default.contents(atPath: stamp) == Data(wanted.utf8) { return interpreter }
        try? FileManager.default.removeItem(atPath: directory)
        try await install(python, ["-m", "venv", directory])
        let requirements = Fixture.path("servers/requirements.txt")
        try await install(
            interpreter,
            ["-m", "pip", "install", "--quiet", "--retries", "1", "--requirement", requirements])
        // Written last: without it what is there is unfinished.
        guard FileManager.default.createFile(atPath: stamp, contents: Data(wanted.utf8)) else {
            throw SystemFailure("write \(stamp)")
        }
        return interpreter
    }

    private static func install(_ program: String, _ arguments: [String]) async throws {
        let result = try await CLIProcess.run(program, arguments, within: .seconds(240))
        guard result.status == 0 else {
            throw FixtureFailed(description: "\(arguments): \(result.errors)\(result.output)")
        }
    }

    /// Two test runs may want the environment at once.
    private struct Lock {
        private let descriptor: Int32

        init(_ path: String) async throws {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw SystemFailure("open \(path)") }
            self.descriptor = descriptor
            try await eventually(within: .seconds(300), "lock of \(path)") {
                flock(descriptor, LOCK_EX | LOCK_NB) == 0
            }
        }

        func release() { close(descriptor) }
    }
}
