internal import LonghaulCore

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// An SQLite file as pages, numbered from 1 (sqlite.org/fileformat2.html §1). Only ever a copy, or
/// a store that was made for its pages.
struct PageFile {
    static let pageSize = 4096

    let path: String
    private let descriptor: Int32
    let count: UInt32

    init(_ path: String) throws(LonghaulError) {
        descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw StoreFailure.system("open", path, errno: errno) }
        self.path = path
        count = UInt32(clamping: (FileStatus.of(path)?.size ?? 0) / Int64(Self.pageSize))
    }

    func close() {
        _ = Glibc.close(descriptor)
    }

    func page(_ number: UInt32) throws(LonghaulError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.pageSize)
        guard pread(descriptor, &bytes, Self.pageSize, offset(of: number)) == Self.pageSize else {
            throw StoreFailure.system("read", path, errno: errno)
        }
        return bytes
    }

    func write(_ bytes: [UInt8], as number: UInt32) throws(LonghaulError) {
        let written = bytes.withUnsafeBytes {
            pwrite(descriptor, $0.baseAddress, $0.count, offset(of: number))
        }
        guard written == bytes.count else {
            throw StoreFailure.system("write", path, errno: written < 0 ? errno : ENOSPC)
        }
    }

    private func offset(of number: UInt32) -> off_t {
        (off_t(number) - 1) * off_t(Self.pageSize)
    }

    // MARK: - What pages say

    /// Marks the file as one without a write-ahead log (§1.3.3): opening it is cheaper then, and
    /// nothing but the file counts.
    func leaveLogging() throws(LonghaulError) {
        var first = try page(1)
        first[18] = 1
        first[19] = 1
        try write(first, as: 1)
    }

    /// Pages of the free list (§1.5): their content is out of date. A chain that makes no sense
    /// ends where it stops to.
    func freePages() throws(LonghaulError) -> Set<UInt32> {
        var free: Set<UInt32> = []
        var trunk = Self.number(try page(1), at: 32)
        while trunk > 1, trunk <= count, free.insert(trunk).inserted {
            let page = try page(trunk)
            let leaves = min(Int(Self.number(page, at: 4)), Self.pageSize / 4 - 2)
            for index in 0..<leaves { free.insert(Self.number(page, at: 8 + index * 4)) }
            trunk = Self.number(page, at: 0)
        }
        return free
    }

    /// Puts the pages of the schema of `template`, a new store, in place of the file's own, which
    /// cannot be read. A store is made by the same statements everywhere, so its tables begin at
    /// the same pages; those pages stay the file's.
    func graftSchema(from template: PageFile) throws(LonghaulError) {
        var first = try template.page(1)
        let children = Self.children(ofFirst: first)
        for number in children {
            try write(template.page(number), as: number)
        }
        // The file's size in pages, which may have ended before those, and no free pages (§1.3).
        Self.put(max(count, children.max() ?? 1), into: &first, at: 28)
        Self.put(0, into: &first, at: 32)
        Self.put(0, into: &first, at: 36)
        try write(first, as: 1)
    }

    /// Pages below an interior first page (§1.6): the cell pointers follow its 12-byte header, each
    /// cell starts with its child. None for a leaf.
    private static func children(ofFirst page: [UInt8]) -> [UInt32] {
        let header = 100
        guard page[header] == 0x05 else { return [] }
        let count = Int(page[header + 3]) << 8 | Int(page[header + 4])
        var result = [number(page, at: header + 8)]
        for cell in 0..<count {
            let pointer = header + 12 + cell * 2
            let start = Int(page[pointer]) << 8 | Int(page[pointer + 1])
            result.append(number(page, at: start))
        }
        return result
    }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func put(_ value: UInt32, into bytes: inout [UInt8], at offset: Int) {
        for index in 0..<4 {
            bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * index))
        }
    }
}
