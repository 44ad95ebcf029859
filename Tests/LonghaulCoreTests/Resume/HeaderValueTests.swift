import LonghaulCore
import Testing

@Suite struct HeaderValueTests {
    @Test(arguments: [
        ("bytes 0-99/200", ContentRange.bytes(0..<100, total: 200)),
        ("bytes 100-199/200", .bytes(100..<200, total: 200)),
        ("BYTES 5-5/*", .bytes(5..<6, total: nil)),
        ("bytes */200", .unsatisfied(total: 200)),
        ("bytes */0", .unsatisfied(total: 0)),
        ("bytes 0-9223372036854775806/9223372036854775807", .bytes(0..<Int64.max, total: .max)),
    ])
    func contentRange(text: String, range: ContentRange) {
        #expect(ContentRange(text) == range)
    }

    /// A signed URL's signature is for its own server (RFC 9110 §10.1.3).
    @Test(
        arguments: [
            ("https://a/p?X-Amz-Signature=1#f", "https://b/", "https://a/p"),
            ("http://u:p@a/p?x", "http://b/", "http://a/p"),
            ("http://a/", "https://b/", "http://a/"),
            ("https://a/p", "http://b/", nil), ("HTTPS://a/p", "ftp://b/", nil),
            ("https://a/p?x", nil, "https://a/p"),
            ("https://a/u:p@?x", "https://b/", "https://a/u:p@"),
            ("/page?token=1", "https://b/", "/page"), ("u:p@a/x", "https://b/", nil),
            ("", "https://b/", ""),
        ] as [(String, String?, String?)])
    func aRefererForAnotherOrigin(value: String, url: String?, sent: String?) {
        let fields = HeaderFields([
            .init(name: "referer", value: value), .init(name: "Authorization", value: "x"),
        ])
        let elsewhere = fields.forElsewhere(at: url)
        #expect(elsewhere["Referer"] == sent && !elsewhere.contains("Authorization"))
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes 0-99", "bytes: 0-99/200", "bytes=0-99/200", "0-99/200",
        "items 0-99/200", "bytes 99-0/200", "bytes 0-200/200", "bytes 0-99/50", "bytes -99/200",
        "bytes 0-/200", "bytes +0-99/200", "bytes 0-99/200/300", "bytes  0-99/200",
        "bytes 0-99/ 200", "bytes 0-99/200 ", "bytes */*", "bytes 0x0-0x9/10",
        "bytes 0-99,100-199/200",
        "bytes 0-9223372036854775807/*", "bytes 0-99999999999999999999/*",
    ])
    func noContentRange(text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test(arguments: [
        ([], HeaderFields.Length.absent),
        (["42"], .bytes(42)),
        (["42", "42"], .bytes(42)),
        (["42, 42"], .bytes(42)),
        ([" 42 "], .bytes(42)),
        (["42", "43"], .invalid),
        (["42, 43"], .invalid),
        (["-1"], .invalid),
        (["+1"], .invalid),
        (["1.5"], .invalid),
        ([""], .invalid),
        (["9223372036854775807"], .bytes(.max)),
        (["9223372036854775808"], .beyondFiles),
        (["99999999999999999999, 99999999999999999999"], .beyondFiles),
        (["42", "99999999999999999999"], .invalid),
        (["99999999999999999999x"], .invalid),
    ])
    func contentLength(values: [String], length: HeaderFields.Length) {
        var headers = HeaderFields()
        for value in values { headers.append(name: "content-LENGTH", value: value) }
        #expect(headers.contentLength == length)
    }

    @Test(arguments: [
        ("\"a\"", true), ("\"\"", true), ("\"a:b/!~\"", true), ("W/\"a\"", false),
        ("W/\"\"", false),
    ])
    func entityTag(text: String, isStrong: Bool) {
        #expect(EntityTag(text)?.isStrong == isStrong)
    }

    @Test(arguments: [
        "", "a", "\"", "\"a", "a\"", "w/\"a\"", "W/a", "\"a\"b\"", "\"a b\"", "\"a\u{7F}\"",
        "\"ü\"",
        "\"\u{FFFD}\"", "W/ \"a\"", "'a'",
    ])
    func noEntityTag(text: String) {
        #expect(EntityTag(text) == nil)
    }

    /// The four pairs of RFC 9110 §8.8.3.2.
    @Test(arguments: [
        ("W/\"1\"", "W/\"1\"", false, true),
        ("W/\"1\"", "W/\"2\"", false, false),
        ("W/\"1\"", "\"1\"", false, true),
        ("\"1\"", "\"1\"", true, true),
    ])
    func tagComparison(left: String, right: String, strong: Bool, weak: Bool) throws {
        let (left, right) = (try #require(EntityTag(left)), try #require(EntityTag(right)))
        #expect(left.matchesStrongly(right) == strong)
        #expect(left.matchesWeakly(right) == weak)
    }

    @Test(
        arguments: [
            ("120", 120.0), ("0", 0), ("86400", 86_400), ("86401", 86_400),
            ("99999999999999999999999", 86_400),
            ("Tue, 14 Nov 2023 22:14:20 GMT", 60),
            ("Tue, 14 Nov 2023 22:13:00 GMT", 0),
            ("Tue, 14 Nov 2033 22:13:00 GMT", 86_400),
            ("-1", nil), ("1.5", nil), ("soon", nil), ("", nil), ("10s", nil),
        ] as [(String, Double?)])
    func retryAfter(text: String, seconds: Double?) {
        var headers = HeaderFields()
        headers["Retry-After"] = text
        #expect(headers.retryAfter(now: receivedAt) == seconds)
    }

    /// A server whose clock is wrong means the time between its own two dates.
    @Test(
        arguments: [
            ("Tue, 14 Nov 2023 22:14:20 GMT", "Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
            ("Sat, 01 Jan 2000 00:05:00 GMT", "Sat, 01 Jan 2000 00:00:00 GMT", 300),
            ("Fri, 01 Jan 2100 00:01:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT", 60),
            ("Sat, 01 Jan 2000 00:00:00 GMT", "Sat, 01 Jan 2000 00:05:00 GMT", 0),
            ("Tue, 14 Nov 2023 22:14:20 GMT", "soon", 60),
            ("90", "Sat, 01 Jan 2000 00:00:00 GMT", 90),
        ] as [(String, String, Double)])
    func retryAfterByTheServersClock(text: String, date: String, seconds: Double) {
        var headers = HeaderFields()
        headers["Retry-After"] = text
        headers["Date"] = date
        #expect(headers.retryAfter(now: receivedAt) == seconds)
    }

    @Test(
        arguments: [
            (#""default";r=50;t=30"#, "", 0.0, nil), (#""resolvers";r=0;t=87"#, "", 87, 87),
            ("default; r=0; t=5", "", 5, 5), (#""a";r=4;t=10"#, "", 2, nil),
            (#""a";r=0;t=9, "b";r=0;t=60"#, "", 60, 60), (#""a";r=0"#, #""a";q=9;w=70"#, 70, 70),
            (#""a";r=0;t=9"#, #""a";q=9;qu="content-bytes""#, 0, nil), (#""a";r=0"#, "", 0, nil),
            (#""a";r=0;t=86400"#, "", 86_400, 86_400), (#""a";r=0;t=1700000060"#, "", 0, nil),
            (#""a";r=4;t=900000"#, "", 0, nil), (#""a";r=0;t=86401"#, #""a";q=9;w=70"#, 0, nil),
            (#""a";r=-1;t=9"#, "", 0, nil),
            ("limit=100, remaining=0, reset=9", "", 0, nil), ("", "", 0, nil),
        ] as [(String, String, Double, Double?)])
    func rateLimits(text: String, policy: String, pause: Double, wait: Double?) {
        var headers = HeaderFields()
        headers["RateLimit"] = text
        headers["RateLimit-Policy"] = policy
        #expect(headers.rateLimitPause == pause)
        #expect(headers.retryAfter(now: receivedAt) == wait)
        headers["Retry-After"] = "20"
        #expect(headers.retryAfter(now: receivedAt) == max(20, wait ?? 0))
    }

    @Test func copiesThatDisagreeSayNothing() {
        let twice = head(200, "ETag: \"a\"", "ETag: \"b\"", "Retry-After: 1", "Retry-After: 2")
        #expect(twice.headers.single("etag") == nil)
        #expect(twice.headers.retryAfter(now: receivedAt) == nil)
        #expect(head(200, "ETag: \"a\"", "etag: \"a\"").headers.single("ETag") == "\"a\"")
    }

    @Test func contentCoding() {
        #expect(head(200).headers.contentCoding == nil)
        #expect(head(200, "Content-Encoding: identity").headers.contentCoding == nil)
        #expect(head(200, "Content-Encoding: GZIP").headers.contentCoding == "gzip")
        #expect(head(200, "Content-Encoding: gzip, br").headers.contentCoding == "gzip, br")
    }
}

@Suite struct ContentDispositionTests {
    @Test(arguments: [
        ("attachment; filename=\"a b.txt\"", "a b.txt"),
        ("attachment; filename=a.txt", "a.txt"),
        ("attachment;filename=a.txt;size=3", "a.txt"),
        ("attachment; FileName = \"a.txt\"", "a.txt"),
        ("inline; filename=my file.txt ; x=y", "my file.txt"),
        ("attachment; filename=\"a\\\"b\\\\c\"", "a\"b\\c"),
        ("attachment; filename=\"a;b\"; x=y", "a;b"),
        ("attachment; filename=\"open", "open"),
        ("attachment; filename=\"€ rates\"; filename*=UTF-8''%e2%82%ac%20rates", "€ rates"),
        ("attachment; filename*=UTF-8''%e2%82%ac.txt; filename=fallback.txt", "€.txt"),
        ("attachment; filename*=utf-8'en'a%20b", "a b"),
        ("attachment; filename*=iso-8859-1''na%EFve", "naïve"),
        ("attachment; filename*=UTF-8''%FF; filename=plain", "plain"),
        ("attachment; filename*=KOI8-R''%C1; filename=plain", "plain"),
        ("attachment; filename*=broken; filename=plain", "plain"),
        ("attachment; name=x; filename=first; filename=second", "first"),
        ("attachment; filename=\"../../etc/passwd\"", "../../etc/passwd"),
        ("attachment; flag; filename=x", "x"),
        // What servers send against the rules.
        ("filename=plain.zip", "plain.zip"), ("filename=\"a;b.zip\"; size=3", "a;b.zip"),
        ("filename*=UTF-8''%e2%82%ac.txt", "€.txt"),
        ("attachment; filename=\"%EC%82%AC.jpg\"", "사.jpg"),
        ("attachment; filename=a%20b.txt", "a b.txt"),
        ("attachment; filename=\"%FF.jpg\"", "%FF.jpg"),
        ("attachment; filename=\"100%.txt\"", "100%.txt"),
        ("attachment; filename=\"=?UTF-8?B?5rWL6K+VLnR4dA==?=\"", "测试.txt"),
        ("attachment; filename==?utf-8?q?na=C3=AFve_1.txt?=", "naïve 1.txt"),
        ("attachment; filename=\"=?ISO-8859-1?Q?caf=E9?=.txt\"", "café.txt"),
        ("attachment; filename=\"=?UTF-8?B?5rU=?= =?UTF-8?B?iy50eHQ=?=\"", "测.txt"),
        ("attachment; filename=\"a =?UTF-8?Q?b?= =?US-ASCII?Q?c?=\"", "a b c"),
        ("attachment; filename=\"=?GB2312?B?suI=?=\"", "=?GB2312?B?suI=?="),
        ("attachment; filename=\"=?UTF-8?B?broken\"", "=?UTF-8?B?broken"),
    ])
    func name(value: String, name: String) {
        #expect(ContentDisposition.fileName(value) == name)
    }

    @Test(arguments: [
        "", "attachment", "attachment;", "attachment; xfilename=x", ";;;", "a;=",
    ])
    func noName(value: String) {
        #expect(ContentDisposition.fileName(value) == nil)
    }
}

@Suite struct DigestFieldTests {
    private let hello = "sha-256=:uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=:"
    private let helloHex = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"

    @Test func sha256() {
        #expect(DigestField.checksum(hello) == Checksum(algorithm: .sha256, hex: helloHex))
        #expect(
            DigestField.checksum("md5=:AAAA:, " + hello + ";x=1, unixsum=:AA==:")
                == Checksum(algorithm: .sha256, hex: helloHex))
    }

    @Test func sha512WhereAlone() {
        let zeros = "sha-512=:" + String(repeating: "A", count: 86) + "==:"
        let checksum = Checksum(algorithm: .sha512, hex: String(repeating: "0", count: 128))
        #expect(DigestField.checksum(zeros) == checksum)
        #expect(DigestField.checksum(zeros + ", " + hello)?.algorithm == .sha256)
        #expect(DigestField.stored(checksum) == zeros)
    }

    @Test(arguments: [
        "", "sha-256", "sha-256=", "sha-256=::", "sha-256=:AAAA:", "sha-256=uU0n",
        "SHA-256=:uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=:", "md5=:AAAAAAAAAAAAAAAAAAAAAA==:",
        "sha-256=:uU0nuZNNPgilLlLX2n2r*sSE7+N6U4DukIj3rOLvzek=:",
    ])
    func none(value: String) {
        #expect(DigestField.checksum(value) == nil)
    }

    @Test func storedFormIsRead() {
        let checksum = Checksum(algorithm: .sha256, hex: helloHex)
        #expect(DigestField.stored(checksum) == hello)
        #expect(DigestField.stored(Checksum(algorithm: .md5, hex: "00")) == nil)
    }

    @Test func contentDigestCountsOnlyForTheWhole() {
        #expect(Validator(head(200, "Content-Digest: \(hello)")).digest == hello)
        let part = head(206, "Content-Digest: \(hello)", "Content-Range: bytes 0-1/9")
        #expect(Validator(part).digest == nil)
        #expect(Validator(head(206, "Repr-Digest: \(hello)")).digest == hello)
    }
}
