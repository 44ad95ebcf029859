internal import Longhaul
internal import NIOHTTP1

/// The OpenAPI document, made from the table of routes.
enum OpenAPI {
    static func text(of routes: [Route]) -> String {
        let paths = Dictionary(grouping: routes, by: \.pattern).mapValues { routes in
            JSONPayload.object(
                Dictionary(
                    uniqueKeysWithValues: routes.map {
                        ($0.method.rawValue.lowercased(), operation($0))
                    }))
        }
        let document: JSONPayload = [
            "openapi": "3.1.0",
            "info": [
                "title": "Longhaul", "version": .string(LonghaulVersion.current),
                "description": "the queue of transfers; docs/serve.md describes it",
            ],
            "paths": .object(paths),
            "components": [
                "schemas": .object(schemas),
                "securitySchemes": ["secret": ["type": "http", "scheme": "bearer"]],
            ],
            "security": [[:], ["secret": []]],
        ]
        return document.text + "\n"
    }

    private static func operation(_ route: Route) -> JSONPayload {
        var members: [String: JSONPayload] = ["summary": .string(route.summary)]
        var parameters = route.pathNames.map { name -> JSONPayload in
            [
                "name": .string(name), "in": "path", "required": true,
                "schema": name == "id" ? ["type": "integer", "minimum": 1] : ["type": "string"],
            ]
        }
        parameters += route.parameters.map { parameter in
            [
                "name": .string(parameter.name), "in": "query",
                "description": .string(parameter.summary),
                "schema": schema(of: parameter.kind),
            ]
        }
        if !parameters.isEmpty { members["parameters"] = .array(parameters) }
        if let body = content(route.body) {
            members["requestBody"] = ["required": true, "content": body]
        }
        var success: [String: JSONPayload] = ["description": .string(route.summary)]
        success["content"] = content(route.answer)
        let refusals: [(String, String)] = [
            ("400", "it is not understood"), ("401", "the secret is missing or wrong"),
            ("403", "it is not permitted"), ("404", "there is no such thing"),
            ("409", "it is refused"), ("413", "it is too large"),
            ("429", "there are too many"),
            ("500", "an internal error"), ("503", "the store cannot be used"),
        ]
        var answers = Dictionary(
            uniqueKeysWithValues: refusals.map { code, text in
                (
                    code,
                    [
                        "description": .string(text),
                        "content": ["application/json": ["schema": reference("Error")]],
                    ] as JSONPayload
                )
            })
        answers["\(route.status.code)"] = .object(success)
        members["responses"] = .object(answers)
        return .object(members)
    }

    private static func schema(of kind: Route.Parameter.Kind) -> JSONPayload {
        switch kind {
        case .string: return ["type": "string"]
        case .integer(let range):
            return [
                "type": "integer", "minimum": .integer(range.lowerBound),
                "maximum": .integer(range.upperBound),
            ]
        case .words(let words):
            let word = "(\(words.joined(separator: "|")))"
            return ["type": "string", "pattern": .string("^\(word)(,\(word))*$")]
        }
    }

    private static func content(_ content: Route.Content) -> JSONPayload? {
        switch content {
        case .none: return nil
        case .json(let name): return ["application/json": ["schema": reference(name)]]
        case .list(let key, let name): return json(list(key, name))
        case .text(let type): return .object([type: ["schema": ["type": "string"]]])
        case .events:
            return [
                "application/json": ["schema": list("events", "Event")],
                "text/event-stream": ["schema": ["type": "string"]],
            ]
        }
    }

    private static func json(_ schema: JSONPayload) -> JSONPayload {
        ["application/json": ["schema": schema]]
    }

    private static func list(_ key: String, _ name: String) -> JSONPayload {
        [
            "type": "object", "required": [.string(key)],
            "properties": .object([
                key: ["type": "array", "items": reference(name)],
                "next": ["type": ["integer", "null"]],
            ]),
        ]
    }

    private static func reference(_ name: String) -> JSONPayload {
        ["$ref": .string("#/components/schemas/\(name)")]
    }
}
