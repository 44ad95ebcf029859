import Glibc
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulPlatform

/// A directory of a test's own, removed with everything in it when the test lets go of it.
final class Scratch: Sendable {
    let path: String

    /// - Parameter base: on which file system; the default is the one of the temporary directory.
    init(in base: String = Environment.value("TMPDIR") ?? "/tmp") throws {
        let random = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        path = "\(base)/longhaul-test-\(random)"
        try #require(mkdir(path, 0o700) == 0)
    }

    deinit {
        removeTree(path)
    }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    func directory() throws -> DirectoryHandle { try DirectoryHandle(opening: path) }

    @discardableResult
    func subdirectory(_ name: String) throws -> String {
        try #require(mkdir(path(name), 0o755) == 0)
        return path(name)
    }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        let file = open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        try #require(file >= 0)
        defer { close(file) }
        try put(text, file)
        return path(name)
    }

    func read(_ name: String) throws -> String { try smallFile(path(name)) }

    func mode(_ name: String) throws -> mode_t {
        var facts = stat()
        try #require(lstat(path(name), &facts) == 0)
        return facts.st_mode & 0o7777
    }

    func exists(_ name: String) -> Bool {
        var facts = stat()
        return lstat(path(name), &facts) == 0
    }

    /// The names in the directory, in order.
    func names() throws -> [String] { try #require(directoryNames(path)).sorted() }
}

/// A small tmpfs of a test's own.
final class SmallDisk {
    let scratch: Scratch
    var path: String { scratch.path("disk") }

    init(bytes: Int) throws {
        scratch = try Scratch()
        try scratch.subdirectory("disk")
        try #require(mount("none", path, "tmpfs", 0, "size=\(bytes)") == 0)
    }

    func makeReadOnly() throws {
        try #require(mount("none", path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
    }

    /// Whether this process may mount at all: root in a container often may not.
    static let isPossible: Bool = {
        guard let disk = try? SmallDisk(bytes: 65_536) else { return false }
        return disk.path != ""
    }()
}

let isRoot = geteuid() == 0

func put(_ text: String, _ descriptor: Int32, at offset: Int = 0) throws {
    let bytes = Array(text.utf8)
    try #require(pwrite(descriptor, bytes, bytes.count, offset) == bytes.count)
}

func identity(_ path: String) throws -> FileIdentity {
    var facts = stat()
    try #require(stat(path, &facts) == 0)
    return FileIdentity(device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino))
}

/// Looks until the condition holds; an issue is recorded when it does not within `limit`.
func eventually(
    within limit: Duration = Patience.usual, _ what: Comment,
    at location: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) rethrows {
    var patience = Patience(limit)
    while try !condition() {
        guard patience.lasts() else {
            Issue.record(what, sourceLocation: location)
            return
        }
        usleep(1_000)
    }
}

private func removeTree(_ path: String) {
    var facts = stat()
    if lstat(path, &facts) == 0, facts.isDirectory {
        for name in directoryNames(path) ?? [] { removeTree("\(path)/\(name)") }
    }
    remove(path)
}
