internal import LonghaulCore

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// A file beside the store that holds room on the disk for it. Even to be read the store needs a
/// log and its index; with the room that this file gives up, a disk that others have filled to the
/// last block still lets people see what there is, and cancel and remove what is too much.
final class ReserveFile: Sendable {
    private let location: StoreLocation
    private var path: String { location.spare }
    /// Touched by one thread at a time: who opens the store, then who closes it.
    private nonisolated(unsafe) var isGivenUp = false

    init(_ location: StoreLocation) {
        self.location = location
    }

    /// Whether so little is free that what SQLite needs may not fit.
    static func isShort(at path: String) -> Bool {
        free(at: path).map { $0 < Limits.reserveFileBytes } ?? false
    }

    /// Before the store is opened. Whoever else has it open has its index already, and a log with
    /// room: then nothing is given up.
    func giveUpIfShort() {
        guard Self.isShort(at: location.directory),
            FileStatus.of(location.database + "-shm") == nil
        else { return }
        giveUp()
    }

    /// Whether there is room now that was not there before.
    @discardableResult
    func giveUp() -> Bool {
        guard !isGivenUp, unlink(path) == 0 else { return false }
        isGivenUp = true
        commit()
        return true
    }

    /// After the store was opened: makes it where there is none and the disk has plenty.
    func keep() {
        if isGivenUp || FileStatus.of(path)?.size == Limits.reserveFileBytes { return }
        if let free = Self.free(at: location.directory), free >= Limits.reserveComfortBytes {
            make(Limits.reserveFileBytes)
        }
    }

    /// After the store was closed, whose log is gone. What comes back in pieces may hold a little
    /// less than it did, the list of its pieces being on the disk as well.
    func takeBack() {
        guard isGivenUp else { return }
        isGivenUp = false
        if make(Limits.reserveFileBytes) { return }
        commit()
        var bytes = Limits.reserveFileBytes
        while bytes >= Limits.reserveLeastFreeBytes, !make(bytes) {
            bytes -= Limits.reserveLeastFreeBytes / 2
        }
    }

    deinit { takeBack() }

    /// Btrfs has what was deleted to give only after its next commit (BTRFS_IOC_SYNC).
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
        // A umask may have taken bits away that the next one to make it needs.
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
