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

/// The name of a transfer over JSON-RPC: 16 hexadecimal digits that a client has chosen, else its
/// id, so that each lasts.
struct GID {
    /// The digits as a client has sent them, in lower case: all, the first ones, or all without
    /// leading zeros.
    private let digits: String
    private let number: UInt64

    /// No id will ever be as high, so that a chosen one is never that of another transfer.
    private static let firstChosen: UInt64 = 1 << 40
    private static let length = 16

    /// - Throws: `noSuchTransfer`.
    init(_ text: String) throws(LonghaulError) {
        guard text.utf8.count <= GID.length, text.utf8.allSatisfy(\.isASCIIHexDigit),
            let number = UInt64(text, radix: 16)
        else { throw LonghaulError(.noSuchTransfer, "Invalid GID \(TerminalText.shown(text))") }
        digits = text.lowercased()
        self.number = number
    }

    /// The id that it is, without regard to leading zeros.
    var id: TransferID? {
        (1..<GID.firstChosen).contains(number) ? TransferID(rawValue: Int64(number)) : nil
    }

    /// The name of a client's that it is.
    var chosen: String? { number >= GID.firstChosen ? GID.digits(number) : nil }

    /// Finds the one transfer that has it.
    ///
    /// - Throws: `noSuchTransfer`; `conflict` where several have it.
    func transfer(in queue: ServedQueue) throws(LonghaulError) -> Transfer {
        var ids: Set<TransferID> = []
        if let id { ids.insert(id) }
        if let chosen, let id = try queue.aria.transfer(gid: chosen) { ids.insert(id) }
        if digits.utf8.count < GID.length {
            ids.formUnion(try queue.aria.transfers(gidPrefix: digits, ids: range))
        }
        let found = try queue.queue.transfers(ids.sorted())
        if found.count > 1 {
            throw LonghaulError(.conflict, "GID \(digits) is not unique")
        }
        guard let transfer = found.first else {
            throw LonghaulError(.noSuchTransfer, "GID \(digits) is not found")
        }
        return transfer
    }

    /// The ids whose 16 digits begin with these; `nil` = no id has them.
    private var range: ClosedRange<Int64>? {
        let shift = UInt64(4 * (GID.length - digits.utf8.count))
        let first = number << shift
        if first >= GID.firstChosen { return nil }
        return Int64(first)...Int64(min(first + ((1 << shift) - 1), GID.firstChosen - 1))
    }

    /// Reads a gid that a client chooses.
    ///
    /// - Throws: `invalidRequest`.
    static func choice(_ text: String) throws(LonghaulError) -> String {
        guard text.utf8.count == length, let gid = try? GID(text), gid.number >= firstChosen else {
            throw LonghaulError(
                .invalidRequest,
                "gid: it is 16 hexadecimal digits, from \(digits(firstChosen)) on")
        }
        return gid.digits
    }

    static func text(_ transfer: Transfer) -> String {
        text(transfer.id, chosen: transfer.options.gid)
    }

    /// - Parameter chosen: By a client; `nil` = none was.
    static func text(_ id: TransferID, chosen: String?) -> String {
        chosen ?? digits(UInt64(clamping: id.rawValue))
    }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: length - digits.utf8.count) + digits
    }
}
