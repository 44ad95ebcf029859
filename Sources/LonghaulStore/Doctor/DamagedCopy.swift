internal import LonghaulCore

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// A copy of a damaged file to work on, so that the original stays as it was found.
enum DamagedCopy {
    private static let blockSize = 1 << 20
    /// What one unreadable place of a failing disk costs.
    private static let sectorSize = 4096

    /// Copies the file and its log. What the disk will not give becomes zeros.
    static func make(of original: String, at path: String) throws(LonghaulError) {
        try copy(original, path)
        let log = original + "-wal"
        if FileStatus.of(log)?.isRegular == true { try copy(log, path + "-wal") }
    }

    private static func copy(_ original: String, _ path: String) throws(LonghaulError) {
        let source = try opened(original, O_RDONLY)
        defer { _ = Glibc.close(source) }
        let target = try opened(path, O_RDWR | O_CREAT | O_EXCL)
        defer { _ = Glibc.close(target) }
        let size = FileStatus.of(original)?.size ?? 0
        var buffer = [UInt8](repeating: 0, count: blockSize)
        var offset: Int64 = 0
        while offset < size {
            var count = pread(
                source, &buffer, Int(min(Int64(blockSize), size - offset)), off_t(offset))
            if count < 0 {
                let wanted = Int(min(Int64(sectorSize), size - offset))
                count = pread(source, &buffer, wanted, off_t(offset))
                if count < 0 {
                    buffer.replaceSubrange(0..<wanted, with: repeatElement(0, count: wanted))
                    count = wanted
                }
            }
            if count == 0 { return }
            try write(buffer[..<count], to: target, at: offset, path)
            offset += Int64(count)
        }
    }

    /// Gives a copy whose own schema cannot be read that of a new store.
    static func graft(from template: String, to path: String) throws(LonghaulError) {
        let source = try PageFile(template)
        defer { source.close() }
        let target = try PageFile(path)
        defer { target.close() }
        try target.graftSchema(from: source)
    }

    static func removeLog(of path: String) {
        _ = unlink(path + "-wal")
    }

    private static func opened(_ path: String, _ flags: Int32) throws(LonghaulError) -> Int32 {
        let descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw StoreFailure.system("open", path, errno: errno) }
        return descriptor
    }

    private static func write(
        _ bytes: ArraySlice<UInt8>, to descriptor: Int32, at offset: Int64, _ path: String
    ) throws(LonghaulError) {
        let count = bytes.withUnsafeBytes {
            pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset))
        }
        guard count == bytes.count else {
            throw StoreFailure.system("write", path, errno: count < 0 ? errno : ENOSPC)
        }
    }
}
