/// Sizes as people type them: bytes, or `10K`, `10M`, `2G`, `1T` (binary), `10KB`, `10MB`, `2GB` (decimal), also `1.5G`.
package enum SizeText {
    package static func parse(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        let digits = bytes.prefix { ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2E }
        guard let number = Double(String(decoding: digits, as: UTF8.self)), digits.first != 0x2E,
            digits.last != 0x2E
        else { return nil }
        guard let unit = unit(String(decoding: bytes[digits.count...], as: UTF8.self))
        else { return nil }
        // Plain digits exactly: a double holds 53 bits only.
        if unit == 1, !digits.contains(0x2E) {
            return Int64(String(decoding: digits, as: UTF8.self))
        }
        let product = number * unit
        guard product < 9.2e18, unit > 1 || product == product.rounded() else { return nil }
        return Int64(product)
    }

    private static func unit(_ text: String) -> Double? {
        switch text.lowercased() {
        case "", "b": 1
        case "k", "kib": 1024
        case "m", "mib": 1_048_576
        case "g", "gib": 1_073_741_824
        case "t", "tib": 1_099_511_627_776
        case "kb": 1e3
        case "mb": 1e6
        case "gb": 1e9
        case "tb": 1e12
        default: nil
        }
    }
}
