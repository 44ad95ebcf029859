package import LonghaulModel
internal import Glibc

/// Properties of a destination before it exists: of the nearest existing directory above it, where
/// the missing directories would be created.
package enum DiskSpace {
    /// Bytes that this user may still write there, without those reserved for root. `Int64.max`
    /// where the file system has no limit or reports none (its size is 0 then).
    package static func available(at path: String) throws(SystemFailure) -> Int64 {
        let directory = try nearestExisting(path)
        let facts = try facts(of: directory)
        if facts.f_blocks == 0 { return .max }
        let (bytes, overflow) = UInt64(facts.f_bavail).multipliedReportingOverflow(
            by: UInt64(facts.f_frsize))
        return overflow ? .max : Int64(clamping: bytes)
    }

    /// Why no file can be created in this directory, or in its nearest existing parent; `nil` = no
    /// obstacle was found.
    ///
    /// Only creating the file shows for sure.
    package static func obstacle(toWritingIn path: String) -> SystemFailure? {
        do throws(SystemFailure) {
            let directory = try nearestExisting(path)
            // Checked before the permissions, which do not bind root.
            if try facts(of: directory).f_flag & UInt(ST_RDONLY) != 0 {
                return SystemFailure(operation: "write", path: directory, errno: EROFS)
            }
            var found = stat()
            if stat(directory, &found) < 0 { throw SystemFailure.last("stat", directory) }
            guard found.isDirectory else {
                return SystemFailure(operation: "write", path: directory, errno: ENOTDIR)
            }
            // Checked for the effective user, which is the one that will write.
            if faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0 {
                throw SystemFailure.last("write", directory)
            }
            return nil
        } catch {
            return error
        }
    }

    /// The disk of the directory, or of the nearest one that exists; `nil` = that of `/`, or
    /// unknown.
    package static func disk(of directory: String) -> MountedDisk? {
        guard let existing = try? nearestExisting(directory),
            let device = MountedDisk.device(at: existing),
            let point = MountedDisk.mountPoint(of: existing, device: device)
        else { return nil }
        return MountedDisk(mountPoint: point, device: device)
    }

    /// The nearest existing directory, opened.
    package static func existing(_ path: String) throws(SystemFailure) -> DirectoryHandle {
        try DirectoryHandle(opening: nearestExisting(path))
    }

    /// The canonical path of a directory: its existing part without links, `.` and `..`. Unchanged
    /// if that cannot be found out.
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
            // No directory can be created with the name `..`.
            guard let (parent, _) = PathParts.split(shorter) else {
                throw SystemFailure(operation: "find", path: path, errno: ENOENT)
            }
            path = parent
        }
    }
}

/// A file system is mounted at a directory whose device number differs from that of its parent. A
/// bind mount within one file system changes no device number and does not count as a mount.
extension MountedDisk {
    /// The mount point of the directory's file system, which has this number. `nil`: the file
    /// system of `/`, which is never away, or an unknown mount point.
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

    /// ``isAway(isMounted:directoryOn:)`` with looked-up values. A disk that cannot be checked is
    /// not away.
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

    /// A dangling link counts as missing.
    private static func isMissing(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) < 0 && (errno == ENOENT || errno == ENOTDIR)
    }

    fileprivate static func device(at path: String) -> UInt64? {
        var facts = stat()
        return stat(path, &facts) == 0 ? UInt64(facts.st_dev) : nil
    }
}
