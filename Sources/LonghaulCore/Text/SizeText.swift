/// Sizes as people read them, and as they type them: bytes, or `10K`, `10M`, `2G`, `1T` (binary,
/// also written `KiB`), or `10KB`, `10MB` (decimal). A fraction is allowed before a unit: `1.5G`.
package enum SizeText {
    /// `nil` for what is no size, and for what is too large to be one.
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

    /// One digit after the point below 100, none above.
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
