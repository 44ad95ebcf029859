internal import LonghaulCore

extension StoreDoctor {
    /// A smaller store is not worth it.
    private static let leastFreePages: Int64 = 1_000

    /// Gives back to the disk what a store is no longer in need of, if that is most of its file:
    /// SQLite uses it again, and never gives it back by itself. Returns how many bytes that were;
    /// 0 where it is not worth it, where the disk has no room for the copy that it takes, and where
    /// others write for longer than a moment.
    static func shrink(_ store: Store) throws(LonghaulError) -> Int64 {
        let size: (pages: Int64, free: Int64, page: Int64) = try store.access { connection in
            func number(_ name: String) throws -> Int64 {
                try connection.first("PRAGMA \(name)") { $0.int64(0) } ?? 0
            }
            return (
                try number("page_count"), try number("freelist_count"), try number("page_size")
            )
        }
        guard size.free >= leastFreePages, size.free > size.pages / 2 else { return 0 }
        do {
            try store.access { connection in
                try connection.run("VACUUM")
                try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
            }
        } catch {
            // It is as it was.
            return 0
        }
        return size.free * size.page
    }
}
