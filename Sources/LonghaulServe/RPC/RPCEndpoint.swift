internal import Longhaul
internal import LonghaulPlatform
internal import NIOHTTP1
internal import Synchronization

/// An answer over JSON-RPC.
struct RPCReply: Sendable {
    var json: JSONPayload
    /// The code of the error; 0 = no error.
    var code: Int64 = 0
    /// A secret was wrong or missing.
    var isUnauthorized = false
    /// A secret was wrong.
    var isGuess = false
    /// A call had the right secret.
    var isProven = false
}

/// Authentication and method of a call's request.
struct RPCCaller: Sendable {
    /// The request had the secret in its header, or none is asked for.
    var isProven: Bool
    /// By GET: a link in a mail is enough to send it.
    var isByLink = false
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
            return answer(answer(text: request.body, isProven: isProven))
        case .GET:
            let callback = request.query["jsoncallback"] ?? ""
            // Another text would be a program that runs in the page.
            guard callback.utf8.allSatisfy({ $0.isNameOfScript }) else {
                return ServedAnswer(.usage("jsoncallback: it is a name"))
            }
            var answer = answer(reply(to: request, RPCCaller(isProven: isProven, isByLink: true)))
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

    private func reply(to request: ServedRequest, _ caller: RPCCaller) -> RPCReply {
        // Base64 may hold a plus sign, which the query's own decoding takes for a space.
        let given = request.query["params"]?.replacing(" ", with: "+")
        guard let text = Base64.decode(given ?? "W10=") else { return .parseError }
        guard let method = request.query["method"], !method.isEmpty else {
            return answer(text, caller)
        }
        let id = JSONPayload.string(request.query["id"] ?? "")
        guard let call = try? RPCCall(id: id, method: method, parameters: text) else {
            return .parseError
        }
        return one(call, caller)
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
        answer.isProven = reply.isProven
        return answer
    }

    // MARK: - Calls

    /// A call, or a batch of them.
    func answer(text: [UInt8], isProven: Bool) -> RPCReply {
        answer(text, RPCCaller(isProven: isProven))
    }

    private func answer(_ text: [UInt8], _ caller: RPCCaller) -> RPCReply {
        guard let message = try? RPCMessage(text) else { return .parseError }
        switch message {
        case .call(let call): return one(call, caller)
        case .batch(let calls):
            var (replies, answer) = ([JSONPayload](), RPCReply(json: .null))
            for case let call? in calls {
                let reply = one(call, caller)
                replies.append(reply.json)
                if reply.isUnauthorized { answer.isUnauthorized = true }
                if reply.isProven { answer.isProven = true }
                // A batch of guesses would have them at a second for all.
                if reply.isGuess { break }
            }
            answer.json = .array(replies)
            return answer
        case .odd: return .invalid(id: .null)
        }
    }

    private func one(_ call: RPCCall, _ caller: RPCCaller) -> RPCReply {
        guard let id = call.id, let name = call.method else {
            return .invalid(id: call.id ?? .null)
        }
        if case .odd = call.parameters { return .failure(id, -32602, "Invalid params.") }
        var isProven = caller.isProven
        do {
            isProven = try hasRight(call, caller)
            let result: JSONPayload
            if name == "system.multicall" {
                guard let calls = try call.calls() else {
                    throw LonghaulError(
                        .invalidRequest, "The parameter at 0 is required but missing.")
                }
                if try check(calls, RPCCaller(isProven: isProven, isByLink: caller.isByLink)) {
                    isProven = true
                }
                result = .array(calls.map { inner($0) })
            } else {
                try check(name, isProven: isProven, caller)
                result = try perform(name, call)
            }
            return RPCReply(
                json: ["jsonrpc": "2.0", "id": id, "result": result], isProven: isProven)
        } catch {
            var reply = RPCReply.failure(id, 1, error.shownText)
            let refusal = error as? RPCUnauthorized
            reply.isUnauthorized = refusal != nil
            reply.isGuess = refusal?.isGuess ?? false
            reply.isProven = isProven && refusal == nil
            return reply
        }
    }

    /// The call has the secret, or came with it.
    ///
    /// - Throws: ``RPCUnauthorized`` for a wrong one.
    private func hasRight(_ call: RPCCall, _ caller: RPCCaller) throws -> Bool {
        guard let secret = queue.secret, let token = call.token else { return caller.isProven }
        if !secret.matches(token) { throw RPCUnauthorized(isGuess: true) }
        return true
    }

    /// - Throws: ``RPCUnauthorized``; `notPermitted` for a change that a link would be enough for.
    private func check(_ name: String, isProven: Bool, _ caller: RPCCaller) throws {
        if !isProven, !RPCEndpoint.open.contains(name) { throw RPCUnauthorized(isGuess: false) }
        let hasSecret = queue.secret != nil && isProven
        if caller.isByLink, !hasSecret, !RPCEndpoint.reads(name) {
            throw LonghaulError(
                .notPermitted,
                "by GET \(TerminalText.shown(String(name.prefix(100)))) needs the secret; use POST")
        }
    }

    /// Checks all calls of `system.multicall` before the first is carried out.
    ///
    /// - Returns: One of them has the secret.
    private func check(_ calls: [RPCCall?], _ caller: RPCCaller) throws -> Bool {
        var isAnyProven = false
        for case let call? in calls {
            let isProven = try hasRight(call, caller)
            if let name = call.method { try check(name, isProven: isProven, caller) }
            if isProven { isAnyProven = true }
        }
        return isAnyProven
    }

    /// Names may be asked for without the secret.
    private static let open: Set<String> = ["system.listMethods", "system.listNotifications"]

    private static func reads(_ name: String) -> Bool {
        ["aria2.tell", "aria2.get", "system.list"].contains { name.hasPrefix($0) }
    }

    /// Carries out a call of a client that may.
    private func perform(_ name: String, _ call: RPCCall) throws -> JSONPayload {
        switch name {
        case "system.listMethods": return .array(methods.names.map { .string($0) })
        case "system.listNotifications":
            return .array(RPCNotices.names.map { .string($0) })
        default: break
        }
        guard let method = methods.find(name) else {
            let shown = TerminalText.shown(String(name.prefix(100)))
            throw LonghaulError(.invalidRequest, "No such method: \(shown)")
        }
        return try method(RPCParameters(try call.values()))
    }

    /// The result of a call of `system.multicall` is a list of one; an error is an object.
    private func inner(_ call: RPCCall?) -> JSONPayload {
        guard let call, let name = call.method else {
            return ["code": 1, "message": "Missing methodName."]
        }
        if name == "system.multicall" {
            return ["code": 1, "message": "Recursive system.multicall forbidden."]
        }
        do {
            return [try perform(name, call)]
        } catch {
            return ["code": 1, "message": .string(error.shownText)]
        }
    }
}

/// The secret of a call is missing, or wrong: a guess.
struct RPCUnauthorized: Error {
    var isGuess: Bool
}

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
