internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// The progress board as other processes see it: an engine's progress since its last checkpoint.
package struct BoardReader: Sendable {
    /// A fetch as the board shows it now. It is read without a lock, so it serves for display only.
    package struct Live: Hashable, Sendable {
        package var written: [(generation: Int64, range: Range<Int64>)] = []
        /// Ranges of the file that an upload's requests have sent.
        package var sent: [(generation: Int64, range: Range<Int64>)] = []
        /// See ``ProgressCell/checked``.
        package var checked: Int64 = 0
        /// See ``ProgressCell/counted``.
        package var received: Int64 = 0
        package var bytesPerSecond: Double = 0
        /// Requests under way.
        package var requests = 0
        package var yielding: YieldReport?

        package static func == (left: Live, right: Live) -> Bool {
            left.received == right.received && left.bytesPerSecond == right.bytesPerSecond
                && left.written.map(\.range) == right.written.map(\.range)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(received)
        }
    }

    /// All fetches on the board of this state directory; empty if there is no board of this boot.
    package static func live(in directory: String) -> [FetchID: Live] {
        words(in: directory).map(read) ?? [:]
    }

    /// Ranges written by the requests of a fetch, for programs that read those bytes.
    ///
    /// An engine may give a cell to another request between two words of one read: the words would
    /// be of two requests. So the board is read twice, and a cell counts only if it belongs to the
    /// same request both times, with the lower end of the two.
    package static func written(
        of fetch: FetchID, in directory: String
    ) -> [(generation: Int64, range: Range<Int64>)] {
        guard let before = words(in: directory), let after = words(in: directory) else { return [] }
        return written(of: fetch, before, after)
    }

    static func written(
        of fetch: FetchID, _ before: [UInt64], _ after: [UInt64]
    ) -> [(generation: Int64, range: Range<Int64>)] {
        let names = [
            ProgressCell.fetch, ProgressCell.kind, ProgressCell.generation, ProgressCell.start,
        ]
        return (1...BoardLayout.cellCount).compactMap { index in
            let base = index * ProgressCell.size / 8
            func word(_ words: [UInt64], _ offset: Int) -> Int64 {
                Int64(bitPattern: words[base + offset])
            }
            guard word(after, ProgressCell.fetch) == fetch.rawValue,
                names.allSatisfy({ word(before, $0) == word(after, $0) }),
                word(after, ProgressCell.kind) == Int64(bitPattern: BoardLayout.segment)
            else { return nil }
            let start = word(after, ProgressCell.start)
            let end = min(word(before, ProgressCell.written), word(after, ProgressCell.written))
            guard start >= 0, end > start else { return nil }
            return (word(after, ProgressCell.generation), start..<end)
        }
    }

    /// `nil` = there is no board of this boot.
    private static func words(in directory: String) -> [UInt64]? {
        let path = PathParts.join(directory, ProgressBoard.fileName)
        // O_NONBLOCK: opening a FIFO put there must not block; reading from it yields no board.
        let number = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { return nil }
        defer { close(number) }
        let words = [UInt64](unsafeUninitializedCapacity: BoardLayout.bytes / 8) { buffer, filled in
            let count = pread(number, buffer.baseAddress, BoardLayout.bytes, 0)
            filled = count == BoardLayout.bytes ? BoardLayout.bytes / 8 : 0
        }
        guard !words.isEmpty, words[BoardLayout.magicWord] == BoardLayout.magic,
            let boot = BootID.current, words[BoardLayout.bootWords.0] == boot.high,
            words[BoardLayout.bootWords.1] == boot.low
        else { return nil }
        return words
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
                let generation = word(ProgressCell.generation)
                guard start >= 0 else { continue }
                found[id, default: Live()].requests += 1
                func range(_ end: Int64) -> [(Int64, Range<Int64>)] {
                    end > start ? [(generation, start..<end)] : []
                }
                found[id, default: Live()].written += range(word(ProgressCell.written))
                found[id, default: Live()].sent += range(
                    start.addingClamped(word(ProgressCell.received)))
            case BoardLayout.fetch:
                found[id, default: Live()].received = word(ProgressCell.counted)
                found[id, default: Live()].checked = word(ProgressCell.checked)
                found[id, default: Live()].bytesPerSecond = Double(word(ProgressCell.rate))
            default: continue
            }
        }
        return found
    }
}

/// The layout of the board's file: a header the size of a cell, then the cells.
enum BoardLayout {
    /// Raised whenever the meaning of a word changes; a board with another version is not read.
    static let version: UInt64 = 2
    /// `LHBOARD` and the version, as one number.
    static let magic: UInt64 = 0x4C48_424F_4152_4400 | version

    static let bytes = 128 * 1024
    /// Cells for segments and fetches together.
    static let cellCount = bytes / ProgressCell.size - 1

    // Words of the header.
    static let magicWord = 0
    static let bootWords = (1, 2)

    // Values of a cell's kind.
    static let segment: UInt64 = 1
    static let fetch: UInt64 = 2

    static func cell(_ index: Int, of base: UInt) -> UInt {
        base + UInt(ProgressCell.size * (index + 1))
    }

    static func word(_ index: Int, of cell: UInt) -> UInt {
        cell + UInt(8 * index)
    }
}

/// The content of one cell when its engine ended in this same boot: bytes that are in the kernel's
/// page cache, but in no checkpoint.
///
/// All numbers are absolute, so that committing them twice does no harm.
package struct Leftover: Hashable, Sendable {
    package enum Kind: Hashable, Sendable { case segment, fetch }

    package var fetch: FetchID
    /// To be compared with the fetch's own: bytes of an older generation are invalid.
    package var generation: Int64
    /// File offset of the segment's first write.
    package var start: Int64
    /// File offset after its last byte; `start` if it wrote none.
    package var written: Int64
    /// Body bytes received: by this request (segment) or ever (fetch).
    package var received: Int64
    package var kind: Kind
    /// The mount that the part file was opened through (fetch), see ``FileFacts/mount``.
    package var mount: UInt64

    package init(
        fetch: FetchID, generation: Int64, start: Int64, written: Int64, received: Int64,
        kind: Kind, mount: UInt64 = 0
    ) {
        self.fetch = fetch
        self.generation = generation
        self.start = start
        self.written = written
        self.received = received
        self.kind = kind
        self.mount = mount
    }
}
