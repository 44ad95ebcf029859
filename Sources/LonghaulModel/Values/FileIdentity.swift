/// Tells one file from another that has its name.
///
/// The number of a file that was deleted is soon another's: when it was created tells the two
/// apart. Where one of them does not say that, the numbers decide, and that of the device with
/// them: a file system may have another one after each mount (btrfs, NFS, a disk that was plugged
/// in again).
package struct FileIdentity: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    /// Creation time in nanoseconds since 1970; 0 = the file system does not say.
    package var birth: Int64

    package init(device: UInt64, inode: UInt64, birth: Int64 = 0) {
        self.device = device
        self.inode = inode
        self.birth = birth
    }

    package static func == (left: FileIdentity, right: FileIdentity) -> Bool {
        if left.inode != right.inode { return false }
        return left.birth == 0 || right.birth == 0
            ? left.device == right.device : left.birth == right.birth
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(inode)
    }
}

/// The file system that a directory is on, by where it is mounted.
package struct MountedDisk: Hashable, Codable, Sendable {
    /// Absolute, with links followed.
    package var mountPoint: String
    package var device: UInt64

    package init(mountPoint: String, device: UInt64) {
        self.mountPoint = mountPoint
        self.device = device
    }

    /// True if a missing part file on this disk is away with the disk, and not deleted: its bytes
    /// come back when the disk is mounted again.
    ///
    /// - Parameters:
    ///   - isMounted: Something is mounted at this disk's mount point: the disk itself, which then
    ///     no longer has the file, or another that has taken its place.
    ///   - there: The present disk of the part file's directory; `nil` = there is no such
    ///     directory.
    package func isAway(isMounted: Bool, directoryOn there: MountedDisk?) -> Bool {
        if isMounted { return false }
        guard let there else { return true }
        // A sandbox may have the same file system mounted elsewhere.
        if there.device == device { return false }
        // The disk below shows now where its mount point was. A link may lead to a third disk.
        return there.mountPoint == "/"
            || mountPoint.utf8.starts(with: (there.mountPoint + "/").utf8)
    }
}
