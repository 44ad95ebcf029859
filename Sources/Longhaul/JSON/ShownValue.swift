internal import LonghaulCore

/// A value that JSON prints and the OpenAPI document describes.
package protocol ShownValue: Sendable {
    /// The JSON Schema of what ``writeJSON(to:)`` writes.
    static var jsonSchema: JSONPayload { get }
    /// The value as people read it; `.unknown`: it has no text.
    var shownValue: FieldValue { get }

    func writeJSON(to json: inout JSONText)
}

extension ShownValue {
    package var shownValue: FieldValue { .unknown }
}

extension String: ShownValue {
    package static var jsonSchema: JSONPayload { ["type": "string"] }
    package var shownValue: FieldValue { .text(self) }

    package func writeJSON(to json: inout JSONText) { json.string(self) }
}

/// An enumeration of words.
package protocol ShownWord: ShownValue, CaseIterable, RawRepresentable where RawValue == String {}

extension ShownWord {
    package static var jsonSchema: JSONPayload {
        ["type": "string", "enum": .array(allCases.map { .string($0.rawValue) })]
    }
    package var shownValue: FieldValue { .text(rawValue) }

    package func writeJSON(to json: inout JSONText) { json.string(rawValue) }
}

/// A whole number.
package protocol ShownNumber: ShownValue, CustomStringConvertible {}

extension ShownNumber {
    package static var jsonSchema: JSONPayload { ["type": "integer"] }
    package var shownValue: FieldValue { .text(description) }

    package func writeJSON(to json: inout JSONText) { json.literal(description) }
}

extension Int64: ShownNumber {}
extension Int: ShownNumber {}
extension TransferID: ShownNumber {}

extension Bool: ShownValue {
    package static var jsonSchema: JSONPayload { ["type": "boolean"] }

    package func writeJSON(to json: inout JSONText) { json.literal(self ? "true" : "false") }
}

/// RFC 3339 in UTC with milliseconds.
extension Timestamp: ShownValue {
    package static var jsonSchema: JSONPayload { ["type": "string", "format": "date-time"] }
    package var shownValue: FieldValue { .moment(self) }

    package func writeJSON(to json: inout JSONText) { json.string(RFC3339.format(self)) }
}

extension Optional: ShownValue where Wrapped: ShownValue {
    package static var jsonSchema: JSONPayload {
        guard case .object(var members) = Wrapped.jsonSchema, let type = members["type"] else {
            return Wrapped.jsonSchema
        }
        members["type"] = [type, "null"]
        if case .array(let words) = members["enum"] { members["enum"] = .array(words + [.null]) }
        return .object(members)
    }

    package var shownValue: FieldValue { self?.shownValue ?? .unknown }

    package func writeJSON(to json: inout JSONText) {
        if let self { self.writeJSON(to: &json) } else { json.literal("null") }
    }
}

extension Array: ShownValue where Element: ShownValue {
    package static var jsonSchema: JSONPayload { ["type": "array", "items": Element.jsonSchema] }

    /// The elements with commas between.
    package var shownValue: FieldValue {
        let texts = compactMap { element -> String? in
            if case .text(let text) = element.shownValue { text } else { nil }
        }
        return texts.isEmpty ? .unknown : .text(texts.joined(separator: ", "))
    }

    package func writeJSON(to json: inout JSONText) {
        json.array(self) { $1.writeJSON(to: &$0) }
    }
}

/// Seconds: whole numbers without a fraction, others to the thousandth; `null` if not finite.
extension Double: ShownValue {
    package static var jsonSchema: JSONPayload { ["type": "number"] }
    package var shownValue: FieldValue { .seconds(self) }

    package func writeJSON(to json: inout JSONText) {
        guard isFinite, abs(self) < 1e15 else { return json.literal("null") }
        let thousandths = Int64((self * 1000).rounded())
        let isWhole = thousandths % 1000 == 0
        json.literal(isWhole ? "\(thousandths / 1000)" : "\(Double(thousandths) / 1000)")
    }
}

extension Int64 {
    /// A rate in whole bytes per second; `nil` if not finite.
    init?(rate: Double?) {
        guard let rate, rate.isFinite, abs(rate) < 1e18 else { return nil }
        self = Int64(rate.rounded())
    }
}

/// JSON that came from the user, without blanks. Invalid JSON is written as a string.
package struct ShownJSON: ShownValue {
    let text: String

    package static var jsonSchema: JSONPayload { [:] }
    package var shownValue: FieldValue { .text(text) }

    package func writeJSON(to json: inout JSONText) {
        guard let compact = try? JSONScanner.compacted(text) else { return json.string(text) }
        json.literal(String(decoding: compact, as: UTF8.self))
    }
}

/// An object whose keys are known only when the program runs.
package struct ShownMap<Value: ShownValue>: ShownValue {
    let members: [(key: String, value: Value)]

    package static var jsonSchema: JSONPayload {
        ["type": "object", "additionalProperties": Value.jsonSchema]
    }

    package func writeJSON(to json: inout JSONText) {
        json.object { for (key, value) in members { $0.field(named: key, value) } }
    }
}

extension ShownMap<Int> {
    /// A number for each state.
    init(_ counts: [TransferState: Int]) {
        members = TransferState.allCases.map { ($0.rawValue, counts[$0] ?? 0) }
    }
}

/// Options among the `options` of a transfer: each form of field has its own.
extension FieldValue: ShownValue {
    package static var jsonSchema: JSONPayload { [:] }
    package var shownValue: FieldValue { self }

    package func writeJSON(to json: inout JSONText) {
        switch self {
        case .unknown: json.literal("null")
        case .flag(let flag): flag.writeJSON(to: &json)
        case .number(let number), .size(let number), .rate(let number): number.writeJSON(to: &json)
        case .seconds(let seconds): seconds.writeJSON(to: &json)
        case .moment(let time): time.writeJSON(to: &json)
        case .text(let text): text.writeJSON(to: &json)
        case .texts(let texts): texts.writeJSON(to: &json)
        case .numbers(let numbers): numbers.writeJSON(to: &json)
        case .hidden: Redaction.mark.writeJSON(to: &json)
        }
    }
}
