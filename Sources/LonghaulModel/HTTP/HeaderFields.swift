/// Header fields in order, names compared without regard to case (RFC 9110 §5.1).
public struct HeaderFields: Hashable, Codable, Sendable {
    /// A header field (RFC 9110 §5).
    public struct Field: Hashable, Codable, Sendable {
        /// Name as sent; compared without regard to case.
        public var name: String
        /// Without line breaks. Values of requests are secrets: output shows them redacted.
        public var value: String

        /// A field as it will be sent.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Compares bytes: two passwords that look the same to a reader differ for a server.
        public static func == (left: Field, right: Field) -> Bool {
            left.name.isExactly(right.name) && left.value.isExactly(right.value)
        }
    }

    /// All of them, in order; a name may come several times.
    public var fields: [Field]

    /// Without fields by default.
    public init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// There is no field.
    public var isEmpty: Bool { fields.isEmpty }

    /// The first field of that name; setting replaces all of them, `nil` removes them.
    public subscript(name: String) -> String? {
        get {
            fields.first { $0.name.equalsIgnoringCase(name) }?.value
        }
        set {
            fields.removeAll { $0.name.equalsIgnoringCase(name) }
            if let newValue { fields.append(Field(name: name, value: newValue)) }
        }
    }

    /// Adds a field at the end, also where the name is there already.
    public mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// These fields and `own`; a field in `own` replaces fields of the same name.
    package func overridden(by own: HeaderFields) -> HeaderFields {
        let names = Set(own.fields.map { $0.name.lowercased() })
        return HeaderFields(
            fields.filter { !names.contains($0.name.lowercased()) } + own.fields)
    }

    /// The same; a field without a value only removes existing ones.
    package func changed(by own: [Field]) -> HeaderFields {
        let all = overridden(by: HeaderFields(own)).fields
        let kept = all.count - own.count
        return HeaderFields(Array(all[..<kept]) + all[kept...].filter { !$0.value.isEmpty })
    }
}

extension HeaderFields {
    /// Names in lower case.
    private static let harmless: Set<String> = [
        "range", "if-range", "accept-encoding", "accept", "cache-control", "user-agent",
        // Servers that keep others from linking to their files ask for it wherever these are.
        "referer",
    ]

    /// These fields as they may go to another origin than their own: the target of a redirect, or
    /// another server's mirror.
    ///
    /// - Parameter url: Where they go; `nil` = unknown.
    package func forElsewhere(at url: String? = nil) -> HeaderFields {
        HeaderFields(fields.compactMap { $0.forElsewhere(at: url) })
    }

    fileprivate static func isHarmless(_ name: String) -> Bool {
        harmless.contains(name.lowercased())
    }
}

extension HeaderFields.Field {
    /// The field as it may go to another origin; `nil` = it may not.
    package func forElsewhere(at url: String?) -> HeaderFields.Field? {
        guard HeaderFields.isHarmless(name) else { return nil }
        guard name.equalsIgnoringCase("referer"), !value.isEmpty else { return self }
        // RFC 9110 §10.1.3: a page that came over TLS is not named without it.
        let isFromTLS = value.beginsIgnoringCase(with: "https:")
        if let url, isFromTLS, !url.beginsIgnoringCase(with: "https:") { return nil }
        return Referer.withoutSecrets(value).map { HeaderFields.Field(name: name, value: $0) }
    }
}

/// The value of a `Referer` (RFC 9110 §10.1.3).
private enum Referer {
    /// The URL without query, fragment and user information: a signed URL's signature is for its
    /// own server. `nil` = the parts cannot be separated.
    static func withoutSecrets(_ value: String) -> String? {
        let url = Array(value.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
        let (slash, at) = (UInt8(ascii: "/"), UInt8(ascii: "@"))
        // Without a scheme, the text before a slash may be a password.
        let mark = url.firstRange(of: Array("://".utf8))?.upperBound ?? 0
        let authority = url[mark...].prefix { $0 != slash }
        guard let end = authority.lastIndex(of: at) else {
            return String(decoding: url, as: UTF8.self)
        }
        if mark == 0 { return nil }
        return String(decoding: url[..<mark] + url[(end + 1)...], as: UTF8.self)
    }
}

extension HeaderFields.Field {
    /// A field as typed, `Name: value`.
    package init(parsing text: some StringProtocol) throws(HeaderProblem) {
        let bytes = Substring(text).utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { throw .noColon }
        let value = Substring(bytes[bytes.index(after: colon)...]).trimmingBlanks
        self.init(name: String(Substring(bytes[..<colon])), value: String(value))
        if let problem { throw problem }
    }

    /// Why no request may carry it; `nil` = one may.
    package var problem: HeaderProblem? {
        if name.isEmpty || !name.utf8.allSatisfy(\.isTokenCharacter) { return .badName }
        // A line break in a value would begin another field or request (RFC 9110 §5.5).
        if !value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) { return .badValue }
        let lowered = name.lowercased()
        let isReserved =
            lowered == "accept-encoding"
            ? value.lowercased() != "identity" : HeaderProblem.reservedNames.contains(lowered)
        return isReserved ? .reserved(name) : nil
    }
}

/// Why a text is no header field that a request may carry.
package enum HeaderProblem: Error, Hashable, Sendable {
    case noColon
    case badName
    case badValue
    /// Longhaul sets the field itself, or the field would change the meaning of the answer.
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
