internal import CLonghaul

/// What kind of file system a path is on, as far as locks and durability depend on it.
package enum FilesystemKind: Hashable, Sendable {
    case local
    /// tmpfs and its like: gone with the next boot.
    case memory
    /// Locks and mapped memory are not to be trusted between machines there; with its usual name.
    case network(String)

    /// - Parameter path: must exist. FUSE counts as local: it does not tell what is behind it.
    package static func of(_ path: String) throws(SystemFailure) -> FilesystemKind {
        kind(magic: try check(lh_filesystem_magic(path), "statfs", path))
    }

    /// The numbers are those of `linux/magic.h` and of the file systems' own sources (statfs(2)).
    static func kind(magic: Int64) -> FilesystemKind {
        switch magic {
        case 0x0102_1994, 0x8584_58F6: .memory
        case 0x6969: .network("NFS")
        case 0x517B: .network("SMB")
        case 0xFF53_4D42, 0xFE53_4D42: .network("CIFS")
        case 0x5346_414F, 0x6B41_4653: .network("AFS")
        case 0x00C3_6400: .network("Ceph")
        case 0x7375_7245: .network("Coda")
        case 0x564C: .network("NCP")
        case 0x0BD0_0BD0: .network("Lustre")
        case 0x4750_4653: .network("GPFS")
        default: .local
        }
    }
}
