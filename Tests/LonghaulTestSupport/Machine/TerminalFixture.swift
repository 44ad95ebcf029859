import Foundation
import Glibc

/// Pseudo-terminals of a test and an idle processor, for a machine without a service that tracks
/// users. Needs root.
package final class TerminalFixture {
    private let scratch: Scratch
    private let keyboard: Int32
    private let program: Int32
    private let terminal: String

    package static let isPossible: Bool = {
        guard geteuid() == 0, let machine = try? OwnMachine(), let terminal = try? TerminalFixture()
        else { return false }
        let words = machine.launcher(terminals: terminal) + ["/bin/sh", "-c", "ls /dev/pts/0"]
        guard let tried = try? CLIProcess(words[0], Array(words.dropFirst())) else { return false }
        return (try? tried.reap()) == .exited(0)
    }()

    package init() throws {
        scratch = try Scratch("terminals")
        let place = scratch("pts")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try Self.run("mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", place)
        keyboard = open("\(place)/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: Int32 = 0
        guard keyboard >= 0, ioctl(keyboard, Self.lock, &isLocked) == 0 else {
            Self.unmount(place)
            throw SystemFailure("a pseudo-terminal of its own")
        }
        // The first terminal of its instance.
        terminal = "\(place)/0"
        program = open(terminal, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard program >= 0 else {
            close(keyboard)
            Self.unmount(place)
            throw SystemFailure("open \(terminal)")
        }
        try "0.00 0.00 0.00 1/100 4711\n".write(
            toFile: scratch("loadavg"), atomically: false, encoding: .utf8)
        try "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n".write(
            toFile: scratch("pressure"), atomically: false, encoding: .utf8)
        try "".write(toFile: scratch("utmp"), atomically: false, encoding: .utf8)
    }

    deinit {
        close(program)
        close(keyboard)
        Self.unmount(scratch("pts"))
    }

    /// Presses a key, which the program at the terminal reads.
    package func type() throws {
        var line: [UInt8] = Array("x\n".utf8)
        guard write(keyboard, line, line.count) == line.count,
            read(program, &line, line.count) == line.count
        else { throw SystemFailure("type at \(terminal)") }
    }

    /// Makes the last key appear to be pressed so many seconds ago.
    package func date(back seconds: Double) throws {
        let then = Date().timeIntervalSince1970 - seconds
        let time = timespec(tv_sec: Int(then), tv_nsec: Int((then - then.rounded(.down)) * 1e9))
        guard utimensat(AT_FDCWD, terminal, [time, time], 0) == 0 else {
            throw SystemFailure("utimensat \(terminal)")
        }
    }

    /// The command that mounts all of it, in a mount namespace; the command line follows.
    var mounting: [String] {
        [
            "/bin/sh", "-c",
            """
            mount --bind "$0/pts" /dev/pts && mount --bind "$0/loadavg" /proc/loadavg &&
            { ! [ -e /proc/pressure/cpu ] || mount --bind "$0/pressure" /proc/pressure/cpu; } &&
            { ! [ -e /run/utmp ] || mount --bind "$0/utmp" /run/utmp; } && exec "$@"
            """, scratch.path,
        ]
    }

    /// TIOCSPTLCK, which unlockpt(3) does; the Glibc module leaves it out.
    private static let lock: UInt = 0x4004_5431

    private static func run(_ arguments: String...) throws {
        let process = try CLIProcess("/usr/bin/env", arguments)
        guard try process.reap() == .exited(0) else {
            throw FixtureFailed(description: process.errors)
        }
    }

    private static func unmount(_ place: String) {
        try? run("umount", "-l", place)
    }
}
