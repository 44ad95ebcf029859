import Foundation

/// The file at one moment: before or after the change that `changeafter` demands.
package struct Representation: Sendable, Equatable {
    package var oracle: ByteOracle
    package var size: Int
    /// The entity tag as it stands in the header, quotes and `W/` included.
    package var etag: String?
    /// Seconds since 1970.
    package var lastModified: Int?

    /// The file as the `number`th request (from 1) for this URL gets it.
    package init(_ knobs: Knobs, request number: Int) {
        let changed = knobs.changeafter.map { number > $0 } ?? false
        let isOther = knobs.othertagat == number || (knobs.othertags && number % 2 == 0)
        let suffix = changed ? "-changed" : isOther ? "-other" : ""
        oracle = ByteOracle(seed: UInt64(knobs.seed) &+ (changed ? 1 : 0))
        size = changed ? knobs.changesize ?? knobs.size : knobs.size
        if let strong = knobs.etag {
            etag = "\"\(strong)\(suffix)\""
        } else if let weak = knobs.weak {
            etag = "W/\"\(weak)\(suffix)\""
        }
        lastModified = knobs.lastmod.map { changed ? $0 + 3600 : $0 }
        if knobs.newnames {
            etag = knobs.etag.map { "\"\($0)-\(number)\"" }
            lastModified = knobs.lastmod.map { $0 + number }
        }
    }

    /// A file that need not come from the server.
    package init(
        size: Int, seed: UInt64 = 0, etag: String? = nil, lastModified: Int? = nil
    ) {
        oracle = ByteOracle(seed: seed)
        self.size = size
        self.etag = etag
        self.lastModified = lastModified
    }

    /// The whole content; for small files.
    package var bytes: [UInt8] { oracle.bytes(0..<size) }

    /// In lower-case hexadecimal.
    package var sha256: String { oracle.sha256(length: size) }

    /// Whether `If-Range` holds (RFC 9110 §13.1.5): strong comparison for an entity tag, an exact
    /// match for a date, and a date only where it is strong, that is at least a second older than
    /// the answer (§8.8.2.2).
    func matches(ifRange value: String, now: Int) -> Bool {
        if value.hasPrefix("\"") { return value == etag }
        guard !value.hasPrefix("W/"), let lastModified, now - lastModified >= 1 else {
            return false
        }
        return value == HTTPDate.format(lastModified)
    }

    /// The value of a `Repr-Digest` or `Content-Digest` field (RFC 9530) over the range.
    func digestField(of range: Range<Int>, false lie: Bool) -> String {
        var digest = oracle.sha256(range)
        if lie { digest[0] ^= 0xFF }
        return "sha-256=:\(Data(digest).base64EncodedString()):"
    }
}
