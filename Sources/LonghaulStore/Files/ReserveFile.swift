internal import LonghaulModel

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// The index of the log takes 32 KiB; the rest is a log of some twenty changes.
private let reserveFileBytes: Int64 = 262_144
/// The index and a few changes.
private let reserveLeastFreeBytes: Int64 = 65_536
/// A disk with less than this free gets no such file.
private let reserveComfortBytes: Int64 = 8 * reserveFileBytes

/// A file beside the store that holds room on the disk. Even a read needs a log and its index. When
/// other programs have filled the disk, this file is deleted, and `list`, `cancel` and `remove`
/// work in the room that it held.
final class ReserveFile: Sendable {
    private let location: StoreLocation
    private var path: String { location.spare }
    /// Used by one thread at a time: first the one that opens the store, then the one that closes
    /// it.
    private nonisolated(unsafe) var isGivenUp = false

    init(_ location: StoreLocation) {
        self.location = location
    }

    /// True if the free space may be too small for SQLite's files.
    static func isShort(at path: String) -> Bool {
        free(at: path).map { $0 < reserveFileBytes } ?? false
    }

    /// Called before the store is opened. An index that is there already belongs to an open
    /// connection, which has room in its log: then the file stays.
    func giveUpIfShort() {
        guard Self.isShort(at: location.directory),
            FileStatus.of(location.database + "-shm") == nil
        else { return }
        giveUp()
    }

    /// Returns whether deleting the file has made room.
    @discardableResult
    func giveUp() -> Bool {
        guard !isGivenUp, unlink(path) == 0 else { return false }
        isGivenUp = true
        commit()
        return true
    }

    /// Called after the store was opened. Creates the file if it is missing and the disk has plenty
    /// of room.
    func keep() {
        if isGivenUp || FileStatus.of(path)?.size == reserveFileBytes { return }
        if let free = Self.free(at: location.directory), free >= reserveComfortBytes {
            make(reserveFileBytes)
        }
    }

    /// Called after the store was closed and its log deleted. The file may become smaller than
    /// before: its list of extents needs room too.
    func takeBack() {
        guard isGivenUp else { return }
        isGivenUp = false
        if make(reserveFileBytes) { return }
        commit()
        var bytes = reserveFileBytes
        while bytes >= reserveLeastFreeBytes, !make(bytes) {
            bytes -= reserveLeastFreeBytes / 2
        }
    }

    deinit { takeBack() }

    /// Btrfs frees deleted blocks only with its next commit (BTRFS_IOC_SYNC).
    private func commit() {
        let descriptor = open(location.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = ioctl(descriptor, UInt(0x9408))
        close(descriptor)
    }

    @discardableResult
    private func make(_ bytes: Int64) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // A umask may have removed permissions that a later process needs.
        if fchmod(descriptor, 0o600) == 0, posix_fallocate(descriptor, 0, off_t(bytes)) == 0 {
            return true
        }
        unlink(path)
        return false
    }

    static func free(at path: String) -> Int64? {
        var facts = statvfs()
        guard statvfs(path, &facts) == 0 else { return nil }
        let (bytes, overflows) = UInt64(facts.f_bavail).multipliedReportingOverflow(
            by: UInt64(facts.f_frsize))
        return overflows ? .max : Int64(clamping: bytes)
    }
}
