internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// Input for a host that is gathered before it is written.
private let hostBufferBytes = 256 << 10
/// A longer line is not an answer of the protocol.
private let hostLineBytes = 256 << 10

/// The standard input of a host, in a file without a name: it may have any length, and a host that
/// never reads does not block the engine.
package final class HostInput {
    private let file: Descriptor
    private var buffer: [UInt8] = []
    private let path: String

    /// - Parameter home: the directory whose file system holds it.
    package init(in home: DirectoryHandle) throws(SystemFailure) {
        path = home.path
        file = Descriptor(
            owning: try check(lh_unnamed_file(home.descriptor), "open", home.path))
    }

    package func append(_ bytes: [UInt8]) throws(SystemFailure) {
        buffer += bytes
        if buffer.count >= hostBufferBytes { try flush() }
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

    /// A read-only descriptor at the beginning of the file.
    func reopened() throws(SystemFailure) -> Descriptor {
        try flush()
        return Descriptor(
            owning: try check(
                lh_openat(AT_FDCWD, "/proc/self/fd/\(file.number)", O_RDONLY | O_CLOEXEC, 0),
                "open", path))
    }
}

/// The output of a host: its last bytes, and the lines of standard output. Memory is bounded,
/// however much the host writes.
struct HostOutput {
    private var kept: [UInt8] = []
    private var line: [UInt8] = []
    private var isLineTooLong = false
    private let limit: Int
    /// The number of all bytes received.
    private(set) var total: Int64 = 0

    init(keeping limit: Int) {
        self.limit = limit
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        total += Int64(bytes.count)
        kept += bytes
        // Trimmed only when it is four times too long, so that a trim costs little per byte.
        if kept.count > limit * 4 { kept.removeFirst(kept.count - limit) }
    }

    /// Standard output's lines that begin like a JSON object.
    mutating func lines(of bytes: UnsafeRawBufferPointer) -> [[UInt8]] {
        var found: [[UInt8]] = []
        for part in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        {
            if part.offset > 0 {
                if !isLineTooLong, line.first == UInt8(ascii: "{") { found.append(line) }
                line.removeAll(keepingCapacity: true)
                isLineTooLong = false
            }
            if line.count + part.element.count > hostLineBytes {
                isLineTooLong = true
            } else {
                line += part.element
            }
        }
        return found
    }

    /// The last line, if it has no line end.
    mutating func lastLine() -> [UInt8]? {
        defer { line.removeAll() }
        return !isLineTooLong && line.first == UInt8(ascii: "{") ? line : nil
    }

    /// The kept text, beginning at a whole character.
    var text: String {
        var tail = kept.suffix(limit)
        let isCut = total > Int64(tail.count)
        if isCut { tail = tail.drop { $0 & 0xC0 == 0x80 } }
        return (isCut ? "…" : "") + String(decoding: tail, as: UTF8.self)
    }
}
