/// Lines that nobody has taken yet, up to a bound; of those beyond it only their number is kept.
struct UnreadLines {
    static let bytesMax = 64 << 10
    /// So many at once (PIPE_BUF).
    static let chunkBytes = 4096

    private var bytes: [UInt8] = []
    private var lost = 0

    mutating func append(_ line: String) {
        if lost > 0 || bytes.count + line.utf8.count > UnreadLines.bytesMax, !bytes.isEmpty {
            lost += 1
        } else {
            bytes += line.utf8
        }
    }

    /// What is to be written now; `nil` = nothing.
    var next: ArraySlice<UInt8>? {
        bytes.isEmpty ? nil : bytes.prefix(UnreadLines.chunkBytes)
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
