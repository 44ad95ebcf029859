internal import CLonghaul
internal import Glibc

/// Starts a process that outlives this one. It has its own session, so that neither a terminal's
/// hang-up nor Ctrl-C reaches it; no descriptor of this process; and `/` as its working directory,
/// so that it keeps no file system mounted.
package enum BackgroundEngine {
    /// Starts the process and returns; the lock shows whether it became the engine.
    ///
    /// The process remains a child of this one: in a long-lived program it stays a zombie after its
    /// end, unless the program waits for the returned pid.
    ///
    /// - Parameters:
    ///   - executable: absolute path.
    ///   - arguments: without the program's name, which is added as the first one.
    ///   - environment: the whole environment of the process.
    ///   - log: the file to which output and errors are appended (``BoundedLog``); `nil` = none.
    ///     If it cannot be opened, the process starts without it.
    @discardableResult
    package static func spawn(
        executable: String, arguments: [String], environment: [String: String], log: String? = nil
    ) throws(SystemFailure) -> Int32 {
        let opened = log.flatMap { BoundedLog.open($0) }
        let argv = CStrings([executable] + arguments)
        let envp = CStrings(environment: environment)
        let answer = lh_spawn_detached(
            executable, argv.pointer, envp.pointer, opened?.number ?? -1)
        if answer == -ENOENT {
            // The error does not name the missing file; a sandbox may lack /dev or /proc.
            for path in ["/dev/null", executable] where access(path, F_OK) != 0 {
                throw SystemFailure(operation: "start without", path: path, errno: ENOENT)
            }
        }
        return try check(answer, "posix_spawn", executable)
    }

    /// The program of this process: its path, which is what `ps` should show. If an upgrade has put
    /// another file there, the path through /proc, which still leads to the old one.
    package static func ownExecutable() -> String {
        guard let path = ownPath(), leadsToOwnProgram(path) else { return proc }
        return path
    }

    /// The path by which this process was started, where that leads to its program: a link of a
    /// package manager leads to the next version, too. Else ``ownExecutable()``.
    package static func calledExecutable(environment: [String: String]) -> String {
        let name = CommandLine.arguments.first ?? ""
        let called =
            name.contains("/")
            ? try? CurrentDirectory.absolute(name)
            : ProgramRun.find(name, environment: environment)
        guard let called, leadsToOwnProgram(called) else { return ownExecutable() }
        return called
    }

    /// The path under which other processes find the program, or its successor after an upgrade.
    package static func installedExecutable() -> String? {
        guard let path = ownPath() else { return nil }
        return path.hasSuffix(gone) ? String(path.dropLast(gone.count)) : path
    }

    /// Runs the program of this name that stands beside this one, in this process. Returns its path
    /// and the reason only when it cannot be started.
    package static func becomeProgram(
        _ name: String, _ arguments: [[UInt8]]
    ) -> (path: String, failure: SystemFailure) {
        let path = programBeside(name)
        return (path, OwnProcess.become(path, arguments))
    }

    /// The path of a program of this name beside this one.
    static func programBeside(_ name: String) -> String {
        let own = installedExecutable() ?? ownExecutable()
        return PathParts.join(PathParts.split(own)?.directory ?? ".", name)
    }

    /// Executes the installed program, which may be another version, with the arguments of this
    /// process and in it. SIGUSR2 waits until the program catches it. Returns only when there is no
    /// such program.
    package static func becomeSuccessor() -> SystemFailure {
        OwnProcess.setHeldBack(SignalTrap.handingOver, true)
        defer { OwnProcess.setHeldBack(SignalTrap.handingOver, false) }
        return OwnProcess.become(
            installedExecutable() ?? ownExecutable(), OwnProcess.arguments)
    }

    /// Waits for the process's end in the background, so that no zombie is left in a long-lived
    /// program.
    package static func reap(_ pid: Int32) {
        _ = DetachedThread.begin(name: "longhaul-reap") {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        }
    }

    private static let proc = "/proc/self/exe"
    /// The kernel's suffix for the path of a deleted file.
    private static let gone = " (deleted)"

    private static func leadsToOwnProgram(_ path: String) -> Bool {
        var own = stat()
        var there = stat()
        return stat(proc, &own) == 0 && stat(path, &there) == 0
            && there.st_ino == own.st_ino && there.st_dev == own.st_dev
    }

    private static func ownPath() -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes {
            readlink(proc, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
