internal import FoundationEssentials
internal import LonghaulModel
private import Synchronization

/// Texts of options that are kept as values.
private let storedOptionsKept = 64

/// Values that the store keeps as one JSON text.
package enum StoredJSON {
    package static func encode(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            // Fails for non-finite numbers only, and requests were validated against them.
            preconditionFailure("a value of ours can be written as JSON")
        }
        return String(decoding: data, as: UTF8.self)
    }

    /// `nil` for text that is damaged, or of a later version.
    package static func decode<Value: Decodable>(_ type: Value.Type, _ text: String) -> Value? {
        try? JSONDecoder().decode(type, from: Data(text.utf8))
    }
}

extension StoredRow {
    /// `nil` for NULL, and for text that cannot be read.
    func json<Value: Decodable>(_ column: Column) -> Value? {
        let text: String? = self[column]
        return text.flatMap { StoredJSON.decode(Value.self, $0) }
    }
}

extension TransferOptions {
    private static let standard = TransferOptions()

    /// The options that stay with a completed upload.
    var withoutCredentials: TransferOptions {
        var options = self
        options.user = nil
        options.headers = options.headers.forElsewhere()
        options.upload?.formFields = nil
        return options
    }

    /// The stored form; `nil` when all is default.
    var stored: String? {
        self == TransferOptions.standard ? nil : StoredJSON.encode(self)
    }

    /// Reads the stored form. A key that an older version did not write has its default.
    init?(stored text: String?) {
        guard let text else {
            self = TransferOptions.standard
            return
        }
        if let (facts, others) = PerFileOptions.split(text) {
            self.init(stored: others)
            checksum = facts.checksum
            maxSize = facts.maxSize
            return
        }
        if let known = TransferOptions.read.withLock({ $0[ExactText(text)] }) {
            self = known
            return
        }
        guard let options = TransferOptions.decode(text) else { return nil }
        TransferOptions.read.withLock {
            if $0.count == storedOptionsKept { $0 = [:] }
            $0[ExactText(text)] = options
        }
        self = options
    }

    /// Decoded options by their text. Most transfers of a queue share a few sets of options, and
    /// decoding takes longer than the rest of a row. Texts are compared by bytes: passwords that
    /// are canonically equivalent are different passwords.
    private static let read = Mutex<[ExactText: TransferOptions]>([:])

    private static func decode(_ text: String) -> TransferOptions? {
        if let options = StoredJSON.decode(TransferOptions.self, text) { return options }
        let defaults = StoredJSON.encode(TransferOptions.standard)
        guard
            let known = StoredJSON.decode([String: AnyJSON].self, text),
            let base = StoredJSON.decode([String: AnyJSON].self, defaults),
            let options = StoredJSON.decode(
                TransferOptions.self,
                StoredJSON.encode(base.merging(known) { _, stored in stored }))
        else { return nil }
        return options
    }
}

/// Options that differ from file to file. They stand first in the text, so that the rest of it is
/// the same for many transfers, and is written and read once.
struct PerFileOptions: Codable {
    var checksum: Checksum?
    var maxSize: Int64?

    /// `nil` = there are none.
    init?(_ options: TransferOptions) {
        if options.checksum == nil, options.maxSize == nil { return nil }
        checksum = options.checksum
        maxSize = options.maxSize
    }

    /// The text of all options.
    ///
    /// - Parameter others: The text of the others; `nil` = they are default.
    func stored(before others: String?) -> String {
        let others = others ?? StoredJSON.encode(TransferOptions())
        assert(others.hasPrefix("{" + Self.firstOther), "keys are sorted, and this one is written")
        return StoredJSON.encode(self).dropLast() + "," + others.dropFirst()
    }

    /// Separates these options from the text of the others; `nil` = they do not stand first.
    static func split(_ text: String) -> (facts: PerFileOptions, others: String)? {
        guard text.hasPrefix(#"{"checksum":"#) || text.hasPrefix(#"{"maxSize":"#),
            let end = text.firstRange(of: "," + Self.firstOther),
            let facts = StoredJSON.decode(PerFileOptions.self, text[..<end.lowerBound] + "}")
        else { return nil }
        return (facts, "{" + text[end.lowerBound...].dropFirst())
    }

    /// The first key of the other options.
    private static let firstOther = #""after":"#
}

/// A JSON value of any kind, to be passed on unchanged.
private enum AnyJSON: Codable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case array([AnyJSON])
    case object([String: AnyJSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([AnyJSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: AnyJSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
