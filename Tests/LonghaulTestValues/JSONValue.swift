import Foundation

/// A JSON value for assertions of tests: `row["error"]["code"] == "notFound"`. A missing value
/// reads as `null`, so that a comparison fails instead of crashing the test; `has` tells the
/// difference.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// - Throws: the error of `JSONDecoder` for text that is not one JSON value.
    package init(_ text: some StringProtocol) throws {
        self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    /// One value per line. Empty lines are not allowed: JSON Lines has none.
    package static func lines(_ text: String) throws -> [JSONValue] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last == "" { lines.removeLast() }
        return try lines.map { try JSONValue($0) }
    }

    package subscript(_ key: String) -> JSONValue {
        if case .object(let members) = self { members[key] ?? .null } else { .null }
    }

    package subscript(_ index: Int) -> JSONValue {
        if case .array(let items) = self, items.indices.contains(index) {
            items[index]
        } else {
            .null
        }
    }

    package func has(_ key: String) -> Bool {
        if case .object(let members) = self { members[key] != nil } else { false }
    }

    package var keys: Set<String> {
        if case .object(let members) = self { Set(members.keys) } else { [] }
    }

    package var items: [JSONValue] { if case .array(let items) = self { items } else { [] } }

    package var string: String? { if case .string(let text) = self { text } else { nil } }

    package var int: Int? { if case .int(let number) = self { number } else { nil } }

    package var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }

    package var double: Double? {
        switch self {
        case .int(let number): Double(number)
        case .double(let number): number
        case .null, .bool, .string, .array, .object: nil
        }
    }
}

extension JSONValue: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? container.decode(Int.self) {
            self = .int(number)
        } else if let number = try? container.decode(Double.self) {
            self = .double(number)
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let items = try? container.decode([JSONValue].self) {
            self = .array(items)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int) { self = .int(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(nilLiteral: ()) { self = .null }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}
