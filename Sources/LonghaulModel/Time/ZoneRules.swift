/// How far a time zone is ahead of UTC at each moment, by a file of the zone database (TZif,
/// RFC 9636) or the words of a `TZ` variable (POSIX.1-2024, 8.3). Pure.
package struct ZoneRules: Hashable, Sendable {
    /// Seconds since 1970, ascending.
    private var moments: [Int64] = []
    /// The offset from each of these moments on, in seconds.
    private var offsets: [Int] = []
    /// The offset before the first of them.
    private var first = 0

    /// No zone is further from UTC: RFC 9636 §3.2 has less than 26 hours.
    static let offsetMaximum = 26 * 3600
    /// Years with a computed zone rule; later ones have the last offset.
    private static let years = 1970...2200

    package static let utc = ZoneRules()

    private init() {}

    package func secondsFromUTC(_ time: Timestamp) -> Int {
        assert(moments.count == offsets.count, "each moment has its offset")
        let seconds = time.milliseconds.flooredDivision(by: 1000).quotient
        let later = (0..<moments.count).firstPast { moments[$0] <= seconds }
        return later == 0 ? first : offsets[later - 1]
    }

    /// Reads the words of a `TZ` variable that name no file, as `EST5EDT,M3.2.0,M11.1.0`; `nil` for
    /// anything else.
    package init?(posix text: String) {
        guard let rule = ZoneRule(text) else { return nil }
        first = rule.standard
        append(rule, after: .min)
    }

    /// Reads a file of the zone database; `nil` for another or a damaged file.
    package init?(file bytes: [UInt8]) {
        var reader = ZoneFileReader(bytes)
        guard let data = reader.data(),
            (data.offsets + [data.first]).allSatisfy({ abs($0) < ZoneRules.offsetMaximum }),
            zip(data.moments, data.moments.dropFirst()).allSatisfy({ $0 < $1 })
        else { return nil }
        moments = data.moments
        offsets = data.offsets
        first = data.first
        guard let text = reader.footer(), !text.isEmpty else { return }
        guard let rule = ZoneRule(text) else { return nil }
        if moments.isEmpty { first = rule.standard }
        append(rule, after: moments.last ?? .min)
    }

    private mutating func append(_ rule: ZoneRule, after last: Int64) {
        let changes = ZoneRules.years.flatMap { rule.changes(in: $0) }.sorted {
            ($0.moment, $0.isSummer ? 1 : 0) < ($1.moment, $1.isSummer ? 1 : 0)
        }
        for change in changes where change.moment > last {
            // Summer time all year ends and begins at one moment.
            if moments.last == change.moment {
                moments.removeLast()
                offsets.removeLast()
            }
            moments.append(change.moment)
            offsets.append(change.isSummer ? rule.summer?.offset ?? rule.standard : rule.standard)
        }
    }
}

/// Reads a TZif file: the data with 64-bit moments if present, else the data with 32 bits.
private struct ZoneFileReader {
    private let bytes: [UInt8]
    private var offset = 0
    private var hasFooter = false

    private static let headerBytes = 44

    struct Data {
        var moments: [Int64] = []
        var offsets: [Int] = []
        var first = 0
    }

    /// Counts of a header, in its order.
    private struct Counts {
        var utc = 0, standard = 0, leaps = 0, moments = 0, types = 0, characters = 0

        func bytes(perMoment width: Int) -> Int {
            moments * (width + 1) + types * 6 + characters + leaps * (width + 4) + standard + utc
        }
    }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func data() -> Data? {
        guard let counts = header() else { return nil }
        guard bytes[4] >= UInt8(ascii: "2") else { return block(counts, width: 4) }
        offset += counts.bytes(perMoment: 4)
        guard let wide = header() else { return nil }
        hasFooter = true
        return block(wide, width: 8)
    }

    /// The rule for moments after the data (RFC 9636 §3.3); `nil` = the file has no rule.
    func footer() -> String? {
        guard hasFooter, offset < bytes.count, bytes[offset] == UInt8(ascii: "\n") else {
            return nil
        }
        let text = bytes[(offset + 1)...].prefix { $0 != UInt8(ascii: "\n") }
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func header() -> Counts? {
        guard offset + Self.headerBytes <= bytes.count,
            bytes[offset...].starts(with: "TZif".utf8)
        else { return nil }
        let numbers = (0..<6).map { number(at: offset + 20 + $0 * 4, width: 4) }
        // No count of a real file comes near.
        guard numbers.allSatisfy({ (0...Int64(bytes.count)).contains($0) }) else { return nil }
        let counts = numbers.map(Int.init)
        offset += Self.headerBytes
        return Counts(
            utc: counts[0], standard: counts[1], leaps: counts[2], moments: counts[3],
            types: counts[4], characters: counts[5])
    }

    private mutating func block(_ counts: Counts, width: Int) -> Data? {
        guard counts.types > 0, offset + counts.bytes(perMoment: width) <= bytes.count else {
            return nil
        }
        let types = offset + counts.moments * width
        let records = types + counts.moments
        func offsetFromUTC(_ type: Int) -> Int { Int(number(at: records + type * 6, width: 4)) }
        var data = Data()
        data.first = offsetFromUTC(0)
        for index in 0..<counts.moments {
            let type = Int(bytes[types + index])
            guard type < counts.types else { return nil }
            data.moments.append(number(at: offset + index * width, width: width))
            data.offsets.append(offsetFromUTC(type))
        }
        offset += counts.bytes(perMoment: width)
        return data
    }

    /// A number with its sign, the highest byte first.
    private func number(at place: Int, width: Int) -> Int64 {
        let bits = bytes[place..<place + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return width == 4 ? Int64(Int32(truncatingIfNeeded: bits)) : Int64(bitPattern: bits)
    }
}
