internal import FoundationEssentials
public import LonghaulCore

extension JSONPayload: Codable {
    /// Reads any JSON value.
    ///
    /// - Throws: The decoder's error for a value that is not JSON.
    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let array = try? value.decode([JSONPayload].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: JSONPayload].self))
        }
    }

    /// Writes the value.
    ///
    /// - Throws: The encoder's error.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value) where value.isFinite: try container.encode(value)
        case .number: try container.encodeNil()
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }
}

extension JSONPayload {
    /// The value as JSON, encoded as `JSONEncoder` does by default: dates as seconds since 2001,
    /// data in Base64. An optional that is `nil` becomes `null`.
    ///
    /// - Throws: `invalidRequest` for a value that JSON or a payload cannot hold: a number that is
    ///   not finite, an integer of more than 64 bits, more than 64 levels of nesting; and for an
    ///   error of the value's own `encode(to:)`.
    public init(encoding value: some Encodable) throws(LonghaulError) {
        do {
            let data = try JSONEncoder().encode(value)
            try self.init(String(decoding: data, as: UTF8.self), keepsIntegers: true)
        } catch {
            throw LonghaulError(
                .invalidRequest,
                "a payload cannot be made of \(type(of: value)): \(Self.reason(error))")
        }
    }

    /// The payload as a value that ``init(encoding:)`` encodes.
    ///
    /// - Throws: `invalidRequest` for a payload of another form; the message names the key.
    public func decoded<Value: Decodable>(
        as type: Value.Type = Value.self
    ) throws(LonghaulError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(text.utf8))
        } catch {
            throw LonghaulError(
                .invalidRequest, "the payload is no \(type): \(Self.reason(error))")
        }
    }

    /// A payload or its lack, which decodes as `null` does.
    static func decoded<Value: Decodable>(
        _ payload: JSONPayload?, as type: Value.Type
    ) throws(LonghaulError) -> Value {
        if let payload { return try payload.decoded(as: type) }
        do {
            return try JSONPayload.null.decoded(as: type)
        } catch {
            throw LonghaulError(.invalidRequest, "there is no payload, where \(type) is expected")
        }
    }

    private static func reason(_ error: any Error) -> String {
        let context: (path: [any CodingKey], text: String)
        switch error {
        case let problem as JSONProblem: return problem.message
        case DecodingError.keyNotFound(let key, let found):
            context = (found.codingPath + [key], "it is missing")
        case DecodingError.typeMismatch(_, let found), DecodingError.valueNotFound(_, let found),
            DecodingError.dataCorrupted(let found):
            context = (found.codingPath, found.debugDescription)
        case EncodingError.invalidValue(_, let found):
            context = (found.codingPath, found.debugDescription)
        default: return "\(error)"
        }
        if context.path.isEmpty { return context.text }
        return "\(context.path.map(\.stringValue).joined(separator: ".")): \(context.text)"
    }
}
