package import LonghaulModel
internal import CLonghaul
internal import Glibc

/// The result of a system program that was run to its end: `crontab`, `systemctl`.
package struct ProgramRun: Sendable {
    /// 128 + N if signal N ended it.
    package var status: Int32
    package var output: [UInt8]
    package var errors: String

    /// The first executable of this name in PATH, else in the usual directories.
    package static func find(_ name: String, environment: [String: String]) -> String? {
        let places = (environment["PATH"] ?? "") + ":/usr/local/bin:/usr/bin:/bin"
        for place in places.split(separator: ":") where place.isAbsolutePath {
            let path = PathParts.join(String(place), name)
            if access(path, X_OK) == 0 { return path }
        }
        return nil
    }

    /// Runs the program and waits for its end. Input and output pass through unnamed files, so
    /// that neither side blocks the other.
    ///
    /// - Parameters:
    ///   - program: absolute path.
    ///   - seconds: after which the program and all that it has started are killed; `nil` = without
    ///     a limit.
    package static func run(
        _ program: String, _ arguments: [String], environment: [String: String],
        input: [UInt8] = [], limit seconds: Double? = nil
    ) throws(SystemFailure) -> ProgramRun {
        let streams = [try Unnamed(), try Unnamed(), try Unnamed()]
        try streams[0].fill(input)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in streams.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, stream.descriptor, Int32(number))
        }
        let argv = CStrings([program] + arguments)
        let envp = CStrings(environment: environment)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        if seconds != nil {
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
            posix_spawnattr_setpgroup(&attributes, 0)
        }
        var pid: pid_t = 0
        let failure = posix_spawn(
            &pid, program, &actions, &attributes, argv.pointer, envp.pointer)
        if failure != 0 {
            throw SystemFailure(operation: "posix_spawn", path: program, errno: failure)
        }
        if let seconds { killGroup(pid, after: seconds) }
        var ending: Int32 = 0
        if uninterrupted({ waitpid(pid, &ending, 0) }) < 0 { throw .last("waitpid", program) }
        let signal = ending & 0x7F
        return ProgramRun(
            status: signal == 0 ? (ending >> 8) & 0xFF : 128 + signal,
            output: streams[1].content,
            errors: String(decoding: streams[2].content, as: UTF8.self))
    }
}

/// Waits until the process has ended; what is left of its group at the limit is killed.
private func killGroup(_ pid: pid_t, after seconds: Double) {
    let end = SystemClock.now().monotonic + seconds
    let descriptor = lh_pidfd_open(pid)
    defer { if descriptor >= 0 { close(descriptor) } }
    while true {
        let left = end - SystemClock.now().monotonic
        if left <= 0 { break }
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&polled, 1, Int32((left * 1_000).rounded(.up))) > 0 { return }
    }
    kill(-pid, SIGKILL)
}

/// A file without a name, deleted when it is closed.
private final class Unnamed {
    private let file: UnsafeMutablePointer<FILE>

    init() throws(SystemFailure) {
        guard let file = tmpfile() else { throw .last("tmpfile", "") }
        self.file = file
    }

    deinit {
        fclose(file)
    }

    var descriptor: Int32 { fileno(file) }

    func fill(_ bytes: [UInt8]) throws(SystemFailure) {
        let count = bytes.isEmpty ? 0 : fwrite(bytes, 1, bytes.count, file)
        if count < bytes.count || fflush(file) != 0 { throw .last("write", "a temporary file") }
        rewind(file)
    }

    var content: [UInt8] {
        rewind(file)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }
}

/// Tells whether this user could run a program now.
package enum Executable {
    /// `nil` = the program can be run.
    package static func obstacle(_ path: String) -> LaunchObstacle? {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return .missing }
        return facts.isRegular && access(path, X_OK) == 0 ? nil : .notExecutable
    }
}

/// A null-terminated array of C strings.
final class CStrings {
    let pointer: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    init(_ texts: [String]) {
        count = texts.count
        pointer = .allocate(capacity: texts.count + 1)
        for (index, text) in texts.enumerated() { pointer[index] = strdup(text) }
        pointer[texts.count] = nil
    }

    /// The variables in the form of `environ`, without the service manager's variables, which are
    /// for this process alone: a child would notify, feed the watchdog and take sockets in its
    /// name.
    init(environment: [String: String]) {
        let environment = environment.filter { !CStrings.ofServiceManager.contains($0.key) }
        count = environment.count
        pointer = .allocate(capacity: count + 1)
        for (index, entry) in environment.enumerated() {
            pointer[index] = strdup(Environment.entry(entry.key, entry.value))
        }
        pointer[count] = nil
    }

    /// See sd_notify(3), sd_watchdog_enabled(3) and sd_listen_fds(3).
    private static let ofServiceManager: Set<String> = [
        "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_PIDFDID",
        "LISTEN_FDS", "LISTEN_FDNAMES",
    ]

    deinit {
        for index in 0..<count { free(pointer[index]) }
        pointer.deallocate()
    }
}
