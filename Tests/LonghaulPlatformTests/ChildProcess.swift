import Glibc
import Testing

@testable import LonghaulPlatform

/// A process of a test's own, killed and waited for when the test lets go of it.
final class ChildProcess {
    let pid: Int32
    private var isReaped = false

    init(_ executable: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        pid = try BackgroundEngine.spawn(
            executable: executable, arguments: arguments, environment: environment)
    }

    /// This very test program, doing nothing but the test of this name.
    convenience init(role: String, environment: [String: String]) throws {
        try self.init(
            BackgroundEngine.ownExecutable(),
            ["--testing-library", "swift-testing", "--filter", role],
            environment: Environment.all().merging(environment) { $1 })
    }

    func kill(_ signal: Int32 = SIGKILL) {
        _ = Glibc.kill(pid, signal)
    }

    /// Waits for its end; the status as waitpid(2) has it.
    @discardableResult
    func reap() -> Int32 {
        var status: Int32 = 0
        if !isReaped { while waitpid(pid, &status, 0) < 0, errno == EINTR {} }
        isReaped = true
        return status
    }

    deinit {
        if !isReaped {
            kill()
            reap()
        }
    }
}
