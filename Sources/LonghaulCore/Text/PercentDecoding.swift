/// RFC 3986 §2.1.
package enum PercentDecoding {
    /// The bytes meant by `text`. A percent sign that introduces no pair of hexadecimal digits
    /// stands for itself.
    package static func bytes(of text: some StringProtocol) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.first {
            rest = rest.dropFirst()
            guard byte == UInt8(ascii: "%"), let high = rest.first?.hexValue,
                let low = rest.dropFirst().first?.hexValue
            else {
                result.append(byte)
                continue
            }
            result.append(high << 4 | low)
            rest = rest.dropFirst(2)
        }
        return result
    }

    /// Decoded as UTF-8; broken sequences become U+FFFD.
    package static func text(_ text: some StringProtocol) -> String {
        if !text.utf8.contains(UInt8(ascii: "%")) { return String(text) }
        return String(decoding: bytes(of: text), as: UTF8.self)
    }
}
