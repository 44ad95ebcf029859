import Glibc
import LonghaulCore
import Testing

@testable import LonghaulPlatform

/// Copies of whole files: an inode of their own by every method, on every file system.
@Suite struct CopyTests {
    private static let text = String(repeating: "0123456789abcdef", count: 40_000)
    private static var length: Int64 { Int64(text.utf8.count) }

    private func source(in scratch: String) throws -> PartFile {
        let directory = try DirectoryHandle(opening: scratch)
        let part = try PartFile.create(".f.1.longhaul-part", in: directory)
        try put(Self.text, part.descriptor)
        return part
    }

    /// Right bytes in another inode; what is written to one is not seen in the other.
    private func check(_ copy: PartFile, of source: PartFile) throws {
        #expect(try copy.read(at: 0, count: Int(Self.length) + 1) == Array(Self.text.utf8))
        #expect(copy.identity.inode != source.identity.inode)
        try put("changed", source.descriptor)
        #expect(try copy.read(at: 0, count: 7) == Array("0123456".utf8))
        try copy.sync()
    }

    @Test(arguments: [[CopyMethod.kernel], [.readAndWrite], [.reflink, .kernel, .readAndWrite]])
    func everyMethodCopies(_ methods: [CopyMethod]) throws {
        let scratch = try Scratch()
        let source = try source(in: scratch.path)
        let (copy, _) = try PartFile.create(
            ".g.2.longhaul-part", in: try scratch.directory(), copying: source.descriptor,
            length: Self.length, methods: methods)
        try check(copy, of: source)
        #expect(try scratch.mode(".g.2.longhaul-part") == 0o600)
    }

    @Test func anEmptyFileHasCopiesToo() throws {
        let scratch = try Scratch()
        let directory = try scratch.directory()
        let source = try PartFile.create("a", in: directory)
        let (copy, _) = try PartFile.create(
            "b", in: directory, copying: source.descriptor, length: 0)
        #expect(try copy.size() == 0)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "skipped: no mount"))
    func aCopyThatDoesNotFitLeavesNothing() throws {
        let scratch = try Scratch()
        let source = try source(in: scratch.path)
        let disk = try SmallDisk(bytes: 128 << 10)
        let directory = try DirectoryHandle(opening: disk.path)
        for methods in [[CopyMethod.reflink, .kernel, .readAndWrite], [.readAndWrite]] {
            do throws(SystemFailure) {
                _ = try PartFile.create(
                    "g", in: directory, copying: source.descriptor, length: Self.length,
                    methods: methods)
                Issue.record("it fits")
            } catch {
                #expect(error.errno == ENOSPC)
            }
        }
        var facts = stat()
        #expect(lstat(disk.path + "/g", &facts) != 0)
        // A length that the source has not got is no copy.
        #expect(throws: SystemFailure.self) {
            _ = try PartFile.create(
                "h", in: try scratch.directory(), copying: source.descriptor,
                length: Self.length + 1)
        }
    }

    @Test(.enabled(if: ImageDisk.isPossible, "skipped: no loop device, or no mkfs.xfs"))
    func blocksAreSharedWhereTheFileSystemCan() throws {
        let disk = try ImageDisk()
        let source = try source(in: disk.path)
        try source.sync()
        let (copy, method) = try PartFile.create(
            "g", in: try DirectoryHandle(opening: disk.path), copying: source.descriptor,
            length: Self.length)
        #expect(method == .reflink)
        try check(copy, of: source)
        // From another file system it is copied.
        let elsewhere = try Scratch()
        let (far, farMethod) = try PartFile.create(
            "g", in: try elsewhere.directory(), copying: copy.descriptor, length: Self.length)
        #expect(farMethod != .reflink)
        #expect(try far.size() == Self.length)
    }

    // MARK: - A finished file

    @Test func onlyAnUntouchedFileIsReused() throws {
        let scratch = try Scratch()
        let path = try scratch.write(Self.text, to: "done")
        let kept = try identity(path)
        let directory = try scratch.directory()
        let now = SystemClock.now().wall
        var number = 0
        func fill(
            _ path: String, _ identity: FileIdentity, _ length: Int64 = Self.length,
            since: Timestamp = now
        ) throws -> Bool {
            // A program that another test starts at this moment has the lock of the one before.
            number += 1
            let part = try PartFile.create("part-\(number)", in: directory)
            do throws(SystemFailure) {
                try part.fill(from: path, identity, length: length, unchangedSince: since)
                return try part.size() == Self.length
            } catch {
                #expect(error.errno == ESTALE || error.errno == ENOENT || error.errno == ELOOP)
                return false
            }
        }
        #expect(try fill(path, kept))
        #expect(try !fill(path, FileIdentity(device: kept.device, inode: kept.inode + 1)))
        #expect(try !fill(path, kept, Self.length - 1))
        #expect(try !fill(path, kept, since: now + -3600))
        #expect(try !fill(scratch.path("none"), kept))
        #expect(symlink(path, scratch.path("link")) == 0)
        #expect(try !fill(scratch.path("link"), kept))
        // Written since, with the time of writing put back: the kernel notes the change itself.
        usleep(20_000)
        try scratch.write(String(Self.text.reversed()), to: "done")
        var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
        #expect(utimes(path, &times) == 0)
        #expect(try !fill(path, kept))
    }
}

/// A file system in a file that lets files share blocks, mounted for one test.
final class ImageDisk {
    let scratch: Scratch
    var path: String { scratch.path("mount") }

    init() throws {
        scratch = try Scratch()
        try scratch.subdirectory("mount")
        let image = scratch.path("image")
        let file = open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        try #require(ftruncate(file, 320 << 20) == 0)
        try #require(run("/usr/sbin/mkfs.xfs", ["-q", "-m", "reflink=1", image]))
        try #require(run("/usr/bin/mount", ["-o", "loop", image, path]))
    }

    deinit {
        _ = run("/usr/bin/umount", [path])
    }

    static let isPossible: Bool = {
        guard isRoot, access("/usr/sbin/mkfs.xfs", X_OK) == 0, let disk = try? ImageDisk()
        else { return false }
        return disk.path != ""
    }()
}

private func run(_ executable: String, _ arguments: [String]) -> Bool {
    guard let process = try? ChildProcess(executable, arguments) else { return false }
    return process.reap() == 0
}
