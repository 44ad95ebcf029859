import Glibc
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulPlatform

/// File systems by mount point, label and UUID.
@Suite(.enabled(if: geteuid() == 0, "skipped: mounting needs root"))
struct MountedTests {
    private let scratch: Scratch
    private let snapshot: ConditionContext

    init() throws {
        scratch = try Scratch()
        snapshot = .empty(in: scratch)
    }

    /// - Parameter directory: Where it is mounted; `nil` = it is not.
    private func expect(
        _ watched: Watched, _ name: String, at directory: String?,
        at location: SourceLocation = #_sourceLocation
    ) {
        eventually("\(name) at \(directory ?? "no place")", at: location) {
            let mounted = watched.watch.current.mounted.value
            return mounted?.isMounted(name) == (directory != nil)
                && mounted?.directories[name] == directory
        }
    }

    private static let types = ["ext4", "xfs", "btrfs"].filter {
        InstalledProgram.find("mkfs.\($0)") != nil && OwnDisk.hasLoops
    }

    @Test(arguments: types) func itsLabelAndItsUUIDAreNames(type: String) throws {
        let label = "lh \(UInt16.random(in: 1000...9999))"
        let place = scratch.path("disk")
        let watched = try Watched(snapshot, [])
        watched.watch.setInterest([.mounted], fileSystems: [label, place, "another"])
        expect(watched, label, at: nil)
        let disk = try OwnDisk(type, label: label, at: place)
        expect(watched, label, at: place)
        expect(watched, place, at: place)
        #expect(watched.watch.current.mounted.value?.isMounted("another") == false)
        // As `blkid` writes it, and in capitals.
        let uuid = try #require(try uuid(of: place))
        watched.watch.setInterest([.mounted], fileSystems: [uuid, uuid.uppercased()])
        expect(watched, uuid, at: place)
        expect(watched, uuid.uppercased(), at: place)
        #expect(watched.watch.current.mounted.value?.isMounted(label) == nil)
        disk.unmount()
        expect(watched, uuid, at: nil)
    }

    private func uuid(of place: String) throws -> String? {
        let asked = try CLIProcess(
            "/bin/sh", ["-c", "blkid -p -o value -s UUID \"$(findmnt -no SOURCE \"$0\")\"", place])
        guard try asked.reap() == .exited(0) else { return nil }
        return asked.output.split(separator: "\n").first.map(String.init)
    }

    /// A file system that does not tell has udev's links.
    @Test(.enabled(if: OwnDisk.hasLoops, "skipped: no loop devices"))
    func linksOfDevicesAreNames() throws {
        let place = scratch.path("disk")
        let disk = try OwnDisk("ext4", label: "plain", at: place)
        let asked = try CLIProcess("/bin/sh", ["-c", "findmnt -no SOURCE \"$0\"", place])
        #expect(try asked.reap() == .exited(0))
        let device = try #require(asked.output.split(separator: "\n").first)
        for directory in ["dev", "dev/disk", "dev/disk/by-label"] {
            try scratch.subdirectory(directory)
        }
        let link = scratch.path("dev/disk/by-label/my\\x20stick")
        #expect(symlink(String(device), link) == 0)
        let watched = try Watched(snapshot, [])
        watched.watch.setInterest([.mounted], fileSystems: ["my stick"])
        expect(watched, "my stick", at: place)
        withExtendedLifetime(disk) {}
    }

    /// Blanks are written as numbers in the table.
    @Test func aPlaceMayHaveABlank() throws {
        let place = scratch.path("my disk")
        let watched = try Watched(snapshot, [])
        watched.watch.setInterest([.mounted], fileSystems: [place])
        expect(watched, place, at: nil)
        let disk = try OwnDisk(memory: "1m", at: place)
        expect(watched, place, at: place)
        withExtendedLifetime(disk) {}
    }

    @Test func withoutInterestNothingIsRead() throws {
        let watched = try Watched(snapshot, [.power])
        let disk = try OwnDisk(memory: "1m", at: scratch.path("disk"))
        _ = watched.watch.read(within: 5)
        #expect(watched.watch.current.mounted == .unknown)
        withExtendedLifetime(disk) {}
    }
}
