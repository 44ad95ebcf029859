import Glibc
import LonghaulCore
import Testing

@testable import LonghaulPlatform

@Suite struct DirectoryTests {
    private let scratch: Scratch
    private let handles = DirectoryHandles(trustedFor: 0)

    init() throws {
        scratch = try Scratch()
    }

    @Test func opensADirectoryOnce() throws {
        let first = try handles.handle(for: scratch.path)
        #expect(try handles.handle(for: scratch.path) === first)
        #expect(fcntl(first.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test func tellsSpellingsApart() throws {
        let handles = DirectoryHandles(trustedFor: 3600)
        let paths = try ["caf\u{E9}", "cafe\u{301}"].map { try scratch.subdirectory($0) }
        let found = try paths.map { try handles.handle(for: $0) }
        #expect(found[0].identity != found[1].identity && handles.count == 2)
        let names = try #require(DirectoryNames(of: scratch.path))
        #expect(names.contains("caf\u{E9}") && names.contains("cafe\u{301}"))
        try #require(rmdir(paths[1]) == 0)
        #expect(DirectoryNames(of: scratch.path)?.contains("cafe\u{301}") == false)
    }

    @Test func isTrustedForAMoment() throws {
        let handles = DirectoryHandles(trustedFor: 3600)
        let path = try scratch.subdirectory("d")
        let old = try handles.handle(for: path)
        try #require(rmdir(path) == 0)
        #expect(try handles.handle(for: path) === old)
        // Nothing is written to nowhere.
        #expect(throws: SystemFailure.self) { try PartFile.create(".p", in: old) }
    }

    @Test func noticesADirectoryThatVanished() throws {
        let path = try scratch.subdirectory("d")
        let old = try handles.handle(for: path)
        try #require(rmdir(path) == 0)
        #expect(!old.isCurrent)
        let failure = #expect(throws: SystemFailure.self) { try handles.handle(for: path) }
        #expect(failure?.errno == ENOENT)
        #expect(handles.count == 0)
    }

    @Test func noticesADirectoryThatWasReplaced() throws {
        let path = try scratch.subdirectory("d")
        let old = try handles.handle(for: path)
        try #require(rename(path, scratch.path("moved")) == 0)
        try scratch.subdirectory("d")
        let new = try handles.handle(for: path)
        #expect(new !== old)
        #expect(try new.identity == identity(path))
        // Whoever holds the old one goes on in the directory that it was.
        _ = try PartFile.create(".p", in: old)
        #expect(scratch.exists("moved/.p"))
    }

    @Test func keepsFewOpenAndThoseUsedLast() throws {
        let paths = try (0...Limits.openDirectories).map { try scratch.subdirectory("d\($0)") }
        let first = try handles.handle(for: paths[0])
        let second = try handles.handle(for: paths[1])
        for path in paths[2..<Limits.openDirectories] { _ = try handles.handle(for: path) }
        #expect(handles.count == Limits.openDirectories)
        #expect(try handles.handle(for: paths[0]) === first)
        _ = try handles.handle(for: paths[Limits.openDirectories])
        #expect(handles.count == Limits.openDirectories)
        #expect(try handles.handle(for: paths[0]) === first)
        #expect(try handles.handle(for: paths[1]) !== second)
        handles.removeAll()
        #expect(handles.count == 0)
    }

    @Test(arguments: ["a", "a/b/c", "a//b/", "./a"])
    func createsWhatIsMissing(below: String) throws {
        let path = scratch.path(below)
        #expect(throws: SystemFailure.self) { try handles.handle(for: path) }
        let handle = try handles.handle(for: path, creating: true)
        #expect(handle.isCurrent)
        try handle.sync()
        #expect(try handles.handle(for: path) === handle)
    }

    @Test func doesNotCreateThroughAFile() throws {
        try scratch.write("", to: "file")
        let failure = #expect(throws: SystemFailure.self) {
            try handles.handle(for: scratch.path("file/d"), creating: true)
        }
        #expect(failure?.errno == ENOTDIR)
    }

    /// A directory that the user reaches through a link is the user's choice.
    @Test func followsLinksToTheChosenDirectory() throws {
        try scratch.subdirectory("real")
        try #require(symlink("real", scratch.path("alias")) == 0)
        let handle = try handles.handle(for: scratch.path("alias"))
        #expect(try handle.identity == identity(scratch.path("real")))
    }

    @Test func removingWhatIsNotThereIsNoError() throws {
        let handle = try scratch.directory()
        try handle.remove("nothing")
        #expect(throws: SystemFailure.self) { try handle.remove("../x") }
    }

    // MARK: - What stands under a name

    @Test func inspectsNames() throws {
        let file = try scratch.write("12345", to: "file")
        let link = scratch.path("link")
        try #require(symlink("file", link) == 0)
        try #require(mkfifo(scratch.path("fifo"), 0o600) == 0)
        let directory = try scratch.subdirectory("directory")
        let facts = FileInspection.facts(part: file, destination: scratch.path("none"))
        #expect(facts.part == .present(try identity(file), size: 5))
        #expect(facts.destination == .missing)
        #expect(FileInspection.entry(at: link) == .unusable(errno: ELOOP))
        #expect(FileInspection.entry(at: directory) == .unusable(errno: EISDIR))
        #expect(FileInspection.entry(at: scratch.path("fifo")) == .unusable(errno: EINVAL))
        #expect(FileInspection.entry(at: file + "/x") == .missing)
        #expect(FileInspection.entry(at: "") == .missing)
        let long = scratch.path(String(repeating: "n", count: 256))
        #expect(FileInspection.entry(at: long) == .unusable(errno: ENAMETOOLONG))
    }

    @Test func inspectingOpensNothing() throws {
        // Opening a FIFO or a device may block or do something.
        try #require(mkfifo(scratch.path("fifo"), 0o000) == 0)
        #expect(FileInspection.entry(at: scratch.path("fifo")) == .unusable(errno: EINVAL))
    }

    // MARK: - Room

    @Test func knowsTheRoomOfTheNearestDirectory() throws {
        let here = try DiskSpace.available(at: scratch.path)
        #expect(here > 0)
        let below = try DiskSpace.available(at: scratch.path("not/yet/there"))
        // Other tests write meanwhile.
        #expect(abs(here - below) < 1 << 30)
        #expect(DiskSpace.obstacle(toWritingIn: scratch.path("not/yet/there/")) == nil)
        #expect(try DiskSpace.nearestExisting(scratch.path("not/yet/")) == scratch.path)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs the right to mount"))
    func knowsTheRoomOfASmallDisk() throws {
        let disk = try SmallDisk(bytes: 1 << 20)
        #expect(try DiskSpace.available(at: disk.path + "/x/y") == 1 << 20)
        #expect(DiskSpace.obstacle(toWritingIn: disk.path) == nil)
        try disk.makeReadOnly()
        #expect(
            DiskSpace.obstacle(toWritingIn: disk.path + "/x")
                == SystemFailure(operation: "write", path: disk.path, errno: EROFS))
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs the right to mount"))
    func aDiskWithoutBoundsIsNotFull() throws {
        let disk = try SmallDisk(bytes: 0)
        #expect(try DiskSpace.available(at: disk.path) == .max)
    }

    @Test func knowsThatAFileIsNoDirectory() throws {
        let file = try scratch.write("", to: "file")
        #expect(DiskSpace.obstacle(toWritingIn: file)?.errno == ENOTDIR)
        #expect(DiskSpace.obstacle(toWritingIn: file + "/x")?.errno == ENOTDIR)
    }

    @Test(.enabled(if: !isRoot, "root may write anywhere"))
    func knowsThatADirectoryMayNotBeWritten() throws {
        let locked = try scratch.subdirectory("locked")
        chmod(locked, 0o500)
        defer { chmod(locked, 0o700) }
        #expect(DiskSpace.obstacle(toWritingIn: locked + "/x")?.code == .permission)
    }

    @Test func looksThroughADirectory() throws {
        try scratch.write("x", to: "ä b")
        let names = try #require(DirectoryNames(of: scratch.path))
        #expect(names.contains("ä b"))
        #expect(!names.contains("x"))
        #expect(DirectoryNames(of: scratch.path("nowhere")) == nil)
    }
}
