internal import Longhaul
internal import NIOHTTP1

/// A request that the server answers. The table of routes also makes the OpenAPI document.
struct Route: Sendable {
    /// A parameter of the query.
    struct Parameter: Sendable {
        enum Kind: Sendable {
            case string
            case integer(ClosedRange<Int64>)
            /// Some of these, with commas between.
            case words([String])
        }

        var name: String
        var kind: Kind
        var summary: String
    }

    /// The content of a request or an answer.
    enum Content: Sendable {
        case none
        /// JSON with the schema of this name.
        case json(String)
        /// An object with a list of it.
        case list(String, of: String)
        case text(String)
        /// Server-Sent Events where the client accepts them.
        case events
    }

    var method: HTTPMethod
    /// Path pattern, such as `/v1/transfers/{id}/why`.
    var pattern: String
    var summary: String
    var parameters: [Parameter] = []
    var body = Content.none
    var status = HTTPResponseStatus.ok
    var answer: Content
    var perform: @Sendable (RouteCall) throws -> ServedAnswer

    private var parts: [Substring] { pattern.split(separator: "/") }

    /// The names in the path, and their values; `nil` = the path is another.
    func match(_ path: [String]) -> [String: String]? {
        let parts = parts
        guard parts.count == path.count else { return nil }
        var values: [String: String] = [:]
        for (part, text) in zip(parts, path) {
            if part.hasPrefix("{") {
                values[String(part.dropFirst().dropLast())] = text
            } else if part != text {
                return nil
            }
        }
        return values
    }

    /// The names in the pattern, in order.
    var pathNames: [String] {
        parts.filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }
}

/// A request, with the means of a route to answer it.
struct RouteCall: Sendable {
    var request: ServedRequest
    var names: [String: String]
    var queue: ServedQueue

    func id() throws(LonghaulError) -> TransferID {
        guard let value = names["id"].flatMap({ $0.decimalValue }) else {
            throw LonghaulError(.noSuchTransfer, "an id of a transfer is a number")
        }
        return TransferID(rawValue: value)
    }

    func name() -> String { names["name"] ?? "" }

    func number(_ name: String, in range: ClosedRange<Int64>) throws(LonghaulError) -> Int64? {
        guard let text = request.query[name] else { return nil }
        guard let number = text.decimalValue, range.contains(number) else {
            throw .usage(
                "\(name): it is a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func text(_ name: String) -> String? {
        request.query[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The transfer after a change.
    func shown(_ id: TransferID) throws(LonghaulError) -> ServedAnswer {
        let transfer = try queue.transfer(id)
        var json = JSONText()
        json.value(transfer, as: Transfer.listed)
        return ServedAnswer(json: json)
    }

    /// A list under a name.
    func list<Element: ShownRecord>(
        _ name: String, _ elements: [Element], as fields: [ShownField<Element>] = Element.fields
    ) -> ServedAnswer {
        var json = JSONText()
        json.object { $0.field(name, elements, as: fields) }
        return ServedAnswer(json: json)
    }
}

/// Finds the route of a request.
struct Router: Sendable {
    let routes: [Route]

    func answer(_ request: ServedRequest, _ queue: ServedQueue) throws -> ServedAnswer {
        let method = request.method == .HEAD ? HTTPMethod.GET : request.method
        var others: [String] = []
        for route in routes {
            guard let names = route.match(request.path) else { continue }
            if route.method == method {
                return try route.perform(RouteCall(request: request, names: names, queue: queue))
            }
            others.append(route.method.rawValue)
        }
        if others.isEmpty {
            throw LonghaulError(
                .noSuchTransfer, "there is nothing here; /v1/openapi.json tells what there is")
        }
        var answer = ServedAnswer(
            LonghaulError(.unsupported, "the method is \(others.joined(separator: " or "))"),
            .methodNotAllowed)
        answer.headers = [("Allow", others.joined(separator: ", "))]
        return answer
    }
}
