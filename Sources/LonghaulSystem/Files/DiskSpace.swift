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
