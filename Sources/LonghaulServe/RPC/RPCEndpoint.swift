internal import Longhaul
internal import LonghaulPlatform
internal import NIOHTTP1
internal import Synchronization

/// An answer over JSON-RPC.
struct RPCReply: Sendable {
    var json: JSONPayload
    /// The code of the error; 0 = there is none.
    var code: Int64 = 0
    /// A secret was wrong or missing.
    var isUnauthorized = false
}

/// aria2's JSON-RPC: https://aria2.github.io/manual/en/html/aria2c.html#rpc-interface
struct RPCEndpoint: Sendable {
    private let queue: ServedQueue
    private let methods: RPCMethods

    init(_ queue: ServedQueue) {
        self.queue = queue
        methods = RPCMethods(queue)
    }

    // MARK: - HTTP

    /// The answer to a POST, or to a GET with the call in its query.
    func answer(_ request: ServedRequest, isProven: Bool) -> ServedAnswer {
        switch request.method {
        case .POST:
            // The content type is no defence and no help: clients send all kinds.
            return answer(
                answer(text: String(decoding: request.body, as: UTF8.self), isProven: isProven))
        case .GET:
            let callback = request.query["jsoncallback"] ?? ""
            // Another text would be a program that runs in the page.
            guard callback.utf8.allSatisfy({ $0.isNameOfScript }) else {
                return ServedAnswer(.usage("jsoncallback: it is a name"))
            }
            var answer = answer(reply(to: request, isProven: isProven))
            if !callback.isEmpty {
                answer.type = "text/javascript"
                answer.body = Array("\(callback)(".utf8) + answer.body + Array(")".utf8)
            }
            return answer
        default:
            return ServedAnswer(
                LonghaulError(.unsupported, "the method is POST or GET"), .methodNotAllowed)
        }
    }

    private func reply(to request: ServedRequest, isProven: Bool) -> RPCReply {
        // Base64 may hold a plus sign, which the query's own decoding takes for a space.
        let given = request.query["params"]?.replacing(" ", with: "+")
        guard let bytes = Base64.decode(given ?? "W10=") else { return .parseError }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let method = request.query["method"], !method.isEmpty else {
            return answer(text: text, isProven: isProven)
        }
        guard let parameters = try? JSONPayload(parsing: text) else { return .parseError }
        return one(
            [
                "jsonrpc": "2.0", "id": .string(request.query["id"] ?? ""),
                "method": .string(method), "params": parameters,
            ], isProven)
    }

    private func answer(_ reply: RPCReply) -> ServedAnswer {
        let status: HTTPResponseStatus
        switch reply.code {
        case 0: status = .ok
        case 1, -32600: status = .badRequest
        case -32601: status = .notFound
        default: status = .internalServerError
        }
        var answer = ServedAnswer(status, type: "application/json-rpc", reply.json.text)
        answer.isSlow = reply.isUnauthorized
        return answer
    }

    // MARK: - Calls

    /// A call, or a batch of them.
    func answer(text: String, isProven: Bool) -> RPCReply {
        guard let call = try? JSONPayload(parsing: text) else { return .parseError }
        switch call {
        case .array(let calls):
            let replies = calls.prefix(Limits.rpcCallsMaximum).filter(\.isObject).map {
                one($0, isProven)
            }
            return RPCReply(
                json: .array(replies.map(\.json)),
                isUnauthorized: replies.contains { $0.isUnauthorized })
        case .object: return one(call, isProven)
        case .null, .bool, .integer, .number, .string: return .invalid(id: .null)
        }
    }

    private func one(_ call: JSONPayload, _ isProven: Bool) -> RPCReply {
        guard let id = call["id"], let name = call["method"]?.string else {
            return .invalid(id: call["id"] ?? .null)
        }
        let parameters: [JSONPayload]
        switch call["params"] {
        case nil, .null: parameters = []
        case .array(let list): parameters = list
        case .some: return .failure(id, -32602, "Invalid params.")
        }
        do {
            let result = try perform(name, parameters, isProven)
            return RPCReply(json: ["jsonrpc": "2.0", "id": id, "result": result])
        } catch {
            var reply = RPCReply.failure(id, 1, error.shownText)
            reply.isUnauthorized = error is RPCUnauthorized
            return reply
        }
    }

    /// - Throws: ``RPCUnauthorized``, or why the call is refused.
    private func perform(
        _ name: String, _ parameters: [JSONPayload], _ isProven: Bool
    ) throws -> JSONPayload {
        var parameters = parameters
        var isProven = isProven
        if let token = parameters.first?.string, token.hasPrefix("token:") {
            parameters.removeFirst()
            if let secret = queue.secret {
                isProven = secret.matches(String(token.dropFirst("token:".count)))
                if !isProven { throw RPCUnauthorized() }
            }
        }
        switch name {
        case "system.multicall": return try calls(parameters, isProven)
        case "system.listMethods": return .array(methods.names.map { .string($0) })
        case "system.listNotifications":
            return .array(RPCNotices.names.map { .string($0) })
        default: break
        }
        guard let method = methods.find(name) else {
            throw LonghaulError(.invalidRequest, "No such method: \(TerminalText.shown(name))")
        }
        if !isProven { throw RPCUnauthorized() }
        return try method(RPCParameters(parameters))
    }

    /// Each result is a list of one; an error is an object.
    private func calls(_ parameters: [JSONPayload], _ isProven: Bool) throws -> JSONPayload {
        guard case .array(let calls) = parameters.first else {
            throw LonghaulError(.invalidRequest, "The parameter at 0 is required but missing.")
        }
        var isUnauthorized = false
        let results = calls.prefix(Limits.rpcCallsMaximum).map { call -> JSONPayload in
            guard let name = call["methodName"]?.string else {
                return ["code": 1, "message": "Missing methodName."]
            }
            if name == "system.multicall" {
                return ["code": 1, "message": "Recursive system.multicall forbidden."]
            }
            var parameters: [JSONPayload] = []
            if case .array(let list) = call["params"] { parameters = list }
            do {
                return [try perform(name, parameters, isProven)]
            } catch {
                isUnauthorized = isUnauthorized || error is RPCUnauthorized
                return ["code": 1, "message": .string(error.shownText)]
            }
        }
        // One answer to many guesses.
        if isUnauthorized { throw RPCUnauthorized() }
        return .array(results)
    }
}

struct RPCUnauthorized: Error {}

extension RPCReply {
    static let parseError = RPCReply.failure(.null, -32700, "Parse error.")

    static func invalid(id: JSONPayload) -> RPCReply { failure(id, -32600, "Invalid Request.") }

    static func failure(_ id: JSONPayload, _ code: Int64, _ message: String) -> RPCReply {
        RPCReply(
            json: [
                "jsonrpc": "2.0", "id": id,
                "error": ["code": .integer(code), "message": .string(message)],
            ], code: code)
    }
}

extension JSONPayload {
    fileprivate var isObject: Bool {
        if case .object = self { true } else { false }
    }
}

extension Error {
    fileprivate var shownText: String {
        if self is RPCUnauthorized { return "Unauthorized" }
        guard let error = self as? LonghaulError else { return "\(self)" }
        return Redaction.text(error.message)
    }
}

extension UInt8 {
    fileprivate var isNameOfScript: Bool {
        isASCIIDigit || (0x61...0x7A).contains(self | 0x20) || self == UInt8(ascii: "_")
            || self == UInt8(ascii: "$") || self == UInt8(ascii: ".")
    }
}
