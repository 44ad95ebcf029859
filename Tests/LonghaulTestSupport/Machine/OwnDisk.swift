import Foundation
import Glibc

/// A file system for one test, mounted as long as the test needs it. Needs root.
package final class OwnDisk {
    package let path: String
    private let scratch: Scratch
    /// Its directory cannot be removed while the file system is mounted, so it lives as long as
    /// this.
    private let place: Scratch?
    private let source: [String]

    /// Whether this machine lets ext4 in a file be mounted.
    package static let hasLoops = isPossible("mkfs.ext4") { try OwnDisk(ext4: 8 << 20, at: $0) }

    package static let hasBtrfs = isPossible("mkfs.btrfs") { try OwnDisk(btrfs: 128 << 20, at: $0) }

    private static func isPossible(_ program: String, _ make: (String) throws -> OwnDisk) -> Bool {
        guard geteuid() == 0, InstalledProgram.find(program) != nil,
            let scratch = try? Scratch("disk"), let disk = try? make(scratch("place"))
        else { return false }
        disk.unmount()
        return true
    }

    /// A tmpfs.
    ///
    /// - Parameters:
    ///   - size: with further options: `4m`, `1m,ro`.
    ///   - place: the scratch directory of `path`, which must outlive the mount.
    package init(memory size: String, at path: String, in place: Scratch? = nil) throws {
        self.path = path
        self.place = place
        scratch = try Scratch("disk")
        source = ["-t", "tmpfs", "-o", "size=\(size)", "tmpfs"]
        try mount()
    }

    /// ext4 in a file; nothing is reserved for root.
    ///
    /// - Parameter place: the scratch directory of `path`, which must outlive the mount.
    package convenience init(ext4 bytes: Int, at path: String, in place: Scratch? = nil) throws {
        try self.init(bytes, at: path, in: place, "mkfs.ext4", ["-q", "-F", "-m", "0"])
    }

    /// Btrfs in a file of 109 MiB or more.
    ///
    /// - Parameter place: the scratch directory of `path`, which must outlive the mount.
    package convenience init(btrfs bytes: Int, at path: String, in place: Scratch? = nil) throws {
        try self.init(bytes, at: path, in: place, "mkfs.btrfs", ["-q"])
    }

    /// A file system with a label, of a type whose mkfs has the option -L: ext4, xfs, btrfs.
    package convenience init(_ type: String, label: String, at path: String) throws {
        let sizes = ["xfs": 300 << 20, "btrfs": 128 << 20]
        let program = "mkfs.\(type)"
        try self.init(
            sizes[type] ?? 8 << 20, at: path, in: nil, program, ["-q", "-L", label])
    }

    private init(
        _ bytes: Int, at path: String, in place: Scratch?, _ program: String,
        _ arguments: [String]
    ) throws {
        self.path = path
        self.place = place
        scratch = try Scratch("disk")
        let image = scratch("image")
        guard FileManager.default.createFile(atPath: image, contents: nil),
            truncate(image, off_t(bytes)) == 0
        else { throw SystemFailure("create \(image)") }
        source = ["-o", "loop", image]
        try run(program, arguments + [image])
        try mount()
    }

    deinit { if isMounted { unmount() } }

    private var isMounted: Bool {
        let mounts = (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? ""
        // Blanks are written as numbers in the table.
        return mounts.contains(" \(path.replacing(" ", with: "\\040")) ")
    }

    package func mount() throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        try run("mount", source + [path])
    }

    package func remount(_ options: String) throws {
        try run("mount", ["-o", "remount,\(options)", path])
    }

    /// Writers block from now on until it is thawed, as on a server that does not answer.
    package func freeze() throws { try run("fsfreeze", ["-f", path]) }

    package func thaw() throws { try run("fsfreeze", ["-u", path]) }

    /// Makes ext4 read-only as after a failure of its disk, even if files are open for writing.
    package func fail() throws { try remount("abort") }

    /// Nothing reaches the disk of ext4 any more, and programs get EIO. What was not flushed to it
    /// is lost. ``restart()`` follows.
    package func cutPower() throws {
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(directory) }
        // FS_IOC_SHUTDOWN without a flush of the journal.
        let shutdown: UInt = 0x8004_587D
        var withoutFlush: UInt32 = 2
        guard ioctl(directory, shutdown, &withoutFlush) == 0 else {
            throw SystemFailure("shut down \(path)")
        }
    }

    /// Mounts it again, as another device than before.
    package func restart() throws {
        let before = try device
        // They take the devices that become free.
        var spares: [OwnDisk] = []
        repeat {
            unmount()
            spares.append(try OwnDisk(ext4: 8 << 20, at: scratch("spare\(spares.count)")))
            try mount()
        } while try device == before
        for spare in spares { spare.unmount() }
    }

    /// Its number.
    package var device: UInt64 {
        get throws {
            var facts = stat()
            guard stat(path, &facts) == 0 else { throw SystemFailure("inspect \(path)") }
            return UInt64(facts.st_dev)
        }
    }

    /// Repairs it as an administrator would: e2fsck, then mount.
    package func mend() throws {
        unmount()
        let image = source.last ?? ""
        // 1 = errors were corrected (e2fsck(8)).
        _ = try CLIProcess("/usr/bin/env", ["e2fsck", "-fy", image]).reap()
        try mount()
    }

    /// Unmounts it at once if no process uses it, otherwise when they stop: a process that has just
    /// ended may still use it for a moment.
    package func unmount() {
        do {
            try untilTrue(within: .seconds(5), "nobody uses \(path)") {
                (try? run("umount", [path])) != nil
            }
        } catch {
            detach()
        }
    }

    /// Detaches it from its directory at once; processes with open files keep it until they close
    /// them.
    package func detach() {
        try? run("umount", ["-l", path])
    }

    private func run(_ program: String, _ arguments: [String]) throws {
        let process = try CLIProcess("/usr/bin/env", [program] + arguments)
        guard try process.reap() == .exited(0) else {
            throw FixtureFailed(description: process.errors)
        }
    }
}
