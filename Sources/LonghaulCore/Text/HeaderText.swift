/// A header field as typed: `Name: value`.
package enum HeaderText {
    /// `nil` unless the name is a token (RFC 9110 §5.1) and the value holds no CR, LF or NUL: nobody smuggles a second field in.
    package static func parse(_ text: String) -> HeaderFields.Field? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = text[..<colon]
        guard !name.isEmpty, name.utf8.allSatisfy(isTokenCharacter) else { return nil }
        var value = text[text.utf8.index(after: colon)...]
        while let first = value.first, first == " " || first == "\t" { value.removeFirst() }
        while let last = value.last, last == " " || last == "\t" { value.removeLast() }
        guard !value.utf8.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else { return nil }
        return HeaderFields.Field(name: String(name), value: String(value))
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension Checksum {
    /// Reads `sha256:HEX` (also sha512, sha1, md5; `=` instead of `:` and `sha-256` as aria2 writes them). The length must be the
    /// algorithm's.
    package init?(parsing text: String) {
        guard let mark = text.firstIndex(where: { $0 == ":" || $0 == "=" }) else { return nil }
        let name = text[..<mark].lowercased().filter { $0 != "-" }
        guard let algorithm = Algorithm(rawValue: name) else { return nil }
        let hex = text[text.index(after: mark)...].lowercased()
        guard hex.utf8.count == algorithm.hexDigits,
            hex.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x61 && $0 <= 0x66) })
        else { return nil }
        self.init(algorithm: algorithm, hex: hex)
    }
}

extension Checksum.Algorithm {
    var hexDigits: Int {
        switch self {
        case .md5: 32
        case .sha1: 40
        case .sha256: 64
        case .sha512: 128
        }
    }
}
