/// The file system that a directory is on, by where it is mounted.
package struct MountedDisk: Hashable, Sendable {
    /// Absolute, with links followed.
    package var mountPoint: String
    package var device: UInt64

    package init(mountPoint: String, device: UInt64) {
        self.mountPoint = mountPoint
        self.device = device
    }

    /// Whether a part file that was made on this disk and is missing is away with it, and not
    /// deleted: its bytes come back when the disk is mounted again.
    ///
    /// - Parameters:
    ///   - isMounted: Something is mounted where this disk was: the disk itself, which then holds
    ///     the file no more, or another that has taken its place.
    ///   - there: What the part file's directory is on now; `nil` = there is no such directory.
    package func isAway(isMounted: Bool, directoryOn there: MountedDisk?) -> Bool {
        if isMounted { return false }
        guard let there else { return true }
        // In a sandbox the same file system may be mounted elsewhere.
        if there.device == device { return false }
        // Where its mount point was, the disk below shows now. A link may lead to a third disk.
        return there.mountPoint == "/"
            || mountPoint.utf8.starts(with: (there.mountPoint + "/").utf8)
    }
}
