import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// What the grammars of the wire mean by a number and by equal names.
@Suite struct ASCIITests {
    @Test(
        arguments: [
            ("0", 0), ("00120", 120), ("9223372036854775807", Int64.max),
            ("9223372036854775808", nil),
            ("92233720368547758070", nil), ("", nil), ("+1", nil), ("-1", nil), (" 1", nil),
            ("1 ", nil), ("0x1", nil), ("١", nil),
        ] as [(String, Int64?)])
    func aNumberIsDigitsOnly(text: String, value: Int64?) {
        #expect(text.decimalValue == value)
        #expect(text[...].decimalValue == value)
    }

    @Test(arguments: [
        ("ETag", "etag", true), ("etag", "ETAG", true), ("", "", true), ("ETag", "EKag", false),
        ("Date", "Dates", false), ("a[", "a{", false), ("é", "é", true), ("É", "é", false),
        ("Content-Security-Policy", "content-security-policY", true),
    ])
    func namesAreEqualButForTheCaseOfLetters(one: String, other: String, isEqual: Bool) {
        #expect(one.equalsIgnoringCase(other) == isEqual)
        #expect(one[...].equalsIgnoringCase(other[...]) == isEqual)
    }

    @Test(arguments: [
        ("a", "a"), (" a\t", "a"), ("\t", ""), ("", ""), ("a b", "a b"), (" a b", "a b"),
    ])
    func blanksGoFromBothEnds(text: String, trimmed: String) {
        #expect(text.trimmingBlanks == trimmed)
        #expect(text[...].trimmingBlanks == trimmed[...])
    }
}
