internal import CLonghaul
internal import Glibc
package import LonghaulCore

/// What other processes may see of the progress board: how far an engine has got since its last
/// checkpoint.
package struct BoardReader: Sendable {
    /// One fetch as the board shows it now. Read without a lock: good for display, and for nothing
    /// else.
    package struct Live: Hashable, Sendable {
        package var written: [(generation: Int64, range: Range<Int64>)] = []
        package var received: Int64 = 0
        package var bytesPerSecond: Double = 0
        package var yielding: YieldReport?

        package static func == (left: Live, right: Live) -> Bool {
            left.received == right.received && left.bytesPerSecond == right.bytesPerSecond
                && left.written.map(\.range) == right.written.map(\.range)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(received)
        }
    }

    /// All fetches on the board of this state directory; empty when there is none of this boot.
    package static func live(in directory: String) -> [FetchID: Live] {
        let path = PathParts.join(directory, ProgressBoard.fileName)
        // O_NONBLOCK: a FIFO put there must not hold us up; reading it gives no board.
        let number = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { return [:] }
        defer { close(number) }
        var words = [UInt64](repeating: 0, count: BoardLayout.bytes / 8)
        let count = words.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, 0) }
        guard count == BoardLayout.bytes, words[BoardLayout.magicWord] == BoardLayout.magic,
            let boot = BootID.current, words[BoardLayout.bootWords.0] == boot.high,
            words[BoardLayout.bootWords.1] == boot.low
        else { return [:] }
        return read(words)
    }

    private static func read(_ words: [UInt64]) -> [FetchID: Live] {
        var found: [FetchID: Live] = [:]
        let stride = ProgressCell.size / 8
        for index in 1...BoardLayout.cellCount {
            func word(_ offset: Int) -> Int64 { Int64(bitPattern: words[index * stride + offset]) }
            let id = FetchID(rawValue: word(ProgressCell.fetch))
            guard id.rawValue > 0 else { continue }
            switch UInt64(bitPattern: word(ProgressCell.kind)) {
            case BoardLayout.segment:
                if let report = YieldReport(
                    packed: UInt64(bitPattern: word(ProgressCell.yielding)))
                {
                    found[id, default: Live()].yielding = report
                }
                let start = word(ProgressCell.start)
                let end = word(ProgressCell.written)
                guard start >= 0, end > start else { continue }
                found[id, default: Live()].written.append(
                    (word(ProgressCell.generation), start..<end))
            case BoardLayout.fetch:
                found[id, default: Live()].received = word(ProgressCell.received)
                found[id, default: Live()].bytesPerSecond = Double(word(ProgressCell.rate))
            default: continue
            }
        }
        return found
    }
}
