internal import CLonghaul
internal import Glibc

/// Starts a process that outlives this one: in a session of its own, so that no terminal's hang-up
/// or Ctrl-C reaches it, with no descriptor of ours, in `/`, so that it keeps no file system from
/// being unmounted.
package enum BackgroundEngine {
    /// Starts it and returns; whether it became the engine shows the lock.
    ///
    /// It remains a child of this process: a program that goes on to live long sees a zombie of it
    /// once it has ended, unless it waits for the number returned.
    ///
    /// - Parameters:
    ///   - executable: absolute path.
    ///   - arguments: without the program's name, which is put before them.
    ///   - environment: all of it.
    ///   - log: where output and errors go, appended to (``BoundedLog``); `nil` = nowhere. A log
    ///     that cannot be opened stops nothing.
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
            // The kernel does not say which: it may be a place without /dev or /proc.
            for path in ["/dev/null", executable] where access(path, F_OK) != 0 {
                throw SystemFailure(operation: "start without", path: path, errno: ENOENT)
            }
        }
        return try check(answer, "posix_spawn", executable)
    }

    /// The program that this process runs: by its path, which is what `ps` should show, or, when
    /// another file stands there after an upgrade, through /proc, where the old one is still to be
    /// had.
    package static func ownExecutable() -> String {
        var own = stat()
        var there = stat()
        guard stat(proc, &own) == 0, let path = ownPath(), stat(path, &there) == 0,
            there.st_ino == own.st_ino, there.st_dev == own.st_dev
        else { return proc }
        return path
    }

    /// Where other processes find it, or what has taken its place in an upgrade.
    package static func installedExecutable() -> String? {
        guard let path = ownPath() else { return nil }
        return path.hasSuffix(gone) ? String(path.dropLast(gone.count)) : path
    }

    /// Takes note of its end, so that nothing is left of it in a program that goes on.
    package static func reap(_ pid: Int32) {
        _ = DetachedThread.begin(name: "longhaul-reap") {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        }
    }

    private static let proc = "/proc/self/exe"
    /// What the kernel says behind the name of a file that was deleted.
    private static let gone = " (deleted)"

    private static func ownPath() -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes {
            readlink(proc, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
