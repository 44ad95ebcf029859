internal import Glibc
package import LonghaulModel

/// A file that is read while, or after, an engine writes it.
package final class ReadableFile: Sendable {
    private let owner: Descriptor
    private let path: String

    /// Follows no link at the name, and waits for no writer of a pipe.
    package init(_ path: String) throws(SystemFailure) {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if number < 0 { throw .last("open", path) }
        owner = Descriptor(owning: number)
        self.path = path
        guard try stat.of(descriptor: number, path: path).isRegular else {
            throw SystemFailure(operation: "open", path: path, errno: EINVAL)
        }
        posix_fadvise(number, 0, 0, POSIX_FADV_SEQUENTIAL)
    }

    /// Facts about a file at one moment.
    package struct Facts: Hashable, Sendable {
        package var size: Int64
        /// When its content was last changed.
        package var changedAt: Timestamp
        /// The file has a name: it was not deleted.
        package var isLinked: Bool
    }

    package func facts() throws(SystemFailure) -> Facts {
        let facts = try stat.of(descriptor: owner.number, path: path)
        let time = facts.st_mtim
        return Facts(
            size: Int64(facts.st_size),
            changedAt: Timestamp(
                milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000),
            isLinked: facts.st_nlink > 0)
    }

    /// The path at which the open file lies now, without links; `nil` = unknown.
    package var realPath: String? {
        guard let found = realpath("/proc/self/fd/\(owner.number)", nil) else { return nil }
        defer { free(found) }
        return String(validatingCString: found)
    }

    /// Returns the number of bytes read; 0 at the end of the file.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemFailure) -> Int {
        while true {
            let count = pread(owner.number, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            if errno != EINTR { throw .last("read", path) }
        }
    }
}
