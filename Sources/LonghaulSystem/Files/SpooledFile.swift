internal import CLonghaul
internal import Glibc

/// A file that belongs to nobody once its content was handed over.
package enum SpooledFile {
    /// Deletes it; one that is gone already is as good.
    package static func remove(_ path: String) {
        _ = unlink(path)
    }

    /// One without a name, which is gone with its descriptor; in memory where the directory's file
    /// system has no such files.
    ///
    /// - Returns: the descriptor, the caller's to close.
    package static func unnamed(in directory: String) throws(SystemFailure) -> Int32 {
        let home = try DirectoryHandle(opening: directory)
        return try check(lh_unnamed_file(home.descriptor), "open", directory)
    }
}
