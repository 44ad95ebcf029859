internal import Longhaul

/// Calls of `system.multicall` and of a batch.
private let rpcCallsMaximum = 1000

/// A call as it was sent. Its parameters are checked, but built only once it is known that the
/// client may call: the values of a stranger's text cost no memory.
struct RPCCall: Sendable {
    enum Parameters: Sendable {
        case none
        /// The text of an array.
        case list(ArraySlice<UInt8>)
        /// Neither an array nor `null`.
        case odd
    }

    private(set) var id: JSONPayload?
    private(set) var method: String?
    /// The secret of a first parameter `token:SECRET`.
    private(set) var token: String?
    private(set) var parameters = Parameters.none

    /// A call of known parts.
    ///
    /// - Throws: ``JSONProblem``.
    init(id: JSONPayload, method: String, parameters: [UInt8]) throws {
        self.id = id
        self.method = method
        try parameters.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            try readParameters(&scanner, parameters[...])
            try scanner.end()
        }
    }

    /// Reads an object of `id`, `params` and the name of the method; other members are ignored.
    ///
    /// - Parameters:
    ///   - text: The scanner's input.
    ///   - nameKey: `methodName` in `system.multicall`.
    /// - Throws: ``JSONProblem``.
    fileprivate init(
        _ scanner: inout JSONScanner, _ text: ArraySlice<UInt8>, nameKey: String = "method"
    ) throws {
        try scanner.object { key, scanner in
            switch key {
            case "id": id = try RPCCall.id(&scanner)
            case nameKey: method = try RPCCall.name(&scanner)
            case "params": try readParameters(&scanner, text)
            default: try scanner.skip()
            }
        }
    }

    /// A text, a number or `null` (JSON-RPC 2.0 §4); another value counts as missing.
    private static func id(_ scanner: inout JSONScanner) throws -> JSONPayload? {
        if scanner.isObject() || scanner.isArray() {
            try scanner.skip()
            return nil
        }
        return try JSONPayload(&scanner)
    }

    private static func name(_ scanner: inout JSONScanner) throws -> String? {
        if scanner.isString() { return try scanner.string() }
        try scanner.skip()
        return nil
    }

    private mutating func readParameters(
        _ scanner: inout JSONScanner, _ text: ArraySlice<UInt8>
    ) throws {
        token = nil
        parameters = .odd
        guard scanner.isArray() else {
            if scanner.null() { parameters = .none } else { try scanner.skip() }
            return
        }
        let start = scanner.offset
        var isFirst = true
        try scanner.array { scanner in
            defer { isFirst = false }
            guard isFirst, scanner.isString() else { return try scanner.skip() }
            let first = try scanner.string()
            if first.hasPrefix("token:") { token = String(first.dropFirst("token:".count)) }
        }
        parameters = .list(text[text.startIndex + start..<text.startIndex + scanner.offset])
    }

    /// The parameters without the token.
    ///
    /// - Throws: ``JSONProblem``.
    func values() throws -> [JSONPayload] {
        guard case .list(let text) = parameters else { return [] }
        var values: [JSONPayload] = []
        try RPCCall.each(in: text) { scanner, _ in values.append(try JSONPayload(&scanner)) }
        return token == nil ? values : Array(values.dropFirst())
    }

    /// The calls of `system.multicall`, its first parameter after the token, at most
    /// `rpcCallsMaximum`; `nil` in the place of an invalid call, and where the parameter
    /// is missing.
    ///
    /// - Throws: ``JSONProblem``.
    func calls() throws -> [RPCCall?]? {
        var calls: [RPCCall?]?
        if case .list(let text) = parameters {
            var place = token == nil ? 0 : -1
            try RPCCall.each(in: text) { scanner, text in
                defer { place += 1 }
                guard place == 0, scanner.isArray() else { return try scanner.skip() }
                calls = try RPCCall.list(&scanner, text, nameKey: "methodName")
            }
        }
        return calls
    }

    /// Calls in an array; what follows after the most that are answered is checked alone.
    fileprivate static func list(
        _ scanner: inout JSONScanner, _ text: ArraySlice<UInt8>, nameKey: String = "method"
    ) throws -> [RPCCall?] {
        var calls: [RPCCall?] = []
        try scanner.array { scanner in
            guard calls.count < rpcCallsMaximum else { return try scanner.skip() }
            if scanner.isObject() {
                calls.append(try RPCCall(&scanner, text, nameKey: nameKey))
            } else {
                try scanner.skip()
                calls.append(nil)
            }
        }
        return calls
    }

    private static func each(
        in text: ArraySlice<UInt8>,
        _ element: (inout JSONScanner, ArraySlice<UInt8>) throws -> Void
    ) throws {
        try text.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            try scanner.array { try element(&$0, text) }
        }
    }
}

/// The calls of one message.
enum RPCMessage: Sendable {
    case call(RPCCall)
    /// `nil` in the place of an invalid call.
    case batch([RPCCall?])
    /// Another value.
    case odd

    /// - Throws: ``JSONProblem``.
    init(_ text: [UInt8]) throws {
        // Some clients begin with a byte order mark.
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = text.starts(with: mark) ? text.dropFirst(mark.count) : text[...]
        self = try text.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            let message = try RPCMessage(&scanner, text)
            try scanner.end()
            return message
        }
    }

    private init(_ scanner: inout JSONScanner, _ text: ArraySlice<UInt8>) throws {
        if scanner.isArray() {
            self = .batch(try RPCCall.list(&scanner, text))
        } else if scanner.isObject() {
            self = .call(try RPCCall(&scanner, text))
        } else {
            try scanner.skip()
            self = .odd
        }
    }
}
