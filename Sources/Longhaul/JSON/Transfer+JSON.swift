internal import LonghaulCore

extension TransferState: ShownWord {}

extension Transfer.Kind: ShownValue {
    package static var jsonSchema: JSONPayload {
        ["type": "string", "enum": ["download", "upload"]]
    }

    package func writeJSON(to json: inout JSONText) { json.string(rawValue) }
}

/// A transfer as every command and event shows it; secrets redacted.
extension Transfer: ShownRecord {
    package static let fields: [ShownField<Transfer>] =
        identityFields + progressFields + scheduleFields + [
            ShownField("response", if: hasAnswer) { $0.response?.redacted }
        ]

    /// The answer to an upload is as it came: a host may need its address.
    static let fieldsForHost: [ShownField<Transfer>] =
        identityFields + progressFields + scheduleFields + [
            ShownField("response", if: hasAnswer) { $0.response }
        ]

    /// A download says there whether its file is the page of an error.
    @Sendable private static func hasAnswer(_ transfer: Transfer) -> Bool {
        transfer.kind == .upload || transfer.options.deliversErrorPages
    }

    @Sendable private static func isUpload(_ transfer: Transfer) -> Bool {
        transfer.kind == .upload
    }

    @Sendable private static func isDownload(_ transfer: Transfer) -> Bool {
        transfer.kind == .download
    }

    private static let identityFields: [ShownField<Transfer>] = [
        ShownField("id") { $0.id },
        ShownField("kind") { $0.kind },
        ShownField("state", "State", at: 1) { $0.state },
        ShownField("url", "URL", at: 1) { Redaction.url($0.url) },
        ShownField("destination", "Destination", at: 1, if: isDownload) { $0.destination },
        ShownField("source", "Source", at: 1, if: isUpload) { $0.source },
        ShownField("session", "Session", at: 1) { $0.session },
        ShownField("host", "Host", at: 1) { $0.host },
        ShownField("priority") { $0.priority.name },
        ShownField("discretionary") { $0.isDiscretionary },
        ShownField("earliestBegin", "Not before", at: 4) { $0.earliestBegin },
        ShownField("deadline", "Deadline", at: 7) { $0.deadline },
    ]

    private static let progressFields: [ShownField<Transfer>] = [
        ShownField("expectedBytes") { $0.expectedBytes },
        ShownField("bytesTotal") { $0.bytesTotal },
        ShownField("bytesDone") { $0.bytesDone },
        ShownField("bytesSent", if: isUpload) { max($0.bytesDone, $0.bytesSent ?? 0) },
        ShownField("bytesFetched") { $0.bytesFetched },
        ShownField("bytesPerSecond") { Int64(rate: $0.bytesPerSecond) },
        ShownField("createdAt", "Enqueued", at: 9) { $0.createdAt },
        ShownField("startedAt", "Started", at: 9) { $0.startedAt },
        ShownField("finishedAt", "Ended", at: 9) { $0.finishedAt },
        ShownField("attempts") { $0.attempts },
        ShownField("restarts") { $0.restarts },
        ShownField("sharedWith", "Shared with", at: 11) { $0.sharedWith },
        ShownField("waitingFor") { $0.waitingFor },
        ShownField("error") { $0.error },
        ShownField("checksum", "Checksum", at: 14) {
            $0.checksum.map { "\($0.algorithm.rawValue):\($0.hex)" }
        },
        ShownField("meta", "Meta", at: 14) { $0.metadata.map(ShownJSON.init) },
    ]

    private static let scheduleFields: [ShownField<Transfer>] = [
        ShownField("window", "Window", at: 5) { $0.schedule.windows?.description },
        ShownField("timeZone", "Time zone", at: 5) { $0.schedule.windows?.timeZone },
        ShownField("require", "Requires", at: 5) { $0.schedule.requires.names },
        ShownField("prefer") {
            $0.schedule.preferences(isDiscretionary: $0.isDiscretionary).names
        },
        ShownField("preferencesWaived") { $0.arePreferencesWaived },
        ShownField("runsNow") { $0.runsNow },
        ShownField("preferencesCheckedAt") { $0.waiverCheck },
        ShownField("stallTimeout", "Stall timeout", at: 7) { $0.stallTimeout },
        ShownField("contentCoding") { $0.contentCoding },
    ]
}

extension Transfer {
    /// Fields of a transfer with its options, so that the output can be used as a request again.
    package static let listed: [ShownField<Transfer>] =
        fields + [ShownField("options") { ShownOptions(options: $0.options) }]

    /// Fields that a row of a table shows: a third of the bytes.
    package static let row = fields.filter {
        [
            "id", "kind", "state", "url", "destination", "source", "session", "priority",
            "bytesTotal", "bytesDone", "bytesFetched", "bytesPerSecond", "createdAt", "finishedAt",
            "attempts", "restarts", "waitingFor", "error",
        ].contains($0.key)
    }

    /// Why a transfer is not running, and its forecast.
    package static let why: [ShownField<(transfer: Transfer, forecast: Forecast)>] = [
        ShownField("id") { $0.transfer.id },
        ShownField("state") { $0.transfer.state },
        ShownField("waitingFor") { $0.transfer.waitingFor },
        ShownField("error") { $0.transfer.error },
        ShownField("forecast") { $0.forecast },
    ]
}

/// Options under the names that a request has them in JSON Lines; secrets redacted.
private struct ShownOptions: ShownValue {
    let options: TransferOptions

    static var jsonSchema: JSONPayload {
        let members = RequestField.printed.map { field -> (String, JSONPayload) in
            let types: [JSONPayload] =
                switch field.shape {
                case .flag, .onOff: ["boolean", "null"]
                case .number: ["integer", "string", "null"]
                case .duration: ["number"]
                case .list, .headers, .pairs: ["array", "null"]
                case .text, .json: ["string", "null"]
                }
            return (field.key, ["type": .array(types)])
        }
        return [
            "type": "object",
            "properties": .object(Dictionary(members) { first, _ in first }),
        ]
    }

    func writeJSON(to json: inout JSONText) { json.object { $0.optionFields(options) } }
}

extension JSONText {
    package mutating func optionFields(_ options: TransferOptions) {
        var request = TransferRequest.blank
        request.options = options
        for entry in RequestField.printed
        where options.upload != nil || !entry.rules.contains(.upload) {
            field(entry.key, entry.value(request))
        }
    }
}

extension Forecast: ShownRecord {
    package static let fields: [ShownField<Forecast>] = [
        ShownField("startsAt") { $0.startsAt },
        ShownField("endsAt") { $0.endsAt },
        ShownField("text") { $0.text },
    ]
}

extension WaitReason: ShownRecord {
    package static let fields: [ShownField<WaitReason>] = [
        ShownField("reason") { $0.reason.rawValue },
        ShownField("required") { $0.required },
        ShownField("current") { $0.current },
        ShownField("since") { $0.since },
        ShownField("nextCheck") { $0.nextCheck },
    ]
}

/// The `error` of a transfer.
extension LonghaulError: ShownRecord {
    package static let fields: [ShownField<LonghaulError>] = [
        ShownField("code") { $0.code.rawValue },
        ShownField("message") { Redaction.text($0.message) },
        ShownField("httpStatus") { $0.httpStatus },
        ShownField("curlCode") { $0.curlCode },
        ShownField("retryable") { $0.retryable },
        ShownField("bytesKept") { $0.bytesKept },
    ]
}

extension JSONText {
    /// The object that a refused command prints. `line` is that of the batch input.
    package mutating func refusal(_ error: LonghaulError, line: Int? = nil) {
        object {
            $0.field("error") {
                $0.field("code", error.code.rawValue)
                $0.field("message", Redaction.text(error.message))
                if let id = error.transferID { $0.field("id", id) }
                if let line { $0.field("line", line) }
            }
        }
    }
}

extension ConditionKind: ShownWord {
    package static let fields: [ShownField<(kind: ConditionKind, conditions: Conditions)>] = [
        ShownField("condition") { $0.kind },
        ShownField("value") { $0.kind.shown($0.conditions[$0.kind].value) },
        ShownField("source") { $0.conditions[$0.kind].source },
        ShownField("since") { $0.conditions[$0.kind].since },
        ShownField("name", if: { $0.kind == .network }) { $0.conditions.network.name },
    ]

    private func shown(_ text: String?) -> FieldValue {
        guard let text else { return .unknown }
        return switch form {
        case .word: .text(text)
        case .list:
            .texts(text == "none" ? [] : text.split(separator: ",").map(String.init))
        case .percent: Int64(text).map(FieldValue.number) ?? .unknown
        case .yesNo: .flag(text == "yes")
        }
    }
}

/// The answer to an upload. Its body is text, or `bodyBase64` if it is not UTF-8.
extension TransferResponse: ShownRecord {
    package static let fields: [ShownField<TransferResponse>] = [
        ShownField("url") { $0.url },
        ShownField("status") { $0.statusCode },
        ShownField("headers") { response -> ShownMap<String> in
            var seen: Set<String> = []
            let names = response.headers.fields.map(\.name).filter {
                seen.insert($0.lowercased()).inserted
            }
            return ShownMap(
                members: names.map { ($0, response.headers.values($0).joined(separator: ", ")) })
        },
        ShownField("body", if: { $0.text != nil }) { $0.text },
        ShownField("bodyBase64", if: { $0.text == nil }) { $0.bodyBase64 },
    ]

    private var text: String? { body.flatMap { String(validating: $0, as: UTF8.self) } }

    fileprivate var redacted: TransferResponse {
        var response = self
        response.url = Redaction.url(url)
        response.headers = HeaderFields(
            headers.fields.map {
                .init(name: $0.name, value: Redaction.value($0.value, ofField: $0.name))
            })
        return response
    }
}
