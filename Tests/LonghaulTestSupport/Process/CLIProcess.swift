package import Foundation
import Glibc
import Synchronization

/// A child process in a process group of its own. Its output is kept in files, so that it never
/// waits for a reader, and may be read while it runs.
///
/// When the value is released while the child runs, its whole group is killed.
package final class CLIProcess: Sendable {
    package enum Ending: Sendable, Equatable, CustomStringConvertible {
        case exited(Int32)
        case signalled(Int32)

        package var description: String {
            switch self {
            case .exited(let code): "exit \(code)"
            case .signalled(let signal): "signal \(signal)"
            }
        }
    }

    /// The result of a finished process.
    package struct Result: Sendable {
        package var ending: Ending
        package var output: String
        package var errors: String
        package var seconds: Double

        /// The exit status; 128 + N for a process killed by signal N, as in the shell.
        package var status: Int32 {
            switch ending {
            case .exited(let code): code
            case .signalled(let signal): 128 + signal
            }
        }
    }

    package let pid: pid_t
    package let arguments: [String]
    private let files: Scratch
    private let startedAt = ContinuousClock.now
    private let state = Mutex(State())

    private struct State {
        var ending: Ending?
        var endedAt: ContinuousClock.Instant?
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - environment: the whole environment of the child; nothing is inherited.
    ///   - input: the content of standard input; default: nothing (`/dev/null`).
    package init(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        directory: String? = nil, input: Data? = nil
    ) throws {
        self.arguments = [program] + arguments
        files = try Scratch("process")
        if let input { try files.write(input, to: "in") }
        pid = try Self.spawn(
            self.arguments, environment ?? ProcessInfo.processInfo.environment, directory,
            streams: [input == nil ? "/dev/null" : files("in"), files("out"), files("err")])
    }

    deinit {
        guard check() == nil else { return }
        killpg(pid, SIGKILL)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) == -1, errno == EINTR {}
    }

    /// What the child has written to standard output so far.
    package var output: String { (try? files.text(of: "out")) ?? "" }

    /// What the child has written to standard error so far.
    package var errors: String { (try? files.text(of: "err")) ?? "" }

    package var isRunning: Bool { check() == nil }

    /// Sends a signal to the child alone. Does nothing when it has ended.
    package func send(_ signal: Int32) {
        guard isRunning else { return }
        kill(pid, signal)
    }

    /// Sends a signal to every process of the child's group, the child ended or not.
    package func sendToGroup(_ signal: Int32) { killpg(pid, signal) }

    /// Waits until the child has ended.
    ///
    /// - Throws: `TimedOut` with what it has written, after having killed its group.
    @discardableResult
    package func wait(within limit: Duration = Patience.usual) async throws -> Result {
        do {
            try await eventually(
                within: limit,
                "end of \(arguments)\nstdout: \(output.suffix(2000))\nstderr: "
                    + errors.suffix(2000)
            ) { check() != nil }
        } catch {
            sendToGroup(SIGKILL)
            throw error
        }
        let (ending, endedAt) = state.withLock { ($0.ending, $0.endedAt) }
        let seconds = startedAt.duration(to: endedAt ?? .now) / .seconds(1)
        return Result(
            ending: ending ?? .exited(-1), output: output, errors: errors, seconds: seconds)
    }

    /// Waits until standard output or standard error contains the text.
    package func waitForOutput(
        _ text: String, within limit: Duration = Patience.usual
    ) async throws {
        try await eventually(
            within: limit,
            "'\(text)' from \(arguments)\n\(output.suffix(2000))\(errors.suffix(2000))"
        ) {
            output.contains(text) || errors.contains(text)
        }
    }

    /// Waits for its end on this thread, for tests and fixtures that are not asynchronous.
    ///
    /// - Throws: `TimedOut`, after having killed its group.
    @discardableResult
    package func reap(within limit: Duration = Patience.usual) throws -> Ending {
        do {
            try untilTrue(within: limit, "end of \(arguments)") { check() != nil }
        } catch {
            sendToGroup(SIGKILL)
            throw error
        }
        return state.withLock { $0.ending } ?? .exited(-1)
    }

    // MARK: -

    /// How the child ended; nil while it runs. Reaps it.
    private func check() -> Ending? {
        state.withLock { state in
            if let ending = state.ending { return ending }
            var status: Int32 = 0
            let answer = waitpid(pid, &status, WNOHANG)
            guard answer == pid else { return nil }
            let signal = status & 0x7F
            let ending: Ending = signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
            state.ending = ending
            state.endedAt = .now
            return ending
        }
    }

    private static func spawn(
        _ arguments: [String], _ environment: [String: String], _ directory: String?,
        streams: [String]
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, path) in streams.enumerated() {
            let flags = number == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND
            posix_spawn_file_actions_addopen(&actions, Int32(number), path, flags, 0o600)
        }
        try SpawnExtras.prepare(&actions, directory: directory)

        // An ignored signal stays ignored across exec, and SwiftNIO ignores SIGPIPE.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var argv = arguments.map { strdup($0) } + [nil]
        var envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, arguments[0], &actions, &attributes, &argv, &envp)
        guard code == 0 else { throw SystemFailure("start \(arguments[0])", code: code) }
        return pid
    }
}

extension CLIProcess {
    /// Starts a program and waits until it has ended.
    package static func run(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        directory: String? = nil, input: Data? = nil, within limit: Duration = Patience.usual
    ) async throws -> Result {
        let process = try CLIProcess(
            program, arguments, environment: environment, directory: directory, input: input)
        return try await process.wait(within: limit)
    }
}
