internal import Longhaul

/// The parameters of a call, read by their places as aria2 does.
struct RPCParameters: Sendable {
    private let list: [JSONPayload]

    init(_ list: [JSONPayload]) {
        self.list = list
    }

    private func value(_ place: Int) -> JSONPayload? {
        guard place < list.count, list[place] != .null else { return nil }
        return list[place]
    }

    /// The id of a transfer from a gid.
    func gid(_ place: Int = 0) throws(LonghaulError) -> TransferID {
        try GID.id(of: try string(place))
    }

    func string(_ place: Int) throws(LonghaulError) -> String {
        guard let text = value(place)?.optionText else { throw missing(place) }
        return text
    }

    func optionalString(_ place: Int) -> String? { value(place)?.optionText }

    func integer(_ place: Int) throws(LonghaulError) -> Int {
        guard let value = value(place) else { throw missing(place) }
        guard let number = value.integer ?? value.string.flatMap({ Int64($0) }) else {
            throw LonghaulError(.invalidRequest, "The parameter at \(place) has wrong type.")
        }
        return Int(clamping: number)
    }

    func strings(_ place: Int) throws(LonghaulError) -> [String] {
        switch value(place) {
        case .array(let values): return values.compactMap(\.string)
        case .string(let text): return [text]
        case nil: throw missing(place)
        case .some:
            throw LonghaulError(.invalidRequest, "The parameter at \(place) has wrong type.")
        }
    }

    /// The keys that are asked for; `nil` = all.
    func keys(_ place: Int) -> Set<String>? {
        guard case .array(let values) = value(place), !values.isEmpty else { return nil }
        return Set(values.compactMap(\.string))
    }

    /// Options by name, each with its values.
    func options(_ place: Int) -> [String: [String]] {
        guard case .object(let members) = value(place) else { return [:] }
        return members.mapValues { value in
            if case .array(let values) = value { return values.compactMap(\.optionText) }
            return value.optionText.map { [$0] } ?? []
        }
    }

    private func missing(_ place: Int) -> LonghaulError {
        LonghaulError(.invalidRequest, "The parameter at \(place) is required but missing.")
    }
}

extension JSONPayload {
    /// aria2's values are texts; clients send numbers and flags as well.
    var optionText: String? {
        switch self {
        case .string(let text): text
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)"
        case .bool(let flag): flag ? "true" : "false"
        case .null, .array, .object: nil
        }
    }
}

/// The name of a transfer over JSON-RPC: its id as 16 hexadecimal digits, so that it lasts.
enum GID {
    static func text(_ id: TransferID) -> String {
        let digits = String(id.rawValue, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// - Throws: `noSuchTransfer`; leading zeros may be left out.
    static func id(of text: String) throws(LonghaulError) -> TransferID {
        guard text.utf8.count <= 16, text.utf8.allSatisfy(\.isASCIIHexDigit),
            let number = Int64(text, radix: 16), number > 0
        else { throw LonghaulError(.noSuchTransfer, "Invalid GID \(TerminalText.shown(text))") }
        return TransferID(rawValue: number)
    }
}
