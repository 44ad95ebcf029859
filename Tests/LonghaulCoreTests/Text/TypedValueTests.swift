import LonghaulCore
import Testing

@Suite struct SizeTextTests {
    @Test(
        arguments: [
            ("0", 0), ("1", 1), ("123456789", 123_456_789), ("10B", 10),
            ("10K", 10_240), ("10k", 10_240), ("10KiB", 10_240), ("10KB", 10_000), ("10kb", 10_000),
            ("10M", 10_485_760), ("10MB", 10_000_000), ("2G", 2_147_483_648),
            ("2GB", 2_000_000_000),
            ("1T", 1_099_511_627_776), ("1TB", 1_000_000_000_000), ("1.5G", 1_610_612_736),
            ("0.5K", 512), ("1.25MB", 1_250_000), ("9223372036854775807", .max),
        ] as [(String, Int64)])
    func parsed(text: String, bytes: Int64) {
        #expect(SizeText.parse(text) == bytes)
    }

    @Test(arguments: [
        "", "K", "-1", "+1", " 1", "1 ", "1 K", "10X", "10KK", "10Kb/s", "1.5", "1.K", ".5K", "1e3",
        "0x10", "9223372036854775808", "99999999999T", "1.1234567G", "１０",
    ])
    func refused(text: String) {
        #expect(SizeText.parse(text) == nil)
    }
}

@Suite struct DurationTextTests {
    @Test(arguments: [
        ("90s", 90.0), ("15m", 900), ("2h", 7200), ("7d", 604_800), ("2h30m", 9000), ("0s", 0),
        ("1d12h", 129_600), ("1h1m1s", 3661), ("100m", 6000), ("250ms", 0.25), ("1.5h", 5400),
    ])
    func parsed(text: String, seconds: Double) {
        #expect(DurationText.parse(text) == seconds)
    }

    @Test(arguments: [
        "", "90", "s", "-1s", "+1s", ".5h", "1.h", "1.2.3h", "1h ", "1H", "30m2h", "1h1h", "1h30",
        "h1", "1y", "2w", "99999999999999999999s", "9999999d", "１h",
    ])
    func refused(text: String) {
        #expect(DurationText.parse(text) == nil)
    }
}

@Suite struct RFC3339Tests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2023-11-14T22:13:20Z", 1_700_000_000_000),
            ("2023-11-14T22:13:20.5Z", 1_700_000_000_500),
            ("2023-11-14T22:13:20.123456789Z", 1_700_000_000_123),
            ("2023-11-14t22:13:20z", 1_700_000_000_000),
            ("2023-11-14 22:13:20Z", 1_700_000_000_000),
            ("2023-11-15T00:13:20+02:00", 1_700_000_000_000),
            ("2023-11-14T16:43:20-05:30", 1_700_000_000_000),
            ("1969-12-31T23:59:59.999Z", -1),
        ] as [(String, Int64)])
    func parsed(text: String, milliseconds: Int64) {
        #expect(RFC3339.parse(text) == Timestamp(milliseconds: milliseconds))
    }

    @Test(arguments: [
        "", "2023-11-14", "2023-11-14T22:13:20", "2023-11-14T22:13Z", "2023-13-14T22:13:20Z",
        "2023-02-29T22:13:20Z", "2023-11-14T24:00:00Z", "2023-11-14T22:13:20.Z",
        "2023-11-14T22:13:20+0200", "2023-11-14T22:13:20+24:00", "2023-11-14T22:13:20Zx",
        "20231114T221320Z", "+023-11-14T22:13:20Z", "2023-11-14T22:13:20 Z",
        "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01",
    ])
    func refused(text: String) {
        #expect(RFC3339.parse(text) == nil)
    }

    @Test(arguments: [
        (Int64(0), "1970-01-01T00:00:00.000Z"), (1_700_000_000_007, "2023-11-14T22:13:20.007Z"),
        (-1, "1969-12-31T23:59:59.999Z"), (253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
    ])
    func formatted(milliseconds: Int64, text: String) {
        #expect(RFC3339.format(Timestamp(milliseconds: milliseconds)) == text)
    }

    @Test(arguments: 0..<10) func thereAndBack(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<1000 {
            let time = Timestamp(
                milliseconds: Int64.random(in: 0...253_402_300_799_999, using: &random))
            #expect(RFC3339.parse(RFC3339.format(time)) == time, "seed \(seed)")
        }
    }
}

@Suite struct MomentTextTests {
    // 2024-03-30 12:00:00 UTC, the day before Europe's clocks go forward at 01:00 UTC.
    private let spring = Timestamp(milliseconds: 1_711_800_000_000)
    // 2024-10-26 12:00:00 UTC, the day before they go back at 01:00 UTC.
    private let autumn = Timestamp(milliseconds: 1_729_944_000_000)

    private func berlin(_ time: Timestamp) -> Int {
        let changes = (
            Timestamp(milliseconds: 1_711_846_800_000), Timestamp(milliseconds: 1_729_990_800_000)
        )
        return time >= changes.0 && time < changes.1 ? 7200 : 3600
    }

    private func parse(_ text: String, now: Timestamp) -> String? {
        MomentText.parse(text, now: now, secondsFromUTC: berlin).map(RFC3339.format)
    }

    @Test(arguments: [
        ("now", "2024-03-30T12:00:00.000Z"),
        ("+2h30m", "2024-03-30T14:30:00.000Z"),
        ("+0s", "2024-03-30T12:00:00.000Z"),
        ("13:00", "2024-03-30T12:00:00.000Z"),
        ("13:01", "2024-03-30T12:01:00.000Z"),
        ("12:59", "2024-03-31T10:59:00.000Z"),
        ("01:30", "2024-03-31T00:30:00.000Z"),
        ("02:30", "2024-03-31T01:30:00.000Z"),
        ("03:30", "2024-03-31T01:30:00.000Z"),
        ("00:00", "2024-03-30T23:00:00.000Z"),
        ("2030-01-31T22:00:00Z", "2030-01-31T22:00:00.000Z"),
        ("2030-01-31", "2030-01-30T23:00:00.000Z"),
        ("2030-01-31 22:00", "2030-01-31T21:00:00.000Z"),
        ("2024-03-31 03:30", "2024-03-31T01:30:00.000Z"),
        ("tomorrow", "2024-03-30T23:00:00.000Z"),
        ("tomorrow 08:15", "2024-03-31T06:15:00.000Z"),
    ])
    func beforeSpring(text: String, moment: String) {
        #expect(parse(text, now: spring) == moment)
    }

    @Test(arguments: [
        ("02:30", "2024-10-27T00:30:00.000Z"),
        ("03:00", "2024-10-27T02:00:00.000Z"),
        ("14:00", "2024-10-26T12:00:00.000Z"),
        ("13:59", "2024-10-27T12:59:00.000Z"),
    ])
    func beforeAutumn(text: String, moment: String) {
        #expect(parse(text, now: autumn) == moment)
    }

    @Test(arguments: [
        "", "24:00", "12:60", "1:00", "12:00:00", "+", "+2", "-2h", "Tomorrow", "Now", "tomorrow ",
        "tomorrow 8:15", "2030-02-30", "2030-01-31 24:00", "2030-01-31  22:00", "30-01-31",
    ])
    func refused(text: String) {
        #expect(parse(text, now: spring) == nil)
    }
}

@Suite struct ChecksumTextTests {
    private static let sha1 = "da39a3ee5e6b4b0d3255bfef95601890afd80709"

    @Test(arguments: [
        "sha1:\(sha1)", "SHA1:\(sha1)", "sha-1:\(sha1)", "sha-1=\(sha1)",
        "sha1:\(sha1.uppercased())",
    ])
    func parsed(text: String) {
        #expect(Checksum(parsing: text) == Checksum(algorithm: .sha1, hex: Self.sha1))
    }

    @Test(arguments: [
        "", "sha1", "sha1:", sha1, "sha256:\(sha1)", "sha1:\(sha1)0", "sha1:\(sha1.dropLast())g",
        "crc32:00000000", "sha1: \(sha1)", ":\(sha1)",
    ])
    func refused(text: String) {
        #expect(Checksum(parsing: text) == nil)
    }

    @Test func everyAlgorithmThereAndBack() {
        for algorithm in Checksum.Algorithm.allCases {
            let hex = String(repeating: "a0", count: algorithm.byteCount)
            let checksum = Checksum(algorithm: algorithm, hex: hex)
            #expect(Checksum(parsing: checksum.description) == checksum)
        }
    }
}

@Suite struct HeaderTextTests {
    @Test(arguments: [
        ("Accept: image/*", "Accept", "image/*"), ("X-A:b", "X-A", "b"), ("X-A:", "X-A", ""),
        ("X-A: \t b c \t", "X-A", "b c"), ("A!#$%&'*+.^_`|~1: x", "A!#$%&'*+.^_`|~1", "x"),
        ("X: a:b", "X", "a:b"), ("X: ü", "X", "ü"),
    ])
    func parsed(text: String, name: String, value: String) throws {
        let field = try HeaderFields.Field(parsing: text)
        #expect(field == HeaderFields.Field(name: name, value: value))
    }

    @Test(arguments: [
        ("", HeaderProblem.noColon), ("Accept", .noColon), (": x", .badName), ("A B: x", .badName),
        (" A: x", .badName), ("A : x", .badName), ("Ü: x", .badName), ("A\r: x", .badName),
        ("A: x\r\nB: y", .badValue), ("A: x\ny", .badValue), ("A: \u{0}", .badValue),
        ("A: \u{1B}", .badValue), ("A: \u{7F}", .badValue), ("Range: bytes=0-", .reserved("Range")),
        ("if-range: x", .reserved("if-range")), ("Content-Length: 1", .reserved("Content-Length")),
    ])
    func refused(text: String, problem: HeaderProblem) {
        #expect(throws: problem) { try HeaderFields.Field(parsing: text) }
        #expect(!problem.description.isEmpty)
    }
}
