internal import FoundationEssentials
public import LonghaulCore

/// A JSON value that is handed to a host with a task or a wake-up, at most 64 KiB as a text.
public enum JSONPayload: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without a fraction.
    case integer(Int64)
    /// Any other number; one that is not finite is written as `null`.
    case number(Double)
    /// A text.
    case string(String)
    /// Values in order.
    case array([JSONPayload])
    /// Values by name. Of equal names the last counts.
    case object([String: JSONPayload])

    /// The member of an object; `nil` for a name that it does not have, and of any other value.
    public subscript(name: String) -> JSONPayload? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// The value as an integer; `nil` for any other.
    public var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The value as a text; `nil` for any other.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// A value from its text.
    ///
    /// - Throws: `invalidRequest` for a text that is no JSON.
    public init(parsing text: String) throws(LonghaulError) {
        do {
            self = try JSONPayload(text, keepsIntegers: false)
        } catch {
            throw LonghaulError(.invalidRequest, "the payload is not valid JSON")
        }
    }

    /// - Throws: ``JSONProblem``.
    init(_ text: String, keepsIntegers: Bool) throws {
        var text = text
        self = try text.withUTF8 { bytes in
            var scanner = JSONScanner(bytes)
            let value = try JSONPayload(&scanner, keepsIntegers: keepsIntegers)
            try scanner.end()
            return value
        }
    }

    /// The next value. One pass: a decoder that tries each type in turn takes time that grows with
    /// the product of length and depth.
    ///
    /// - Parameter keepsIntegers: Refuses an integer that an `Int64` does not hold. It would become
    ///   a number with fewer digits.
    /// - Throws: ``JSONProblem``.
    package init(_ scanner: inout JSONScanner, keepsIntegers: Bool = false) throws {
        if scanner.isObject() {
            var members: [String: JSONPayload] = [:]
            try scanner.object {
                members[$0] = try JSONPayload(&$1, keepsIntegers: keepsIntegers)
            }
            self = .object(members)
        } else if scanner.isArray() {
            var values: [JSONPayload] = []
            try scanner.array {
                values.append(try JSONPayload(&$0, keepsIntegers: keepsIntegers))
            }
            self = .array(values)
        } else if scanner.isString() {
            self = .string(try scanner.string())
        } else if scanner.isNumber() {
            var (again, digits) = (scanner, scanner)
            let number = try scanner.double()
            let whole = (try? again.integer()) ?? Int64(exactly: number)
            if keepsIntegers, whole == nil,
                try digits.raw().allSatisfy({ $0 == "-" || $0.isNumber })
            {
                throw JSONProblem(
                    message: "an integer has more than 64 bits", byte: digits.offset)
            }
            self = whole.map { .integer($0) } ?? .number(number)
        } else {
            self = scanner.null() ? .null : .bool(try scanner.bool())
        }
    }

    /// The value on one line, names in order.
    public var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else {
            preconditionFailure("only numbers that are not finite cannot be written")
        }
        return String(decoding: data, as: UTF8.self)
    }
}

extension JSONPayload: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }

    /// A number without a fraction.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }

    /// `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// Values in order.
    public init(arrayLiteral values: JSONPayload...) { self = .array(values) }

    /// Values by name. Of equal names the last counts.
    public init(dictionaryLiteral members: (String, JSONPayload)...) {
        self = .object(Dictionary(members) { $1 })
    }
}
