internal import LonghaulModel

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// Write access to the store is enough to make the engine write files. So the directory and the
/// file must belong to the user, and no other user may write them.
enum StoreDirectory {
    /// Creates missing directories of `path`, each with mode 0700 regardless of the umask.
    static func create(_ path: String) throws(LonghaulError) {
        if mkdir(path, 0o700) == 0 {
            guard chmod(path, 0o700) == 0 else {
                throw StoreFailure.system("set the mode of", path, errno: errno)
            }
            return
        }
        switch errno {
        case EEXIST:
            return
        case ENOENT:
            guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex
            else {
                throw StoreFailure.system("create", path, errno: ENOENT)
            }
            try create(String(path[..<slash]))
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw StoreFailure.system("create", path, errno: errno)
            }
            guard chmod(path, 0o700) == 0 else {
                throw StoreFailure.system("set the mode of", path, errno: errno)
            }
        default:
            throw StoreFailure.system("create", path, errno: errno)
        }
    }

    /// The `f_type` of Btrfs (linux/magic.h).
    static let btrfs = 0x9123_683E

    /// Files made in the directory from now on are overwritten in place. Btrfs otherwise allocates
    /// another block for each page that is written again. On a full disk a write to memory shared
    /// through such a file (the log's index) would then end the process (SIGBUS). A failure of this
    /// call is ignored.
    static func keepInPlace(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { _ = Glibc.close(descriptor) }
        // FS_IOC_GETFLAGS and FS_IOC_SETFLAGS of linux/fs.h. They take an int, although their
        // numbers say long.
        let (asking, telling) = (UInt(0x8008_6601), UInt(0x4008_6602))
        let isInPlace: Int32 = 0x0080_0000
        var flags: Int32 = 0
        guard ioctl(descriptor, asking, &flags) == 0, flags & isInPlace == 0 else { return }
        flags |= isInPlace
        _ = ioctl(descriptor, telling, &flags)
    }

    static func check(_ path: String) throws(LonghaulError) {
        guard let status = FileStatus.of(path, followingLinks: true) else {
            throw StoreFailure.system("use", path, errno: errno)
        }
        guard status.isDirectory else {
            throw StoreFailure.unavailable(
                "\(path) is not a directory; set LONGHAUL_HOME to one that is, or move it away")
        }
        try checkOwnership(path, status, fix: "chmod 700")
    }

    static func checkFile(_ path: String, _ status: FileStatus) throws(LonghaulError) {
        guard status.isRegular else {
            throw StoreFailure.unavailable(
                "\(path) is not a regular file"
                    + (status.isSymbolicLink ? " but a symbolic link" : "")
                    + "; move it away; the queue must lie in its directory itself")
        }
        try checkOwnership(path, status, fix: "chmod 600")
    }

    /// The first file of the store that is unusable, and why. SQLite does not say which of its
    /// files it cannot open.
    static func hindrance(in location: StoreLocation) -> LonghaulError? {
        for path in location.files {
            guard let status = FileStatus.of(path) else {
                guard let failure = FileStatus.failure(path) else { continue }
                return StoreFailure.system("use", path, errno: failure)
            }
            do throws(LonghaulError) { try checkFile(path, status) } catch { return error }
            if geteuid() != 0, let closed = closedToOwner(path) { return closed }
        }
        return nil
    }

    /// The user owns the file and has no permission to read or to write it.
    static func closedToOwner(_ path: String) -> LonghaulError? {
        guard let status = FileStatus.of(path), status.isRegular, status.owner == geteuid(),
            status.permissions & 0o600 != 0o600
        else { return nil }
        return StoreFailure.unavailable(
            "\(path) cannot be read and written by its owner (mode"
                + " \(String(status.permissions, radix: 8))); run `longhaul doctor --repair`")
    }

    private static func checkOwnership(
        _ path: String, _ status: FileStatus, fix: String
    ) throws(LonghaulError) {
        let user = geteuid()
        guard status.owner == user else {
            throw StoreFailure.unavailable(
                "\(path) belongs to user \(status.owner) and you are user \(user); a user who can"
                    + " write the queue can make longhaul write files: use the queue as its owner,"
                    + " or set LONGHAUL_HOME to a directory of your own")
        }
        guard status.permissions & 0o022 == 0 else {
            throw StoreFailure.unavailable(
                "\(path) can be written by others (mode \(String(status.permissions, radix: 8)));"
                    + " run: \(fix) '\(path)'")
        }
    }

    /// Creates an empty file with mode 0600, regardless of the umask. An existing file is left
    /// alone.
    static func createFile(_ path: String) throws(LonghaulError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return }
            throw StoreFailure.system("create", path, errno: errno)
        }
        defer { _ = Glibc.close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else {
            throw StoreFailure.system("set the mode of", path, errno: errno)
        }
    }
}
