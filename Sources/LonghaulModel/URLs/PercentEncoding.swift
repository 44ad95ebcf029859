/// Percent-encoding of URLs (RFC 3986 §2.1), by bytes.
package enum PercentEncoding {
    /// Encodes all but the unreserved characters (RFC 3986 §2.3).
    ///
    /// - Parameter kept: Further bytes that stay unchanged.
    package static func encode(_ bytes: some Sequence<UInt8>, keeping kept: [UInt8] = []) -> String
    {
        var encoded = ""
        for byte in bytes {
            let isPlain = byte.isASCIILetter || byte.isASCIIDigit || "-._~".utf8.contains(byte)
            if isPlain || kept.contains(byte) {
                encoded.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// A percent sign that begins no encoded byte stays.
    package static func decode(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        var decoded: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                bytes[index + 1] != UInt8(ascii: "+"), bytes[index + 1] != UInt8(ascii: "-"),
                let byte = UInt8(
                    String(decoding: bytes[(index + 1)...(index + 2)], as: UTF8.self), radix: 16)
            {
                decoded.append(byte)
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        return decoded
    }
}
