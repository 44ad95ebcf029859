internal import Longhaul

extension OpenAPI {
    /// Schemas name what programs rely on; more keys may be added.
    static let schemas = queueSchemas.merging(changeSchemas) { $1 }

    private static let changeSchemas: [String: JSONPayload] = [
        "Settings": object([
            "version": string, "readOnly": boolean, "changesJobs": boolean, "secret": boolean,
            "configuration": ["type": ["string", "null"]],
            "directories": ["type": "array"], "limits": ["type": "object"],
            "retention": ["type": "object"], "defaults": ["type": "object"],
        ]),
        "Limit": object([
            "rateLimit": ["type": ["object", "null"]], "configured": ["type": ["integer", "null"]],
        ]),
        "NewLimit": [
            "type": "object", "additionalProperties": false, "required": ["rate"],
            "properties": [
                "rate": ["type": ["string", "integer", "null"]],
                "for": ["type": ["string", "integer", "null"]],
            ],
        ],
        "Order": object(["order": ["type": "array", "items": ["type": "integer"]]]),
        "Move": [
            "type": "object", "additionalProperties": false,
            "properties": ["before": integer, "after": integer],
            "oneOf": [["required": ["before"]], ["required": ["after"]]],
        ],
        "Action": [
            "type": "object", "additionalProperties": false, "required": ["action", "ids"],
            "properties": [
                "action": choice(BulkRoutes.actions),
                "ids": [
                    "type": "array", "items": integer, "minItems": 1,
                    "maxItems": .integer(Int64(Limits.servedPageMaximum)),
                ],
            ],
        ],
        "ActionResult": ChangeOutcome.jsonSchema,
        "Ticket": object(["ticket": string, "seconds": integer]),
        "NewJob": [
            "type": "object", "required": ["argv"],
            "properties": ["argv": ["type": "array", "items": string, "minItems": 1]],
        ],
        "NewTask": [
            "type": "object", "additionalProperties": false, "required": ["identifier", "title"],
            "properties": [
                "identifier": string, "title": string, "subtitle": ["type": ["string", "null"]],
                "strategy": choice(SubmissionStrategy.allCases.map(\.rawValue)),
                "host": ["type": ["string", "null"]], "payload": [:],
            ],
        ],
        "NewWakeUp": [
            "type": "object", "additionalProperties": false,
            "properties": [
                "identifier": ["type": ["string", "null"]], "payload": [:], "urgent": boolean,
                "expires": ["type": ["string", "integer", "null"]],
            ],
        ],
        "WakeUp": object([
            "host": string, "identifier": ["type": ["string", "null"]], "urgent": boolean,
            "expiresAt": ["type": ["string", "null"]],
        ]),
        "RemovedJob": object(["name": string, "removed": boolean]),
    ]

    /// The schemas of the records list all that the commands print; more keys may be added.
    private static let queueSchemas: [String: JSONPayload] = [
        "Transfer": ShownField.schema(of: Transfer.listed),
        // With `view=row` it has no other keys than a row.
        "ListedTransfer": ShownField.schema(of: Transfer.listed, requiring: Transfer.row),
        "TransferHistory": ShownField.schema(of: Transfer.fieldsOfHistory),
        "Why": ShownField.schema(of: Transfer.why),
        "Status": QueueStatus.jsonSchema,
        "Condition": ShownField.schema(of: ConditionKind.fields),
        "Session": SessionRecord.jsonSchema,
        "Host": HostRecord.jsonSchema,
        "Task": TaskRecord.jsonSchema,
        "Job": JobRecord.jsonSchema,
        "Bundle": BundleRecord.jsonSchema,
        "Folder": FolderRecord.jsonSchema,
        "Event": EventRecord.jsonSchema,
        "Removed": object(["id": integer, "removed": ["type": "boolean"]]),
        "Acknowledged": object(["acknowledged": integer]),
        "Document": ["type": "object"],
        "Error": object(["error": object(["code": string, "message": string])]),
        "Ack": [
            "type": "object", "additionalProperties": false,
            "properties": ["through": integer, "seq": integer, "session": string],
            "oneOf": [["required": ["through"]], ["required": ["seq"]]],
        ],
        "Request": [
            "oneOf": [request, ["type": "array", "minItems": 1, "items": request]]
        ],
        "Change": [
            "type": "object", "additionalProperties": false, "minProperties": 1,
            "properties": .object(
                fields(RequestField.changeable, null: isTakenAway).merging([
                    "url": string, "destination": string, "headers": ["type": "object"],
                    "complete": boolean,
                ]) { $1 }),
        ],
    ]

    private static let request: JSONPayload = [
        "type": "object", "required": ["url"],
        "properties": .object(
            fields(RequestField.all).merging([
                "url": string, "destination": string, "directory": string, "source": string,
                "kind": choice(["download", "upload"]),
            ]) { $1 }),
    ]

    /// - Parameter null: Whether `null` is a value of a field.
    private static func fields(
        _ fields: [RequestField], null: (RequestField) -> Bool = { _ in true }
    ) -> [String: JSONPayload] {
        Dictionary(
            fields.filter { !$0.key.isEmpty }.map { ($0.key, schema(of: $0, null: null($0))) },
            uniquingKeysWith: { first, _ in first })
    }

    /// A change to `null` takes the value of a field away, where that is possible.
    private static func isTakenAway(_ field: RequestField) -> Bool {
        let context = InputContext(
            now: Timestamp(milliseconds: 0), secondsFromUTC: { _ in 0 }, directory: .success("/"))
        var fields = PartialRequest()
        let source = FieldSource(name: field.key, context)
        return (try? fields.read(field, .text("none"), source)) != nil
    }

    private static func schema(of field: RequestField, null: Bool) -> JSONPayload {
        let types: [JSONPayload]
        var members: [String: JSONPayload] = [:]
        if let option = field.option { members["description"] = .string(option.help) }
        switch field.shape {
        case .text: types = ["string"]
        case .number: types = ["integer", "string"]
        case .flag, .onOff: types = ["boolean"]
        case .duration: types = ["number", "string"]
        case .list:
            types = ["array", "string"]
            members["items"] = ["type": ["string", "integer"]]
        case .headers: types = ["object"]
        case .pairs: types = ["object", "array", "string"]
        case .json: types = []
        }
        if !types.isEmpty { members["type"] = .array(types + (null ? ["null"] : [])) }
        if !field.choices.isEmpty {
            let choices = field.choices.map { JSONPayload.string($0) }
            members["enum"] = .array(choices + (null ? [.null] : []))
        }
        return .object(members)
    }

    private static let string: JSONPayload = ["type": "string"]
    private static let integer: JSONPayload = ["type": "integer"]
    private static let boolean: JSONPayload = ["type": "boolean"]

    private static func choice(_ values: [String]) -> JSONPayload {
        ["type": "string", "enum": .array(values.map { .string($0) })]
    }

    private static func object(_ properties: [String: JSONPayload]) -> JSONPayload {
        [
            "type": "object", "required": .array(properties.keys.sorted().map { .string($0) }),
            "properties": .object(properties),
        ]
    }
}
