internal import LonghaulCore

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// Keeps other connections from writing to a store, and from opening it, while another file takes
/// its place. Connections that are already open may continue reading.
///
/// SQLite itself cannot take these locks if the file does not open. The byte ranges are SQLite's
/// (sqlite.org/fileformat2.html §1.7, sqlite.org/walformat.html §2.3.1). They are held as locks of
/// open file descriptions, so that closing another descriptor of the file does not drop them.
struct RepairHold: ~Copyable {
    /// PENDING: while it is held, no other connection begins to use the file.
    private static let pending = (start: 0x4000_0000, count: 1)
    /// SHARED, which every connection holds. While it is held, no connection is the last one, which
    /// would delete the log.
    private static let shared = (start: 0x4000_0002, count: 510)
    /// A lock of the log's index: the right to add to the log.
    private static let writing = (start: 120, count: 1)
    /// F_OFD_SETLK, which the C library's module does not show.
    private static let setLock: Int32 = 37

    private let database: Int32
    private let index: Int32

    init(_ location: StoreLocation) throws(LonghaulError) {
        let path = location.database
        let database = try Self.opened(path, 0)
        var index: Int32 = -1
        do throws(LonghaulError) {
            try Self.lock(database, F_WRLCK, Self.pending, path)
            try Self.lock(database, F_RDLCK, Self.shared, path)
            // The index is created here if it is missing. If another process created it after this,
            // two files would exist and only one would be locked.
            let indexPath = path + "-shm"
            if FileStatus.of(indexPath)?.isRegular != false {
                index = try Self.opened(indexPath, O_CREAT)
                try Self.lock(index, F_WRLCK, Self.writing, path)
            }
        } catch {
            if index >= 0 { _ = Glibc.close(index) }
            _ = Glibc.close(database)
            throw error
        }
        self.database = database
        self.index = index
    }

    deinit {
        if index >= 0 { _ = Glibc.close(index) }
        _ = Glibc.close(database)
    }

    private static func opened(_ path: String, _ flags: Int32) throws(LonghaulError) -> Int32 {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0o600)
        guard descriptor >= 0 else { throw StoreFailure.system("open", path, errno: errno) }
        return descriptor
    }

    private static func lock(
        _ descriptor: Int32, _ kind: Int32, _ bytes: (start: Int, count: Int), _ path: String
    ) throws(LonghaulError) {
        var range = Glibc.flock()
        range.l_type = Int16(kind)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = off_t(bytes.start)
        range.l_len = off_t(bytes.count)
        let patience = BusyHandler(seconds: Limits.busySeconds)
        var tries = 0
        while fcntl(descriptor, setLock, &range) != 0 {
            let code = errno
            guard code == EAGAIN || code == EACCES || code == EINTR else {
                throw StoreFailure.system("lock", path, errno: code)
            }
            guard patience.goesOn(after: tries) else { throw StoreFailure.locked(path) }
            tries += 1
        }
    }
}
