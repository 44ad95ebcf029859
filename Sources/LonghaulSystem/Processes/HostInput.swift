internal import CLonghaul
internal import Glibc

/// What a host is to read, in a file without a name: it may be of any length, and a host that never
/// reads keeps nobody waiting.
package final class HostInput {
    private let file: Descriptor
    private var buffer: [UInt8] = []
    private let path: String

    private static let bufferBytes = 256 << 10

    /// - Parameter home: the directory whose file system holds it.
    package init(in home: DirectoryHandle) throws(SystemFailure) {
        path = home.path
        file = Descriptor(
            owning: try check(lh_unnamed_file(home.descriptor), "open", home.path))
    }

    package func append(_ bytes: [UInt8]) throws(SystemFailure) {
        buffer += bytes
        if buffer.count >= Self.bufferBytes { try flush() }
    }

    private func flush() throws(SystemFailure) {
        var sent = 0
        while sent < buffer.count {
            let count = buffer.withUnsafeBytes { bytes in
                uninterrupted {
                    write(file.number, bytes.baseAddress! + sent, bytes.count - sent)
                }
            }
            if count < 0 { throw .last("write", path) }
            sent += count
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// From its beginning, and for reading only.
    func reopened() throws(SystemFailure) -> Descriptor {
        try flush()
        return Descriptor(
            owning: try check(
                lh_openat(AT_FDCWD, "/proc/self/fd/\(file.number)", O_RDONLY | O_CLOEXEC, 0),
                "open", path))
    }
}
