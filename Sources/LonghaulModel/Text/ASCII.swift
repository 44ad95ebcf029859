/// Classes of bytes, as the grammars of the wire define them: never by locale or Unicode.
extension UInt8 {
    package var isASCIIDigit: Bool { self >= 0x30 && self <= 0x39 }
    package var isASCIILetter: Bool { (self | 0x20) >= 0x61 && (self | 0x20) <= 0x7A }
    package var isASCIIHexDigit: Bool { hexValue != nil }

    package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }

    /// Two hexadecimal digits, in lower case.
    package var hexPair: String { (self < 16 ? "0" : "") + String(self, radix: 16) }

    package var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }

    /// Space or tab (RFC 9110 §5.6.3).
    package var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// `tchar` of RFC 9110 §5.6.2.
    package var isTokenCharacter: Bool {
        if isASCIIDigit || isASCIILetter { return true }
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"),
            UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"),
            UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            return true
        default: return false
        }
    }

    /// RFC 3986 §3.1.
    package var isSchemeCharacter: Bool {
        isASCIIDigit || isASCIILetter || self == 0x2B || self == 0x2D || self == 0x2E
    }

    /// Characters of a host name: those accepted by resolvers, plus bytes of international names,
    /// which libcurl converts. libcurl refuses the others too (`hostname_check` in urlapi.c).
    package var isHostCharacter: Bool {
        isASCIIDigit || isASCIILetter || self == 0x2D || self == 0x2E || self == 0x5F
            || self == 0x7E || self >= 0x80
    }
}

extension Substring {
    /// Without spaces and tabs at both ends.
    package var trimmingBlanks: Substring {
        var bytes = utf8[...]
        while let first = bytes.first, first.isBlank { bytes.removeFirst() }
        while let last = bytes.last, last.isBlank { bytes.removeLast() }
        return Substring(bytes)
    }
}

extension String {
    /// The lines without their ends, LF or CRLF, also empty ones. They are found by the byte: to
    /// Swift the two of a CRLF are one character.
    package var byteLines: [Substring] {
        utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            Substring($0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0)
        }
    }

    /// Without spaces and tabs at both ends; copied only if there are some.
    package var trimmingBlanks: String {
        guard utf8.first?.isBlank == true || utf8.last?.isBlank == true else { return self }
        return String(self[...].trimmingBlanks)
    }

    /// ``StringProtocol/equalsIgnoringCase(_:)`` on the bytes in place: each answer's head is
    /// searched for a dozen names.
    package func equalsIgnoringCase(_ other: String) -> Bool {
        // Names of header fields nearly always differ in length already.
        guard utf8.count == other.utf8.count else { return false }
        var (own, other) = (self, other)
        return own.withUTF8 { own in
            other.withUTF8 { other in
                own.elementsEqual(other) { $0.asciiLowercased == $1.asciiLowercased }
            }
        }
    }

    /// Begins with these, without regard to the case of ASCII letters.
    package func beginsIgnoringCase(with prefix: StaticString) -> Bool {
        var bytes = utf8.makeIterator()
        return (0..<prefix.utf8CodeUnitCount).allSatisfy {
            bytes.next()?.asciiLowercased == prefix.utf8Start[$0].asciiLowercased
        }
    }
}

extension StringProtocol {
    /// Equal without regard to the case of ASCII letters, as protocols define it.
    package func equalsIgnoringCase(_ other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count
            && utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }

    /// A non-negative decimal number of digits only: no sign, no blank (`Int64` alone takes `+1`).
    package var decimalValue: Int64? {
        guard let first = utf8.first, first.isASCIIDigit, utf8.allSatisfy({ $0.isASCIIDigit })
        else { return nil }
        return Int64(self)
    }
}

/// Sizes as printed and typed: bytes, or `10K`, `10M`, `2G`, `1T` (binary, also written `KiB`), or
/// `10KB`, `10MB` (decimal). A fraction is allowed before a unit: `1.5G`.
package enum SizeText {
    /// `nil` for text that is not a size, and for a number too large to be one.
    package static func parse(_ text: some StringProtocol) -> Int64? {
        let whole = text.utf8.prefix { $0.isASCIIDigit }
        guard let value = Substring(Substring(text).utf8.prefix(whole.count)).decimalValue
        else { return nil }
        var rest = Substring(text).utf8.dropFirst(whole.count)
        var fraction: Substring?
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix { $0.isASCIIDigit }
            guard (1...6).contains(digits.count) else { return nil }
            fraction = Substring(digits)
            rest = rest.dropFirst(1 + digits.count)
        }
        guard let unit = unit(Substring(rest)) else { return nil }
        let (bytes, overflow) = value.multipliedReportingOverflow(by: unit)
        if overflow { return nil }
        guard let fraction else { return bytes }
        // Part of a byte is nothing.
        guard unit > 1, let digits = fraction.decimalValue else { return nil }
        let scale = fraction.utf8.reduce(Int64(1)) { scale, _ in scale * 10 }
        // At most 10^6 × 2^40.
        let (sum, tooLarge) = bytes.addingReportingOverflow(digits * unit / scale)
        return tooLarge ? nil : sum
    }

    private static let letters = Array("kmgt".utf8)

    private static func unit(_ text: Substring) -> Int64? {
        let bytes = text.utf8.map(\.asciiLowercased)
        if bytes.isEmpty || bytes == Array("b".utf8) { return 1 }
        guard let power = letters.firstIndex(of: bytes[0]) else { return nil }
        let rest = bytes.dropFirst()
        let isBinary = rest.isEmpty || rest.elementsEqual("ib".utf8)
        guard isBinary || rest.elementsEqual("b".utf8) else { return nil }
        return (0...power).reduce(Int64(1)) { unit, _ in unit * (isBinary ? 1024 : 1000) }
    }

    private static let shownUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    /// `1.2 GiB`: binary units, as `10M` means them too.
    package static func shown(_ bytes: Int64) -> String {
        let (number, unit) = scaled(bytes)
        return "\(number) \(unit)"
    }

    /// Scales a size: one digit after the point below 100, none above.
    package static func scaled(_ bytes: Int64) -> (number: String, unit: String) {
        var unit = 0
        var value = Double(max(0, bytes))
        // 1023.95 would show as 1024.0.
        while value >= (unit == 0 ? 1024 : 1023.5), unit < shownUnits.count - 1 {
            value /= 1024
            unit += 1
        }
        if unit == 0 { return ("\(Int64(value))", shownUnits[0]) }
        if value >= 99.95 { return ("\(Int64(value.rounded()))", shownUnits[unit]) }
        let tenths = Int64((value * 10).rounded())
        return ("\(tenths / 10).\(tenths % 10)", shownUnits[unit])
    }
}

extension UInt8 {
    /// A letter, a digit, or one of `.`, `_` and `-`.
    var isNameCharacter: Bool {
        isASCIILetter || isASCIIDigit || self == 0x2E || self == 0x5F || self == 0x2D
    }
}

extension String {
    /// A name of a host, a job or a bundle: 1 to 128 letters, digits, `.`, `_` and `-`, of which a
    /// dot is not the first.
    package var isPlainName: Bool {
        (1...128).contains(utf8.count) && utf8.first != UInt8(ascii: ".")
            && utf8.allSatisfy(\.isNameCharacter)
    }
}
