import LonghaulCore

/// What a version of the remote file is. Its bytes are not made: where they go is what matters.
struct SimVersion: Hashable {
    var number: Int
    var length: Int64
    var etag: String?
    var lastModified: String?
}

/// A server with the faults of servers: drawn from the seed, kept for a run.
struct SimServer {
    var version: SimVersion
    var ranges = true
    var honoursIfRange = true
    var sendsLength = true
    /// Leaves the validators out of a 206.
    var baresPartials = false
    /// Answers 206 with no more than so many bytes.
    var partialBytes: Int64?
    /// Refuses more requests than so many at a time.
    var connections = Int.max
    /// Parts of 10 in which an answer is a 503.
    var busy = 0
    var strong = true

    static func random(using random: inout SeededRandom) -> SimServer {
        func odds(_ parts: Int, _ random: inout SeededRandom) -> Bool {
            Int.random(in: 0..<10, using: &random) < parts
        }
        var server = SimServer(
            version: SimVersion(number: 0, length: Int64.random(in: 0...60_000_000, using: &random))
        )
        server.ranges = odds(8, &random)
        server.honoursIfRange = odds(8, &random)
        server.sendsLength = odds(8, &random)
        server.baresPartials = odds(2, &random)
        if odds(2, &random) {
            server.partialBytes = Int64.random(in: 1...9_000_000, using: &random)
        }
        if odds(2, &random) { server.connections = Int.random(in: 1...3, using: &random) }
        server.busy = odds(3, &random) ? 2 : 0
        server.strong = odds(7, &random)
        server.change(using: &random)
        return server
    }

    /// Puts another file in the place of the present one.
    mutating func change(using random: inout SeededRandom) {
        version.number += 1
        if Bool.random(using: &random) {
            version.length = Int64.random(in: 0...60_000_000, using: &random)
        }
        version.etag = strong ? "\"v\(version.number)\"" : nil
        let time = receivedAt + Double(version.number * 60 - 100_000)
        version.lastModified = HTTPDate.format(time)
    }

    /// The answer, and which bytes of the present version its body has.
    func answer(
        _ order: SegmentAsk, open: Int, using random: inout SeededRandom
    ) -> (head: ResponseHead, body: Range<Int64>) {
        if open > connections { return (head(403), 0..<0) }
        if Int.random(in: 0..<10, using: &random) < busy { return (head(503), 0..<0) }
        let request = order.ask.headers
        if ranges, let field = request["Range"], ifRangeHolds(request["If-Range"]) {
            let ends = field.dropFirst("bytes=".count).split(
                separator: "-", omittingEmptySubsequences: false)
            let first = Int64(ends[0]) ?? 0
            guard first < version.length else {
                return (head(416, "Content-Range: bytes */\(version.length)"), 0..<0)
            }
            var end = min(Int64(ends[1]).map { $0 + 1 } ?? .max, version.length)
            if let partialBytes { end = min(end, first + partialBytes) }
            var answer = head(
                206, "Content-Range: bytes \(first)-\(end - 1)/\(version.length)",
                "Content-Length: \(end - first)")
            if !baresPartials { addValidators(&answer) }
            return (answer, first..<end)
        }
        var answer = head(200)
        if ranges { answer.headers.append(name: "Accept-Ranges", value: "bytes") }
        if sendsLength {
            answer.headers.append(name: "Content-Length", value: "\(version.length)")
        }
        addValidators(&answer)
        return (answer, 0..<version.length)
    }

    private func ifRangeHolds(_ value: String?) -> Bool {
        guard let value, honoursIfRange else { return true }
        return value == version.etag || value == version.lastModified
    }

    private func addValidators(_ head: inout ResponseHead) {
        if let etag = version.etag { head.headers.append(name: "ETag", value: etag) }
        if let date = version.lastModified {
            head.headers.append(name: "Last-Modified", value: date)
            head.headers.append(name: "Date", value: HTTPDate.format(receivedAt))
        }
    }
}

/// A part file that remembers of which version each byte is, and what of it would survive a power
/// cut.
struct SimFile: Equatable {
    private(set) var pieces: [(range: Range<Int64>, version: Int)] = []

    var size: Int64 { pieces.map(\.range.upperBound).max() ?? 0 }

    mutating func write(_ range: Range<Int64>, version: Int) {
        if range.isEmpty { return }
        var result: [(range: Range<Int64>, version: Int)] = []
        for piece in pieces {
            let before =
                piece.range
                .lowerBound..<min(piece.range.upperBound, range.lowerBound)
                .clamped(from: piece.range.lowerBound)
            let after =
                max(piece.range.lowerBound, range.upperBound)
                .clamped(to: piece.range.upperBound)..<piece.range.upperBound
            if !before.isEmpty { result.append((before, piece.version)) }
            if !after.isEmpty { result.append((after, piece.version)) }
        }
        result.append((range, version))
        pieces = result.sorted { $0.range.lowerBound < $1.range.lowerBound }
    }

    mutating func truncate(to size: Int64) {
        pieces = pieces.compactMap { piece in
            let end = min(piece.range.upperBound, size)
            return end > piece.range.lowerBound
                ? (piece.range.lowerBound..<end, piece.version) : nil
        }
    }

    /// Everything that the other does not hold alike is void.
    mutating func spoil(outside durable: SimFile?) {
        let before = durable ?? SimFile()
        var result = SimFile()
        result.write(0..<size, version: -2)
        for piece in before.pieces where piece.range.lowerBound < size {
            let range = piece.range.lowerBound..<Swift.min(piece.range.upperBound, size)
            if versions(in: range) == [piece.version] {
                result.write(range, version: piece.version)
            }
        }
        self = result
    }

    /// Versions of the bytes in a range; -1 for a hole, -2 for what a failed sync left.
    func versions(in range: Range<Int64>) -> Set<Int> {
        var found: Set<Int> = []
        var position = range.lowerBound
        for piece in pieces where piece.range.overlaps(range) {
            if piece.range.lowerBound > position { found.insert(-1) }
            found.insert(piece.version)
            position = max(position, piece.range.upperBound)
        }
        if position < range.upperBound { found.insert(-1) }
        return found
    }

    static func == (left: SimFile, right: SimFile) -> Bool {
        left.pieces.map(\.range) == right.pieces.map(\.range)
            && left.pieces.map(\.version) == right.pieces.map(\.version)
    }
}

extension Int64 {
    fileprivate func clamped(from least: Int64) -> Int64 { Swift.max(self, least) }
    fileprivate func clamped(to most: Int64) -> Int64 { Swift.min(self, most) }
}
