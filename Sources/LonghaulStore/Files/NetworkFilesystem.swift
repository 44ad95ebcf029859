#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// File systems whose locks and shared memory do not work between machines, by their `statfs` magic
/// number (linux/magic.h). FUSE is not among them: most FUSE file systems are local.
enum NetworkFilesystem {
    static let names: [Int: String] = [
        0x6969: "NFS",
        0x517B: "SMB",
        0xFF53_4D42: "CIFS",
        0xFE53_4D42: "SMB2",
        0x0102_1997: "9P",
        0x5346_414F: "AFS",
        0x6B41_4653: "AFS",
        0x00C3_6400: "Ceph",
        0x7375_7245: "Coda",
        0x564C: "NCP",
        0x0BD0_0BD0: "Lustre",
        0x4750_4653: "GPFS",
        0x7461_636F: "OCFS2",
        0x0116_1970: "GFS2",
    ]

    /// The `f_type` of the file system that holds `path`, as the 32 bits that the kernel means;
    /// `nil` when it is unknown.
    ///
    /// Swift's C library module leaves out <sys/statfs.h>, so the function is looked up by name.
    /// Only the first member of the structure is read: `f_type`, a word, on every 64-bit Linux.
    static func type(of path: String) -> Int? {
        typealias Function = @convention(c) (UnsafePointer<CChar>, UnsafeMutableRawPointer) -> CInt
        guard let address = dlsym(nil, "statfs") else { return nil }
        let statfs = unsafeBitCast(address, to: Function.self)
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { buffer in
            guard let start = buffer.baseAddress, statfs(path, start) == 0 else { return nil }
            return start.load(as: Int.self) & 0xFFFF_FFFF
        }
    }
}
