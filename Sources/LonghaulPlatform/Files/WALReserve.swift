internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// On a small disk the reserve is this part of it at most: one in 64.
private let wALReserveShare: Int64 = 64

/// Disk space reserved for the next bytes of a log: if downloads fill the disk, their outcome can
/// still be recorded.
///
/// The log is SQLite's. Its size and content are not changed. SQLite holds no POSIX lock on the
/// log, so closing another descriptor of it drops none.
package struct WALReserve {
    private let path: String
    /// The offset up to which space is reserved.
    private var end: Int64 = 0
    private var triedAt: Int64 = -1
    private var bytes = Limits.wALReserveBytes

    package init(ofLog path: String) {
        self.path = path
    }

    /// To be called when the log may have grown. It costs one stat(2); if half of the space is used
    /// up, as much again is reserved. If the disk has too little, the next growth tries again.
    package mutating func keep() {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return }
        let size = Int64(facts.st_size)
        if size + bytes / 2 <= end || size == triedAt { return }
        triedAt = size
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        if descriptor < 0 { return }
        defer { Glibc.close(descriptor) }
        bytes = WALReserve.bytes(onDiskOf: descriptor)
        if lh_keep_room(descriptor, size + bytes) == 0 { end = size + bytes }
    }

    /// A small disk gives only a share of its size.
    private static func bytes(onDiskOf descriptor: Int32) -> Int64 {
        var facts = statvfs()
        guard fstatvfs(descriptor, &facts) == 0, facts.f_blocks > 0 else {
            return Limits.wALReserveBytes
        }
        let share = UInt64(facts.f_blocks) / UInt64(wALReserveShare) * UInt64(facts.f_frsize)
        return min(Limits.wALReserveBytes, Int64(clamping: share))
    }
}
