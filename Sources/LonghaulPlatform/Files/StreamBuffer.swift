internal import CLonghaul
internal import Glibc

/// Bytes between a thread that writes them at their places in a file, and one that reads them once.
/// In memory; what has been read is released.
package final class StreamBuffer: Sendable {
    private let file: Descriptor

    package init() throws(SystemFailure) {
        file = Descriptor(owning: try check(lh_memory_file(), "memfd_create", "stream"))
    }

    /// Valid as long as this object lives.
    package var descriptor: Int32 { file.number }

    /// The bytes from here to the end.
    package func read(from position: Int64) throws(SystemFailure) -> [UInt8] {
        let size = Int64(try stat.of(descriptor: file.number, path: "stream").st_size)
        if size <= position { return [] }
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(size - position)) { buffer, length in
            count = uninterrupted {
                pread(file.number, buffer.baseAddress, buffer.count, off_t(position))
            }
            length = max(0, count)
        }
        if count < 0 { throw .last("pread", "stream") }
        lh_release(file.number, position + Int64(count))
        return bytes
    }
}
