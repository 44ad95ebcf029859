internal import LonghaulModel

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// The result of `lstat`, as far as the store needs it.
struct FileStatus {
    var identity: FileIdentity
    var owner: UInt32
    var permissions: UInt32
    var isRegular: Bool
    var isDirectory: Bool
    var isSymbolicLink: Bool
    var size: Int64
    /// When its content was last changed.
    var modified: Timestamp

    /// The errno of a file that cannot be examined; `nil` = it can be examined, or does not exist.
    static func failure(_ path: String, followingLinks: Bool = false) -> Int32? {
        var status = stat()
        let code = followingLinks ? stat(path, &status) : lstat(path, &status)
        if code == 0 || errno == ENOENT || errno == ENOTDIR { return nil }
        return errno
    }

    /// True if the path names a different file or none. A file that cannot be examined counts as
    /// the same.
    static func isAnother(_ path: String, than identity: FileIdentity?) -> Bool {
        guard let status = of(path) else { return identity != nil && failure(path) == nil }
        return status.identity != identity
    }

    /// `nil` if the file does not exist or cannot be examined; `errno` tells which.
    static func of(_ path: String, followingLinks: Bool = false) -> FileStatus? {
        var status = stat()
        let code = followingLinks ? stat(path, &status) : lstat(path, &status)
        guard code == 0 else { return nil }
        let kind = status.st_mode & S_IFMT
        return FileStatus(
            identity: FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)),
            owner: status.st_uid, permissions: status.st_mode & 0o7777,
            isRegular: kind == S_IFREG, isDirectory: kind == S_IFDIR,
            isSymbolicLink: kind == S_IFLNK, size: Int64(status.st_size),
            modified: Timestamp(
                milliseconds: Int64(status.st_mtim.tv_sec) * 1000
                    + Int64(status.st_mtim.tv_nsec) / 1_000_000))
    }
}

extension FileStatus {
    /// Removes a file of SQLite's with its companions.
    static func removeDatabase(_ path: String) {
        for suffix in [""] + StoreLocation.companions { _ = unlink(path + suffix) }
    }
}
