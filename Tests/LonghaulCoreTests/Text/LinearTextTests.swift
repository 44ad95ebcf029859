import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Bytes that count how often they are looked at.
private struct CountedBytes: Collection {
    private final class Counter { var count = 0 }

    private let bytes: [UInt8]
    private let counter = Counter()

    init(_ text: String) { bytes = Array(text.utf8) }

    var looks: Int { counter.count }
    var startIndex: Int { 0 }
    var endIndex: Int { bytes.count }
    func index(after index: Int) -> Int { index + 1 }
    subscript(index: Int) -> UInt8 {
        counter.count += 1
        return bytes[index]
    }
}

/// Work on texts of servers and clients grows with their length, not with its square.
@Suite(.timeLimit(.minutes(60))) struct LinearTextTests {
    private static let pieces = [
        "&amp;", "&amp", "&#34;", "&", "REDACTED", "REDACTE", "REDREDACTED", "x",
    ]

    /// Twice the text is at most twice the looks.
    private func expectLinear(_ piece: String, _ work: (CountedBytes) -> Void) {
        let looks = [1_000, 2_000].map { count in
            let bytes = CountedBytes(String(repeating: piece, count: count))
            work(bytes)
            return bytes.looks
        }
        #expect(looks[1] <= 2 * looks[0] + 100, "\(piece): \(looks)")
    }

    @Test(arguments: pieces) func escapesAndMarksAreReplacedInOnePass(piece: String) {
        expectLinear(piece) { _ = MarkupText.unescaped($0) }
        expectLinear(piece) { _ = Redaction.replacing(Redaction.mark, with: "a", in: $0) }
    }

    @Test(arguments: [
        ("&amp;lt; &amp;amp; &#34;&#39;&quot;&apos;&lt;b&gt;", "&lt; &amp; \"'\"'<b>"),
        ("&&amp;;& &am", "&&;& &am"), ("é&amp;é", "é&é"), ("\u{FFFE}", "\u{FFFE}"), ("", ""),
    ])
    func escapesAreThoseOfXML(text: String, plain: String) {
        #expect(MarkupText.unescaped(text) == plain)
    }

    @Test(arguments: [
        ("http://REDACTED@h/f", true), ("http://h/f?token=REDACTED", true),
        ("http://h/REDACTED/f?x=1", false), ("http://h/f?x=REDACTED", false),
        ("http://u:p@h/REDACTED", false), ("http://h/f", false),
    ])
    func whatIsRedactedIsKnown(url: String, isRedacted: Bool) {
        #expect(Redaction.isRedacted(url) == isRedacted)
    }

    /// What took the square of the length takes hours of this one, or its terabytes.
    @Test func longTextsAreNoTrouble() throws {
        let many = 300_000
        let directories = try #require(
            MissingDirectories(of: "http://h/" + String(repeating: "a/", count: many)))
        #expect(directories.url.utf8.count == 9 + 2 * many)
        let marks = "http://h/?x=" + String(repeating: "REDACTED", count: many)
        #expect(!Redaction.isRedacted(marks))
        let dots = String(repeating: "/a", count: many) + String(repeating: "/..", count: many)
        #expect(CanonicalURL.tail(Array(dots.utf8)[...]) == Array("/".utf8))
        let ids = (1...many).map(String.init).joined(separator: ",")
        #expect(try OptionText.transfers(ids, "after").count == many)
        let words = String(repeating: "&amp;", count: many)
        #expect(MarkupText.unescaped(words).utf8.count == many)
    }

    @Test(arguments: [
        ("a\r\nb\n\nc", ["a", "b", "", "c"]), ("a\r\n", ["a", ""]), ("", [""]),
        ("a\u{2028}b\rc\n\u{301}d", ["a\u{2028}b\rc", "\u{301}d"]),
    ])
    func linesEndAtTheByte(text: String, lines: [Substring]) {
        #expect(text.byteLines == lines)
    }
}
