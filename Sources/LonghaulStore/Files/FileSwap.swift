internal import LonghaulCore

#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// How another file takes the place of a damaged one. A crash at any point leaves the damaged file
/// with its log, or the new one without.
enum FileSwap {
    /// The damaged file gets a second name first. Its log is renamed next, because beside the new
    /// file it would be taken for that file's log. Then one rename gives the new file the first
    /// name. A file with both names is a repair that was broken off: opening refuses it, and the
    /// next repair puts the log back.
    static func swap(
        _ location: StoreLocation, fresh: String, aside: String
    ) throws(LonghaulError) {
        guard link(location.database, aside) == 0 else {
            throw StoreFailure.system("make a second name for", location.database, errno: errno)
        }
        do throws(LonghaulError) {
            for suffix in StoreLocation.companions {
                let path = location.database + suffix
                if rename(path, aside + suffix) != 0, errno != ENOENT {
                    throw StoreFailure.system("move aside", path, errno: errno)
                }
            }
            guard rename(fresh, location.database) == 0 else {
                throw StoreFailure.system("put in place", fresh, errno: errno)
            }
        } catch {
            try? putBack(location)
            throw error
        }
        try syncDirectory(location.directory)
    }

    /// The second name of the store's file during a repair; usually `nil`.
    static func brokenOff(_ location: StoreLocation, _ status: FileStatus) -> String? {
        guard status.links > 1 else { return nil }
        var number = 1
        while isTaken(location.damaged(number)) {
            let aside = location.damaged(number)
            if FileStatus.of(aside)?.identity == status.identity { return aside }
            number += 1
        }
        return nil
    }

    /// Undoes a repair that was broken off.
    static func putBack(_ location: StoreLocation) throws(LonghaulError) {
        guard let status = FileStatus.of(location.database),
            let aside = brokenOff(location, status)
        else { return }
        for suffix in StoreLocation.companions {
            let path = location.database + suffix
            guard FileStatus.of(path) == nil else { continue }
            if rename(aside + suffix, path) != 0, errno != ENOENT {
                throw StoreFailure.system("put back", aside + suffix, errno: errno)
            }
        }
        // The second name is removed last: until then this step can be repeated.
        guard unlink(aside) == 0 else { throw StoreFailure.system("remove", aside, errno: errno) }
        try syncDirectory(location.directory)
    }

    static func isTaken(_ path: String) -> Bool {
        ([""] + StoreLocation.companions).contains { FileStatus.of(path + $0) != nil }
    }

    static func sync(_ path: String) throws(LonghaulError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw StoreFailure.system("open", path, errno: errno) }
        defer { _ = Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StoreFailure.system("sync", path, errno: errno) }
    }

    static func syncDirectory(_ path: String) throws(LonghaulError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreFailure.system("open", path, errno: errno) }
        defer { _ = Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StoreFailure.system("sync", path, errno: errno) }
    }
}
