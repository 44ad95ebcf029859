internal import Glibc
package import LonghaulCore

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

    /// The length of the file, and when its content was last changed.
    package func facts() throws(SystemFailure) -> (size: Int64, changedAt: Timestamp) {
        let facts = try stat.of(descriptor: owner.number, path: path)
        let time = facts.st_mtim
        return (
            Int64(facts.st_size),
            Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
        )
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
