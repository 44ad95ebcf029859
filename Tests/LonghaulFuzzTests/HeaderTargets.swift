@testable import LonghaulCore
@testable import LonghaulModel
@testable import LonghaulTransport

let headerTargets: [FuzzTarget] = [
    FuzzTarget("head", head),
    FuzzTarget("disposition", text: disposition),
    FuzzTarget("digest", text: digest),
    FuzzTarget("date", text: date),
    FuzzTarget("range", text: range),
]

/// The lines of a head. No wait is longer than a day, no length is negative.
private func head(_ bytes: [UInt8]) throws {
    let head = ResponseHead(
        status: 200, headers: bytes.withUnsafeBytes { HeadBlock.fields(of: $0) },
        effectiveURL: "https://h/f", receivedAt: fuzzNow)
    let fields = head.headers
    let day = Limits.retryAfterMaximumSeconds
    try check((0...day).contains(fields.retryAfter(now: fuzzNow) ?? 0), "Retry-After")
    try check((0...day).contains(fields.rateLimitPause), "RateLimit")
    if case .bytes(let length) = fields.contentLength { try check(length >= 0, "Content-Length") }
    if case .bytes(let range, let total)? = head.contentRange {
        try check(!range.isEmpty && range.upperBound <= total ?? .max, "Content-Range")
    }
    let validator = Validator(head)
    try check(validator.length ?? 0 >= 0, "a negative length")
    try checkRoundTrip(validator, Validator(head))
    _ = (fields.contentCoding, fields.foreignTransferCoding, fields.offersByteRanges)
    _ = fields.forElsewhere(at: "https://other/f")
    for field in fields.fields {
        let shown = Redaction.value(field.value, ofField: field.name)
        try check(
            Redaction.value(shown, ofField: field.name) == shown, "\(shown) has more to redact")
    }
}

/// A server's name for a file is a name in the directory and nowhere else.
private func disposition(_ value: String) throws {
    guard let name = ContentDisposition.fileName(value) else { return }
    guard let safe = FileNaming.sanitised(name) else { return }
    try checkName(safe)
}

func checkName(_ name: String) throws {
    try check(!name.isEmpty && name != "." && name != "..", "'\(name)' is no name")
    try check(name.utf8.count <= Limits.fileNameBytes, "the name is too long")
    try check(
        !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 < 0x20 || $0 == 0x7F },
        "\(Array(name.utf8)) is no name in one directory")
    try check(name.utf8.first != UInt8(ascii: "."), "'\(name)' is hidden")
    try check(TerminalText.shown(name) == name, "'\(name)' is not shown as written")
}

private func digest(_ text: String) throws {
    if let checksum = DigestField.checksum(text) {
        guard let stored = DigestField.stored(checksum) else {
            throw Broken(description: "\(checksum) cannot be stored")
        }
        try checkRoundTrip(checksum, DigestField.checksum(stored))
    }
    if let checksum = Checksum(parsing: text) {
        try checkRoundTrip(checksum, Checksum(parsing: checksum.description))
    }
    if let tag = EntityTag(text) {
        try check(tag.text == text && tag.matchesWeakly(tag), "\(text) is another tag")
    }
}

private func date(_ text: String) throws {
    if let time = HTTPDate.parse(text, now: fuzzNow) {
        // Two spellings have no year 10000.
        if (0..<Timestamp.distantFuture.milliseconds).contains(time.milliseconds) {
            try checkRoundTrip(time, HTTPDate.parse(HTTPDate.format(time), now: fuzzNow))
        }
    }
    if let time = RFC3339.parse(text) {
        try checkRoundTrip(time, RFC3339.parse(RFC3339.format(time)))
    }
}

private func range(_ text: String) throws {
    if let ranges = ByteRanges(stored: text) {
        try check(ranges.count >= 0, "a negative count")
        var inserted = ByteRanges()
        for range in ranges.ranges { inserted.insert(range) }
        try checkRoundTrip(ranges, inserted)
        try checkRoundTrip(ranges, ByteRanges(stored: ranges.description))
        try check(
            ranges.gaps(upTo: ranges.ranges.last?.upperBound ?? 0).count
                == max(
                    0, ranges.ranges.count - (ranges.prefix > 0 ? 1 : 0)), "the gaps")
    }
    if let size = SizeText.parse(text) { try check(size >= 0, "a negative size") }
}

/// 2026-11-29T08:00:00Z.
let fuzzNow = Timestamp(milliseconds: 1_795_939_200_000)
