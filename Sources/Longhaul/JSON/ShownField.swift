internal import LonghaulCore

/// One fact of a record: its key in JSON, its schema in the OpenAPI document, and its line in the
/// text of `show`. A new fact is an entry in the ``ShownRecord/fields`` of its record.
package struct ShownField<Record: Sendable>: Sendable {
    package let key: String
    fileprivate let schema: JSONPayload
    /// Name of its line; `nil`: it has no line, or shares one with other facts.
    package let label: String?
    /// Lines come in the order of their places.
    package let place: Int
    /// `nil`: every record has the key.
    fileprivate let isPresent: (@Sendable (Record) -> Bool)?
    package let value: @Sendable (Record) -> FieldValue
    fileprivate let write: @Sendable (Record, inout JSONText) -> Void

    /// - Parameter isPresent: Whether JSON has the key, for keys that only some records have.
    package init<Value: ShownValue>(
        _ key: String, _ label: String? = nil, at place: Int = 0,
        if isPresent: (@Sendable (Record) -> Bool)? = nil,
        _ value: @escaping @Sendable (Record) -> Value
    ) {
        self.key = key
        self.label = label
        self.place = place
        self.isPresent = isPresent
        schema = Value.jsonSchema
        self.value = { value($0).shownValue }
        write = { record, json in value(record).writeJSON(to: &json) }
    }

    /// Parts of the record, which show other fields than usual.
    init<Part>(
        _ key: String, as fields: [ShownField<Part>],
        _ parts: @escaping @Sendable (Record) -> [Part]
    ) {
        self.key = key
        label = nil
        place = 0
        isPresent = nil
        schema = ["type": "array", "items": ShownField<Part>.schema(of: fields)]
        value = { _ in .unknown }
        write = { record, json in json.array(parts(record)) { $0.value($1, as: fields) } }
    }

    /// A field of a part of the record.
    init<Part>(_ field: ShownField<Part>, of part: @escaping @Sendable (Record) -> Part) {
        key = field.key
        label = field.label
        place = field.place
        if let isPresent = field.isPresent {
            self.isPresent = { isPresent(part($0)) }
        } else {
            isPresent = nil
        }
        schema = field.schema
        value = { field.value(part($0)) }
        write = { record, json in field.write(part(record), &json) }
    }

    /// The schema of an object with these fields.
    ///
    /// - Parameter always: Those that are never left out; `nil` = all that every record has.
    package static func schema(
        of fields: [ShownField], requiring always: [ShownField]? = nil
    ) -> JSONPayload {
        let keys = (always ?? fields).filter { $0.isPresent == nil }.map {
            JSONPayload.string($0.key)
        }
        let members = Dictionary(uniqueKeysWithValues: fields.map { ($0.key, $0.schema) })
        return [
            "type": "object", "required": .array(keys), "properties": .object(members),
        ]
    }
}

/// A record as JSON, the OpenAPI document and `show` have it.
package protocol ShownRecord: ShownValue {
    /// In the order of the keys in JSON.
    static var fields: [ShownField<Self>] { get }
}

extension ShownRecord {
    package static var jsonSchema: JSONPayload { ShownField.schema(of: fields) }

    package func writeJSON(to json: inout JSONText) { json.value(self, as: Self.fields) }
}

extension JSONText {
    package mutating func field<Record>(
        _ key: String, _ records: [Record], as fields: [ShownField<Record>]
    ) {
        name(key)
        array(records) { $0.value($1, as: fields) }
    }

    /// Writes a record with other fields than usual.
    package mutating func value<Record>(_ record: Record, as fields: [ShownField<Record>]) {
        object { json in
            for field in fields where field.isPresent?(record) != false {
                json.name(field.key)
                field.write(record, &json)
            }
        }
    }
}
