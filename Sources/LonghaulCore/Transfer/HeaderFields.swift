/// Header fields in order, names compared without regard to case (RFC 9110 §5.1).
public struct HeaderFields: Hashable, Codable, Sendable {
    public struct Field: Hashable, Codable, Sendable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// By their bytes: what looks the same to a reader is another password to a server.
        public static func == (left: Field, right: Field) -> Bool {
            left.name.isExactly(right.name) && left.value.isExactly(right.value)
        }
    }

    public var fields: [Field]

    public init(_ fields: [Field] = []) {
        self.fields = fields
    }

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

    public mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// With others that hold in place of those of the same names.
    package func overridden(by own: HeaderFields) -> HeaderFields {
        let names = Set(own.fields.map { $0.name.lowercased() })
        return HeaderFields(
            fields.filter { !names.contains($0.name.lowercased()) } + own.fields)
    }

    /// The same; one without a value only takes away what is there.
    package func changed(by own: [Field]) -> HeaderFields {
        let all = overridden(by: HeaderFields(own)).fields
        let kept = all.count - own.count
        return HeaderFields(Array(all[..<kept]) + all[kept...].filter { !$0.value.isEmpty })
    }
}
