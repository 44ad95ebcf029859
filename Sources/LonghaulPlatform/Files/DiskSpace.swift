package import LonghaulCore
internal import Glibc

/// What a destination has to offer, found out before anything exists there: answers for the nearest
/// directory above it that does exist, where the missing ones would be created.
package enum DiskSpace {
    /// Bytes that this user may still write there: what is reserved for root does not count. As
    /// many as one likes where the file system has no bounds, or does not say (its size is 0 then).
    package static func available(at path: String) throws(SystemFailure) -> Int64 {
        let directory = try nearestExisting(path)
        let facts = try facts(of: directory)
        if facts.f_blocks == 0 { return .max }
        let (bytes, overflow) = UInt64(facts.f_bavail).multipliedReportingOverflow(
            by: UInt64(facts.f_frsize))
        return overflow ? .max : Int64(clamping: bytes)
    }

    /// Why nothing can be created in this directory, or in what would have to be created for it;
    /// `nil` = as far as can be told, it can.
    ///
    /// The kernel has the last word when the file is created.
    package static func obstacle(toWritingIn path: String) -> SystemFailure? {
        do throws(SystemFailure) {
            let directory = try nearestExisting(path)
            // Before the permissions, which do not bind root.
            if try facts(of: directory).f_flag & UInt(ST_RDONLY) != 0 {
                return SystemFailure(operation: "write", path: directory, errno: EROFS)
            }
            var found = stat()
            if stat(directory, &found) < 0 { throw SystemFailure.last("stat", directory) }
            guard found.isDirectory else {
                return SystemFailure(operation: "write", path: directory, errno: ENOTDIR)
            }
            // With the effective user, which is the one that will write.
            if faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0 {
                throw SystemFailure.last("write", directory)
            }
            return nil
        } catch {
            return error
        }
    }

    /// The one path of a directory: as far as it exists, without links, `.` and `..`. As it is
    /// where that cannot be told.
    package static func realPath(_ path: String) -> String {
        guard let existing = try? nearestExisting(path), let found = realpath(existing, nil) else {
            return path
        }
        defer { free(found) }
        guard let real = String(validatingCString: found) else { return path }
        let missing = String(Substring(path.utf8.dropFirst(existing.utf8.count)))
        return PathParts.names(in: missing).reduce(real, PathParts.join)
    }

    // MARK: -

    private static func facts(of path: String) throws(SystemFailure) -> statvfs {
        var facts = statvfs()
        if uninterrupted({ statvfs(path, &facts) }) < 0 { throw .last("statvfs", path) }
        return facts
    }

    /// The path itself or the first one above it that exists; links are followed.
    static func nearestExisting(_ path: String) throws(SystemFailure) -> String {
        var path = path
        while true {
            var facts = stat()
            if stat(path, &facts) == 0 { return path }
            let failure = SystemFailure.last("stat", path)
            guard failure.errno == ENOENT else { throw failure }
            let shorter = PathParts.withoutSlashes(path)
            if let lost = SystemFailure.leadingNowhere(shorter) { throw lost }
            // `..` is in no directory that could be made.
            guard let (parent, _) = PathParts.split(shorter) else {
                throw SystemFailure(operation: "find", path: path, errno: ENOENT)
            }
            path = parent
        }
    }
}

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
