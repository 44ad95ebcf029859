internal import Glibc

/// A file that belongs to nobody once its content was handed over.
package enum SpooledFile {
    /// Deletes it; one that is gone already is as good.
    package static func remove(_ path: String) {
        _ = unlink(path)
    }
}
