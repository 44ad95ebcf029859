internal import Glibc
package import LonghaulCore

/// A directory with another device number than the one above it is where a file system is mounted.
/// Binding a directory to another place of its own file system changes no number, and counts as no
/// mount.
extension MountedDisk {
    /// Where the file system with this number is mounted that the directory is on. `nil`: it is
    /// that of `/`, which is never away, or it cannot be told.
    static func mountPoint(of directory: String, device: UInt64) -> String? {
        if device == root || device != Self.device(at: directory) { return nil }
        guard let real = realpath(directory, nil) else { return nil }
        defer { free(real) }
        var top = String(cString: real)
        while let (parent, _) = PathParts.split(top) {
            guard let above = Self.device(at: parent) else { return nil }
            if above != device { return top }
            top = parent
        }
        return nil
    }

    /// ``isAway(isMounted:directoryOn:)``, looked up. What cannot be looked at is not away.
    package func isAway(from directory: String) -> Bool {
        guard let (parent, _) = PathParts.split(mountPoint) else { return false }
        let isMounted =
            !Self.isMissing(mountPoint)
            && Self.device(at: mountPoint) != Self.device(at: parent)
        if let device = Self.device(at: directory) {
            let point = Self.mountPoint(of: directory, device: device) ?? "/"
            return isAway(
                isMounted: isMounted,
                directoryOn: MountedDisk(mountPoint: point, device: device))
        }
        return Self.isMissing(directory) && isAway(isMounted: isMounted, directoryOn: nil)
    }

    private static let root = device(at: "/")

    /// A link that leads nowhere is missing as well.
    private static func isMissing(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) < 0 && (errno == ENOENT || errno == ENOTDIR)
    }

    private static func device(at path: String) -> UInt64? {
        var facts = stat()
        return stat(path, &facts) == 0 ? UInt64(facts.st_dev) : nil
    }
}
