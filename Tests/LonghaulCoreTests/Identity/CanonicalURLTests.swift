import LonghaulCore
import Testing

@Suite struct CanonicalURLTests {
    /// Left and right are one URL.
    @Test(arguments: [
        ("HTTP://Example.ORG/f", "http://example.org/f"),
        ("http://example.org:80/f", "http://example.org/f"),
        ("https://example.org:443", "https://example.org/"),
        ("ftp://h:21/f", "ftp://h/f"),
        ("http://h/a/./b/../c", "http://h/a/c"),
        ("http://h/a/%2E%2e/c", "http://h/c"),
        ("http://h/a/b/..", "http://h/a/"),
        ("http://h/a/b/.", "http://h/a/b/"),
        ("http://h/../../f", "http://h/f"),
        ("http://h/%7Euser/%c3%a4", "http://h/~user/%C3%A4"),
        ("http://h/f#part", "http://h/f"),
        ("http://h/f?%61=1&b=%2f", "http://h/f?a=1&b=%2F"),
        ("http://u:p@h/f", "http://h/f"),
        ("http://h?q", "http://h/?q"),
        ("http://h/%zz", "http://h/%25zz"),
        ("http://h/%%341", "http://h/%2541"),
    ])
    func equal(_ left: String, _ right: String) {
        #expect(CanonicalURL.of(left) == CanonicalURL.of(right))
        #expect(CanonicalURL.of(left) != nil)
        #expect(CanonicalURL.areSame(left, right))
    }

    @Test(arguments: [
        ("http://h/a/../b", true), ("http://h/./b", true), ("http://h/a/%2e%2E", true),
        ("http://h/a/.", true), ("http://h/a/...", false), ("http://h/.a/b./c..d", false),
        ("http://h/a?p=/../b", false), ("http://h//a//", false), ("http://h", false),
    ])
    func dotSegmentsAreFound(_ url: String, _ hasSome: Bool) {
        #expect(CanonicalURL.hasDotSegments(url) == hasSome)
    }

    @Test(arguments: [
        ("http://h/f", "https://h/f"),
        ("http://h/f", "http://h:8080/f"),
        ("http://h/F", "http://h/f"),
        ("http://h/f", "http://h/f?"),
        ("http://h/f", "http://h/f/"),
        ("http://h/a//f", "http://h/a/f"),
        ("http://h/f?a=1&b=2", "http://h/f?b=2&a=1"),
        ("http://h/a%2Fb", "http://h/a/b"),
        ("http://h/f?x=/../y", "http://h/f?y"),
        ("http://h/a%3Fb", "http://h/a?b"),
        ("http://h/%%341", "http://h/A"),
    ])
    func different(_ left: String, _ right: String) {
        #expect(CanonicalURL.of(left) != CanonicalURL.of(right))
        #expect(!CanonicalURL.areSame(left, right))
    }

    @Test func whatIsNoURLIsOnlyItself() {
        #expect(CanonicalURL.areSame("x:y", "x:y"))
        #expect(!CanonicalURL.areSame("x:y", "x:z"))
    }

    @Test func canonicalOnceIsCanonical() {
        for url in [
            "http://h/%zz/%", "http://h/%%341%2", "http://H/%2e/%41?%7e#f", "sftp://h/..",
            "http://h/a/..b",
        ] {
            let once = CanonicalURL.of(url)
            #expect(once != nil && once.flatMap(CanonicalURL.of) == once)
        }
        #expect(CanonicalURL.of("gopher://h/") == nil)
    }

    /// The short way and the long way agree: what is called canonical comes out as it went in.
    @Test func theShortWayAgrees() {
        let tails = ["/f", "/a/b?c=./d", "/a.b/c", "", "?q", "/a/./b", "/%41", "/..", "/.well"]
        for tail in tails {
            let bytes = Array(tail.utf8)
            let isCanonical = bytes.withUnsafeBufferPointer { CanonicalURL.isCanonical(tail: $0) }
            if isCanonical { #expect(CanonicalURL.tail(bytes[...]) == bytes) }
        }
        let plain = Array("/a.b/c?x=1".utf8)
        #expect(plain.withUnsafeBufferPointer { CanonicalURL.isCanonical(tail: $0) })
    }
}
