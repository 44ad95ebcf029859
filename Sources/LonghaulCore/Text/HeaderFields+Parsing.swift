extension HeaderFields.Field {
    /// A field as people write it, `Name: value`.
    package init(parsing text: some StringProtocol) throws(HeaderProblem) {
        let bytes = Substring(text).utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { throw .noColon }
        let name = Substring(bytes[..<colon])
        guard !name.isEmpty, name.utf8.allSatisfy({ $0.isTokenCharacter }) else {
            throw .badName
        }
        let value = Substring(bytes[bytes.index(after: colon)...]).trimmingBlanks
        // A line break in a value would begin a field, or a request, of its own (RFC 9110 §5.5).
        guard value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else {
            throw .badValue
        }
        let lowered = name.lowercased()
        let isReserved =
            lowered == "accept-encoding"
            ? value.lowercased() != "identity" : HeaderProblem.reservedNames.contains(lowered)
        if isReserved { throw .reserved(String(name)) }
        self.init(name: String(name), value: String(value))
    }
}

/// Why a text is no header field that a request may carry.
package enum HeaderProblem: Error, Hashable, Sendable {
    case noColon
    case badName
    case badValue
    /// Longhaul sets it itself, or it would change what the answer means.
    case reserved(String)

    /// Ranges and conditions belong to the resume; framing to the wire.
    static let reservedNames: Set<String> = [
        "range", "if-range", "if-match", "if-none-match", "if-modified-since",
        "if-unmodified-since", "content-length", "transfer-encoding", "connection", "upgrade", "te",
    ]
}

extension HeaderProblem: CustomStringConvertible {
    /// Never repeats the value: it may be a secret.
    package var description: String {
        switch self {
        case .noColon: "a header is written 'Name: value'"
        case .badName: "the header's name is empty or has characters that no name may have"
        case .badValue: "the header's value has a line break or another control character"
        case .reserved(let name): "the header \(name) is set by Longhaul itself"
        }
    }
}
