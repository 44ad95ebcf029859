internal import Foundation
internal import LonghaulCore
private import Synchronization

/// Values that the store keeps as one JSON text.
package enum StoredJSON {
    package static func encode(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            // Only non-finite numbers fail, for which requests were validated before.
            preconditionFailure("a value of ours can be written as JSON")
        }
        return String(decoding: data, as: UTF8.self)
    }

    /// `nil` for text that is damaged, or of a later version.
    package static func decode<Value: Decodable>(_ type: Value.Type, _ text: String) -> Value? {
        try? JSONDecoder().decode(type, from: Data(text.utf8))
    }
}

extension TransferOptions {
    private static let standard = TransferOptions()

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
        if let known = TransferOptions.read.withLock({ $0[text] }) {
            self = known
            return
        }
        guard let options = TransferOptions.decode(text) else { return nil }
        TransferOptions.read.withLock {
            if $0.count == TransferOptions.readMax { $0 = [:] }
            $0[text] = options
        }
        self = options
    }

    /// Most transfers of a queue were asked for in one of a few ways, and to decode that takes
    /// longer than all else of a row.
    private static let read = Mutex<[String: TransferOptions]>([:])
    private static let readMax = 64

    private static func decode(_ text: String) -> TransferOptions? {
        if let options = StoredJSON.decode(TransferOptions.self, text) { return options }
        let defaults = StoredJSON.encode(TransferOptions.standard)
        guard
            let known = try? JSONSerialization.jsonObject(with: Data(text.utf8)),
            let base = try? JSONSerialization.jsonObject(with: Data(defaults.utf8)),
            let known = known as? [String: Any], let base = base as? [String: Any],
            let merged = try? JSONSerialization.data(
                withJSONObject: base.merging(known) { _, stored in stored }),
            let options = try? JSONDecoder().decode(TransferOptions.self, from: merged)
        else { return nil }
        return options
    }
}
