internal import LonghaulModel

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// Puts another file in the place of a damaged one. A crash at any point leaves the damaged file
/// with its log, the new one without, or no file beside the directory of the repair: then opening
/// refuses, and the next repair puts the damaged file back first.
enum FileSwap {
    /// The file is renamed before its log: a connection that is opening it finds that the path has
    /// changed, and writes nothing. The log is renamed because beside the new file it would be
    /// taken for that file's log.
    static func swap(
        _ location: StoreLocation, fresh: String, aside: String
    ) throws(LonghaulError) {
        do throws(LonghaulError) {
            for suffix in [""] + StoreLocation.companions {
                try move(location.database + suffix, to: aside + suffix)
            }
            guard rename(fresh, location.database) == 0 else {
                throw StoreFailure.system("put in place", fresh, errno: errno)
            }
        } catch {
            try? putBack(location, from: aside)
            throw error
        }
        try syncDirectory(location.directory)
    }

    /// Undoes a repair that was broken off before the new file was in place.
    static func putBack(_ location: StoreLocation) throws(LonghaulError) {
        let last = location.firstFreeNumber - 1
        guard last > 0, FileStatus.of(location.database) == nil,
            FileStatus.of(location.salvage) != nil
        else {
            return
        }
        try putBack(location, from: location.damaged(last))
    }

    /// The file comes last: until then this step can be repeated.
    private static func putBack(
        _ location: StoreLocation, from aside: String
    ) throws(LonghaulError) {
        for suffix in StoreLocation.companions + [""] {
            try move(aside + suffix, to: location.database + suffix)
        }
        try syncDirectory(location.directory)
    }

    private static func move(_ path: String, to target: String) throws(LonghaulError) {
        if rename(path, target) != 0, errno != ENOENT {
            throw StoreFailure.system("rename", path, errno: errno)
        }
    }

    static func sync(_ path: String) throws(LonghaulError) {
        try sync(path, O_NOFOLLOW)
    }

    static func syncDirectory(_ path: String) throws(LonghaulError) {
        try sync(path, O_DIRECTORY)
    }

    private static func sync(_ path: String, _ flag: Int32) throws(LonghaulError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | flag)
        guard descriptor >= 0 else { throw StoreFailure.system("open", path, errno: errno) }
        defer { _ = Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StoreFailure.system("sync", path, errno: errno) }
    }
}
