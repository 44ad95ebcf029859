import LonghaulCore
import Testing

@Suite struct URLPartsTests {
    @Test(
        arguments: [
            ("http://example.org/a/b?x=1#f", "http://example.org:80", "/a/b", "x=1", "f"),
            ("HTTPS://Example.ORG", "https://example.org:443", "", nil, nil),
            ("https://example.org:8443/?", "https://example.org:8443", "/", "", nil),
            ("ftp://u:p@host/dir/f.txt", "ftp://host:21", "/dir/f.txt", nil, nil),
            ("ftps://host/f", "ftps://host:990", "/f", nil, nil),
            ("sftp://me@host:2222/~/f", "sftp://host:2222", "/~/f", nil, nil),
            ("http://[2001:DB8::1]:8080/f", "http://[2001:db8::1]:8080", "/f", nil, nil),
            ("http://[::1]/", "http://[::1]:80", "/", nil, nil),
            ("http://[fe80::1%25eth0]/", "http://[fe80::1%25eth0]:80", "/", nil, nil),
            ("http://127.0.0.1:/f", "http://127.0.0.1:80", "/f", nil, nil),
            ("http://h#frag?no=query", "http://h:80", "", nil, "frag?no=query"),
            ("http://h?q/with/slashes", "http://h:80", "", "q/with/slashes", nil),
            ("http://bücher.example/ü", "http://bücher.example:80", "/ü", nil, nil),
            ("http://a_b.c-d.e/", "http://a_b.c-d.e:80", "/", nil, nil),
        ] as [(String, String, String, String?, String?)])
    func parts(
        url: String, origin: String, path: String, query: String?, fragment: String?
    ) throws {
        let parts = try URLParts(url)
        #expect(parts.origin == origin)
        #expect(parts.path == path)
        #expect(parts.query == query)
        #expect(parts.fragment == fragment)
        #expect(parts.url == url)
    }

    @Test(arguments: [
        ("", URLProblem.empty),
        ("example.org/f", .noScheme),
        ("example.org:8080/f", .noScheme),
        ("localhost:8080/f", .noScheme),
        ("localhost:f", .noScheme),
        ("/etc/passwd", .noScheme),
        ("://h", .noScheme),
        ("file:///etc/passwd", .unsupportedScheme("file")),
        ("gopher://h/", .unsupportedScheme("gopher")),
        ("magnet:?xt=1", .unsupportedScheme("magnet")),
        ("httpx://h/", .unsupportedScheme("httpx")),
        ("http:/h/f", .missingHost),
        ("http:h/f", .missingHost),
        ("http://", .missingHost),
        ("http:///f", .missingHost),
        ("http://user@/f", .missingHost),
        ("http://:80/f", .missingHost),
        ("http://u:p@ss@h/f", .badUser),
        ("http://user@name:pass@word@h/f", .badUser),
        ("sftp://a@b@h", .badUser),
        ("http://a@b:c@[::1]:80/", .badUser),
        ("http://@@h/", .badUser),
        ("http://h/a b", .badCharacter),
        ("http://h/a\r\nHost: evil", .badCharacter),
        ("http://h/\u{0}", .badCharacter),
        ("http://h/\u{7F}", .badCharacter),
        (" http://h/", .badCharacter),
        ("http://h/\t", .badCharacter),
        ("http://a,b/", .badHost),
        ("http://a\\b/", .badHost),
        ("http://a%62/", .badHost),
        ("http://[::1/", .badHost),
        ("http://[::g]/", .badHost),
        ("http://[1]/", .badHost),
        ("http://[::1]x/", .badHost),
        ("http://h:65536/", .badPort),
        ("http://h:0/", .badPort),
        ("http://h:+80/", .badPort),
        ("http://h:8a/", .badPort),
        ("http://h:99999999999999999999/", .badPort),
        ("http://h/" + String(repeating: "a", count: 65_536), .tooLong),
    ])
    func refused(url: String, problem: URLProblem) {
        #expect(throws: problem) { try URLParts(url) }
        #expect(!problem.description.isEmpty)
    }

    @Test func userInformation() throws {
        #expect(try URLParts("http://u:p@h/").userInfo == "u:p")
        #expect(try URLParts("http://h/@x").userInfo == nil)
        #expect(try URLParts("http://@h/").userInfo == nil)
        #expect(try URLParts("http://h/").userInfo == nil)
    }

    @Test func hostIsLowerCased() throws {
        #expect(try URLParts("http://EXAMPLE.org:1/F").host == "example.org")
        #expect(try URLParts("http://[::FFFF]/").host == "::ffff")
    }

    /// No input makes the scanner trap, and what it accepts it takes apart without loss.
    @Test(arguments: 0..<20) func anyInput(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let pieces = [
            "http", "ftp", "://", ":", "/", "?", "#", "@", "[", "]", "::", "a", "b.c", "80", "%41",
            " ", "\u{1}", "ü", ".", "-",
        ]
        for _ in 0..<2000 {
            let count = Int.random(in: 0...9, using: &random)
            let text = (0..<count).map { _ in pieces.randomElement(using: &random)! }.joined()
            guard let parts = try? URLParts(text) else { continue }
            #expect(text.hasSuffix(parts.fragment ?? ""), "seed \(seed): \(text)")
            #expect(text.contains(parts.path), "seed \(seed): \(text)")
            #expect((try? URLParts(parts.origin))?.origin == parts.origin, "seed \(seed): \(text)")
        }
    }
}
