internal import CLonghaul
internal import Glibc
internal import LonghaulCore

/// Room on its disk for what a log is to get next: when downloads have filled the disk, what
/// becomes of them can still be recorded.
///
/// The log is SQLite's. Its size and content are not touched, and a descriptor of a log holds no
/// lock that closing it would drop.
package struct WALReserve {
    private let path: String
    /// Up to here the log has its room.
    private var end: Int64 = 0
    private var triedAt: Int64 = -1
    private var bytes = Limits.wALReserveBytes

    package init(ofLog path: String) {
        self.path = path
    }

    /// To be called when the log may have grown: one look, and where half of the room is used up,
    /// as much again is set aside. Where the disk has too little for that, the next growth asks
    /// again.
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

    /// Not much of a small disk.
    private static func bytes(onDiskOf descriptor: Int32) -> Int64 {
        var facts = statvfs()
        guard fstatvfs(descriptor, &facts) == 0, facts.f_blocks > 0 else {
            return Limits.wALReserveBytes
        }
        let share = UInt64(facts.f_blocks) / UInt64(Limits.wALReserveShare) * UInt64(facts.f_frsize)
        return min(Limits.wALReserveBytes, Int64(clamping: share))
    }
}
