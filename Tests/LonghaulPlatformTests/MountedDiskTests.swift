import Glibc
import LonghaulCore
import Testing

@testable import LonghaulPlatform

@Suite(.enabled(if: SmallDisk.isPossible, "needs the right to mount"))
struct MountedDiskTests {
    private let disk: SmallDisk
    private let number: UInt64

    init() throws {
        disk = try SmallDisk(bytes: 1 << 20)
        number = try identity(disk.path).device
    }

    private var path: String { disk.path }

    private func made(at point: String) -> MountedDisk {
        MountedDisk(mountPoint: point, device: number)
    }

    private func unmount() { umount2(path, Int32(MNT_DETACH)) }

    @Test func isFoundFromEveryDirectory() throws {
        try disk.scratch.subdirectory("disk/a")
        try disk.scratch.subdirectory("disk/a/b")
        try #require(symlink("disk/a", disk.scratch.path("link")) == 0)
        for name in ["disk", "disk/a", "disk/a/b", "link", "link/b", "disk//a/../a"] {
            let handle = try DirectoryHandle(opening: disk.scratch.path(name))
            #expect(handle.mountPoint == path, "\(name)")
        }
        #expect(try DirectoryHandle(opening: "/").mountPoint == nil)
    }

    @Test func isOnItWhileItIsMounted() throws {
        try disk.scratch.subdirectory("disk/a")
        #expect(!made(at: path).isAway(from: path))
        #expect(!made(at: path).isAway(from: path + "/a"))
        #expect(!made(at: path).isAway(from: path + "/none"))
    }

    @Test func isAwayOnceItIsNot() throws {
        let old = try DirectoryHandle(opening: path)
        let part = try PartFile.create(".p", in: old)
        let link = self.disk.scratch.path("link")
        try #require(symlink("disk/none", link) == 0)
        unmount()
        let disk = try #require(part.disk)
        #expect(disk.isAway(from: link))
        #expect(disk.isAway(from: path))
        #expect(disk.isAway(from: path + "/none"))
        #expect(FileInspection.facts(part: part.path, destination: "").part == .missing)
        let facts = FileInspection.facts(part: part.path, destination: "", madeOn: disk)
        #expect(facts.part == .unusable(errno: ENOENT))
        try #require(rmdir(path) == 0)
        #expect(disk.isAway(from: path))
    }

    @Test func anotherDiskHasTakenItsPlace() throws {
        unmount()
        // Number 0 is nobody's.
        let gone = MountedDisk(mountPoint: path, device: 0)
        #expect(gone.isAway(from: path))
        try #require(mount("none", path, "tmpfs", 0, "size=64k") == 0)
        #expect(!gone.isAway(from: path))
    }
}
