internal import CSQLite
internal import LonghaulModel

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// Errors of a store, with advice. The code is always `storeUnavailable`, except for bugs.
enum StoreFailure {
    static func unavailable(_ message: String, retryable: Bool = false) -> LonghaulError {
        LonghaulError(.storeUnavailable, message, retryable: retryable)
    }

    /// A failed system call on a file or directory of the store.
    static func system(_ what: String, _ path: String, errno code: Int32) -> LonghaulError {
        let reason = String(cString: strerror(code))
        let start = "cannot \(what) \(path): \(reason)"
        switch code {
        case EACCES, EPERM:
            if let closed = StoreDirectory.closedToOwner(path) { return closed }
            return unavailable(
                "\(start); the directory must belong to you and be writable;"
                    + " set LONGHAUL_HOME to another one, or correct its owner and mode")
        case ENOSPC, EDQUOT:
            return unavailable("\(start); free some space and try again", retryable: true)
        case EROFS:
            return unavailable("\(start); set LONGHAUL_HOME to a directory that can be written")
        default:
            return unavailable(start, retryable: code == EINTR || code == EAGAIN)
        }
    }

    static func superseded(_ path: String) -> LonghaulError {
        unavailable(
            "the queue \(path) was repaired or replaced meanwhile; nothing was recorded;"
                + " try again", retryable: true)
    }

    static func wentAway(_ path: String) -> LonghaulError {
        unavailable("\(path) went away while it was opened; try again", retryable: true)
    }

    static func locked(_ path: String) -> LonghaulError {
        unavailable(
            "another process has kept \(path) locked for \(Int(Limits.busySeconds)) s;"
                + " nothing was recorded; try again; `longhaul doctor` says whether one was"
                + " stopped",
            retryable: true)
    }

    static func damaged(_ path: String, _ detail: String) -> LonghaulError {
        unavailable(
            "the queue \(path) \(damagedWords) (\(detail)); run `longhaul doctor --repair`:"
                + " it moves the file aside and puts the daily copy in its place")
    }

    private static let damagedWords = "is damaged"

    /// True if moving the file aside would help.
    static func isDamage(_ error: LonghaulError) -> Bool {
        error.code == .storeUnavailable && error.message.contains("\(damagedWords) (")
    }

    static func newer(_ path: String, version: Int, known: Int) -> LonghaulError {
        unavailable(
            "the queue \(path) \(newerWords) (its version is \(version), longhaul"
                + " \(LonghaulVersion.current) knows \(known)) and is left as it is; use the newer"
                + " longhaul; `list`, `show` and `status` read the queue")
    }

    private static let newerWords = "was written by a newer version of longhaul"

    static func isNewer(_ error: LonghaulError) -> Bool {
        error.code == .storeUnavailable && error.message.contains(" \(newerWords) (")
    }

    static func anothers(_ path: String) -> LonghaulError {
        unavailable(
            "\(path) is a database of another program and is left as it is;"
                + " set LONGHAUL_HOME to another directory")
    }

    static func unreleased(_ path: String) -> LonghaulError {
        unavailable(
            "the queue \(path) was written by a build of longhaul from before its first release,"
                + " whose tables were others, and is left as it is; finish what it holds with that"
                + " build, or move the file away to begin with an empty queue")
    }

    private static func readOnly(_ path: String, _ detail: String) -> LonghaulError {
        unavailable(
            "\(path) cannot be written (\(detail)): the file or its file system is read-only;"
                + " set LONGHAUL_HOME to a directory that can be written")
    }

    private static func unopened(
        _ path: String, _ detail: String, _ code: Int32
    ) -> LonghaulError {
        // On a read-only file system the log cannot be created.
        if code == SQLITE_READONLY || (access(path, W_OK) != 0 && errno == EROFS) {
            return readOnly(path, detail)
        }
        return unavailable(
            "\(path) cannot be opened (\(detail)); the directory must belong to you and be"
                + " writable; set LONGHAUL_HOME to another one, or correct its owner and mode")
    }

    static func full(_ path: String) -> LonghaulError {
        unavailable(
            "the disk that holds \(path) \(fullWords); nothing was recorded;"
                + " free some space and try again", retryable: true)
    }

    private static let fullWords = "is full"

    static func isFull(_ error: LonghaulError) -> Bool {
        error.code == .storeUnavailable && error.message.contains(" \(fullWords);")
    }

    private static func failing(_ path: String, _ detail: String) -> LonghaulError {
        unavailable(
            "reading or writing \(path) failed (\(detail)); look at the system log for errors of"
                + " the disk, and whether a file may be so large (`ulimit -f`)", retryable: true)
    }

    /// A file system that has shut down may still serve cached data, which SQLite cannot use. The
    /// directory is checked, because closing the file itself would drop SQLite's locks (fcntl(2)).
    private static func diskFailure(at path: String) -> LonghaulError? {
        if let failure = FileStatus.failure(path) { return system("use", path, errno: failure) }
        let directory = StoreLocation(database: path).directory
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let failure = descriptor >= 0 && fsync(descriptor) == 0 ? 0 : errno
        if descriptor >= 0 { close(descriptor) }
        // EUCLEAN: "structure needs cleaning".
        guard failure == EIO || failure == EUCLEAN else { return nil }
        return failing(path, String(cString: strerror(failure)))
    }

    /// SQLite does not report this cause.
    private static var noDescriptorIsLeft: Bool {
        let descriptor = open("/", O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { return errno == EMFILE || errno == ENFILE }
        close(descriptor)
        return false
    }

    /// Any error of a database call. `LonghaulError` passes through.
    static func translate(_ error: any Error, path: String) -> LonghaulError {
        if let error = error as? LonghaulError { return error }
        guard let error = error as? SQLiteError else {
            return LonghaulError(.internal, "the queue \(path): \(error)")
        }
        let detail = error.message
        switch error.code {
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT:
            return diskFailure(at: path) ?? damaged(path, detail)
        // The header has an unknown schema format.
        case SQLITE_ERROR where detail.contains("unsupported file format"):
            return damaged(path, detail)
        case SQLITE_FULL: return full(path)
        // SQLite's error when it cannot make the index of its log.
        case SQLITE_IOERR
        where error.extendedCode == SQLiteError.noRoomForIndex || ReserveFile.isShort(at: path):
            return full(path)
        case SQLITE_BUSY, SQLITE_LOCKED:
            return locked(path)
        case SQLITE_CANTOPEN where noDescriptorIsLeft:
            return unavailable(
                "\(path) cannot be opened: this process has as many files open as it may"
                    + " (`ulimit -n`); allow it more", retryable: true)
        case SQLITE_CANTOPEN where ReserveFile.isShort(at: path): return full(path)
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
            return StoreDirectory.hindrance(in: StoreLocation(database: path))
                ?? unopened(path, detail, error.code)
        case SQLITE_IOERR:
            return failing(path, "\(detail), code \(error.extendedCode)")
        case SQLITE_NOMEM:
            return unavailable("not enough memory to use \(path)", retryable: true)
        default:
            return LonghaulError(.internal, "the queue \(path): \(error)")
        }
    }
}
