internal import LonghaulModel

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// How long an opener waits while another process makes or migrates the store.
private let openLockSeconds: Double = 30
private let openLockPauseMicroseconds: UInt32 = 5_000

/// The lock under which a store is created, migrated and repaired. The kernel owns it, so it cannot
/// go stale, and no child inherits it.
struct OpenLock: ~Copyable {
    private let descriptor: Int32

    /// Waits up to half a minute for another holder: the migration of a large store may take that
    /// long.
    init(_ path: String) throws(LonghaulError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw StoreFailure.system("open", path, errno: errno) }
        var waited: Double = 0
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            guard code == EWOULDBLOCK || code == EINTR else {
                _ = Glibc.close(descriptor)
                throw StoreFailure.system("lock", path, errno: code)
            }
            guard waited < openLockSeconds else {
                _ = Glibc.close(descriptor)
                throw StoreFailure.unavailable(
                    "another process has been creating or upgrading the queue for"
                        + " \(Int(waited)) s (\(path) is locked); try again", retryable: true)
            }
            usleep(openLockPauseMicroseconds)
            waited += Double(openLockPauseMicroseconds) / 1e6
        }
        // A umask may have removed permissions that the next opener needs.
        _ = fchmod(descriptor, 0o600)
        self.descriptor = descriptor
    }

    deinit {
        _ = Glibc.close(descriptor)
    }
}
