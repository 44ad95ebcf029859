internal import Glibc
internal import LonghaulModel
internal import Synchronization

/// Lines for standard error that are not written yet.
private let unreadLineBytes = 64 << 10
/// The bytes of one write (PIPE_BUF).
private let pipeWriteBytes = 4096

/// Standard error of this process, for whole lines per call. An engine's own thread writes the
/// lines and must not block: a stopped terminal (Ctrl-S), a pager, or a pipe whose reader hangs
/// would stop every transfer and the renewal of the lease.
package enum StandardError {
    private struct State {
        var log: BoundedLog?
        var waiting = UnreadLines()
    }

    private static let state = Mutex(State())

    /// If standard error is this file, its size is bounded from now on.
    package static func keepSmall(_ path: String) {
        let descriptors = BoundedLog.leading(to: path, of: [2, 1])
        guard descriptors.first == 2 else { return }
        state.withLock { $0.log = BoundedLog(path, descriptors: descriptors) }
    }

    /// Returns at once. While the reader does not read, some lines are kept until the next call and
    /// further ones are counted. Lines that cannot be written are lost: there is no other place to
    /// report them.
    package static func write(_ text: String) {
        state.withLock { state in
            state.log?.makeRoom(for: text.utf8.count)
            state.waiting.append(text)
            flush(&state.waiting)
        }
    }

    private static func flush(_ lines: inout UnreadLines) {
        while let chunk = lines.next {
            guard CommandStream.isWritable(2) else { return }
            let count = chunk.withUnsafeBytes { bytes in
                uninterrupted { Glibc.write(2, bytes.baseAddress, bytes.count) }
            }
            if count <= 0 { return lines.removeAll() }
            lines.remove(count)
        }
    }

    /// True if standard error is connected to the journal (systemd.exec(5), `$JOURNAL_STREAM`). The
    /// variable alone is not enough: processes with a redirected standard error inherit it, too.
    package static func isJournal(environment: [String: String]) -> Bool {
        guard let stream = environment["JOURNAL_STREAM"] else { return false }
        var facts = stat()
        guard fstat(2, &facts) == 0 else { return false }
        return stream == "\(facts.st_dev):\(facts.st_ino)"
    }
}

/// Lines that are not written yet, up to a bound; further lines are only counted.
struct UnreadLines {
    private var bytes: [UInt8] = []
    private var lost = 0

    mutating func append(_ line: String) {
        if lost > 0 || bytes.count + line.utf8.count > unreadLineBytes, !bytes.isEmpty {
            lost += 1
        } else {
            bytes += line.utf8
        }
    }

    /// The bytes to write now; `nil` = none.
    var next: ArraySlice<UInt8>? {
        bytes.isEmpty ? nil : bytes.prefix(pipeWriteBytes)
    }

    mutating func remove(_ count: Int) {
        bytes.removeFirst(min(count, bytes.count))
        guard bytes.isEmpty, lost > 0 else { return }
        bytes += "longhaul: \(lost) lines of the log are missing: nobody read them\n".utf8
        lost = 0
    }

    mutating func removeAll() {
        bytes = []
        lost = 0
    }
}
