internal import LonghaulModel

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// The first hundred bytes of an SQLite file (sqlite.org/fileformat2.html §1.3), read before SQLite
/// touches the file: opening a database in WAL mode may write, and a store of a newer version must
/// stay untouched.
struct FileHeader {
    enum Content {
        /// Nothing was ever committed to it.
        case empty
        case sqlite(FileHeader)
        case other
    }

    var userVersion: Int
    var applicationID: Int

    static let size = 100

    static func read(_ path: String) throws(LonghaulError) -> Content {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw StoreFailure.system("open", path, errno: errno) }
        defer { _ = Glibc.close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: size)
        let count = pread(descriptor, &bytes, size, 0)
        guard count >= 0 else { throw StoreFailure.system("read", path, errno: errno) }
        if count == 0 { return .empty }
        guard count == size, bytes.starts(with: Array("SQLite format 3\0".utf8)) else {
            return .other
        }
        return .sqlite(
            FileHeader(userVersion: number(bytes, at: 60), applicationID: number(bytes, at: 68)))
    }

    private static func number(_ bytes: [UInt8], at offset: Int) -> Int {
        Int(
            Int32(
                bitPattern: bytes[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }))
    }
}
