import LonghaulCore
import Testing

/// A part file was made on the disk with the number 7 at /mnt/usb and is missing: deleted, or away
/// with its disk?
@Suite struct MountedDiskTests {
    private struct Row: CustomTestStringConvertible {
        var what: String
        var isMounted = false
        var device: UInt64 = 1
        /// Where the disk is mounted that the directory is on; `nil` = there is no directory.
        var on: String?
        var isAway: Bool

        var testDescription: String { what }
    }

    private static let rows = [
        Row(what: "its directory is on the disk below", on: "/", isAway: true),
        Row(what: "another disk is below", on: "/mnt", isAway: true),
        Row(what: "the mount point went with the disk", on: nil, isAway: true),
        Row(what: "deleted on its disk", isMounted: true, device: 7, on: "/mnt/usb", isAway: false),
        Row(
            what: "deleted, and the disk has another number", isMounted: true, device: 8,
            on: "/mnt/usb", isAway: false),
        Row(
            what: "deleted with its directory", isMounted: true, device: 7, on: nil,
            isAway: false),
        Row(
            what: "the directory is a link that leads elsewhere now", isMounted: true, device: 1,
            on: "/", isAway: false),
        Row(what: "the same, to another disk", on: "/data", isAway: false),
        Row(what: "deleted, and seen from a sandbox", device: 7, on: "/", isAway: false),
        Row(what: "a disk with such a name is below", on: "/mnt/us", isAway: false),
        Row(what: "another disk is there, hardly mounted", on: "/mnt/usb", isAway: false),
    ]

    @Test(arguments: rows) private func isAway(_ row: Row) {
        let disk = MountedDisk(mountPoint: "/mnt/usb", device: 7)
        let there = row.on.map { MountedDisk(mountPoint: $0, device: row.device) }
        #expect(disk.isAway(isMounted: row.isMounted, directoryOn: there) == row.isAway)
    }
}
