internal import FoundationEssentials
internal import LonghaulCore

/// A line as ``JSONText`` writes events and transfers, read again as far as a host needs it.
private struct Line: Decodable {
    var type: String
    var seq: Int64?
    var at: String?
    var session: String?
    var transfer: LineTransfer?
    var identifier: String?
    var kind: TaskKind?
    var trigger: LineTrigger?
    var attempt: Int?
    var deadline: String?
    var title: String?
    var subtitle: String?
    var payload: JSONPayload?

    var task: BackgroundLaunch.HandedTask? {
        guard type == "task", let identifier else { return nil }
        let events = trigger.map(\.all) ?? []
        return BackgroundLaunch.HandedTask(
            identifier: identifier, kind: kind ?? .refresh, payload: payload,
            triggers: events.map(\.trigger), triggerEvents: events, attempt: attempt ?? 1,
            deadline: deadline.flatMap(RFC3339.parse).map(Date.init), title: title,
            subtitle: subtitle)
    }

    var wakeUp: BackgroundLaunch.HandedWakeUp? {
        guard type == "wake" else { return nil }
        return BackgroundLaunch.HandedWakeUp(identifier: identifier, payload: payload)
    }
}

private struct LineTrigger: Decodable {
    var event: String
    var events: [LineTriggerEvent]?

    /// All triggers of the line; triggers that this version does not know are left out.
    var all: [TriggerEvent] {
        guard let events else { return TaskTrigger(rawValue: event).map { [.init($0)] } ?? [] }
        return events.compactMap(\.event)
    }
}

/// A word, or an object where the event has a name.
private struct LineTriggerEvent: Decodable {
    private struct Named: Decodable {
        var event: String
        var name: String
        var path: String?
        var files: [String]?
    }

    let event: TriggerEvent?

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let word = try? value.decode(String.self) {
            event = TaskTrigger(rawValue: word).map { TriggerEvent($0) }
            return
        }
        let named = try value.decode(Named.self)
        event = TaskTrigger(rawValue: "\(named.event)=\(named.name)").map {
            TriggerEvent($0, path: named.path, files: named.files)
        }
    }
}

private struct LineTransfer: Decodable {
    var id: Int64
    var state: TransferState?
    var url: String?
    var destination: String?
    var source: String?
    var session: String?
    var bytesTotal: Int64?
    var bytesDone: Int64?
    var bytesFetched: Int64?
    var attempts: Int?
    var restarts: Int?
    var createdAt: String?
    var finishedAt: String?
    var error: LineError?

    var transfer: Transfer {
        var result = Transfer(
            id: TransferID(rawValue: id), state: state ?? .waiting, url: url ?? "",
            file: source.map { .source($0) } ?? .destination(destination ?? ""),
            session: session ?? "", priority: .normal, isDiscretionary: false,
            createdAt: createdAt.flatMap(RFC3339.parse) ?? Timestamp(milliseconds: 0))
        result.bytesTotal = bytesTotal
        result.bytesDone = bytesDone ?? 0
        result.bytesFetched = bytesFetched ?? 0
        result.attempts = attempts ?? 0
        result.restarts = restarts ?? 0
        result.finishedAt = finishedAt.flatMap(RFC3339.parse)
        result.error = error.map { error in
            LonghaulError(
                LonghaulError.Code(rawValue: error.code), error.message ?? error.code,
                transferID: result.id, httpStatus: error.httpStatus,
                retryable: error.retryable ?? false, bytesKept: error.bytesKept ?? 0)
        }
        return result
    }
}

private struct LineError: Decodable {
    var code: String
    var message: String?
    var httpStatus: Int?
    var retryable: Bool?
    var bytesKept: Int64?
}

extension BackgroundLaunch.Item {
    init?(_ text: Data) {
        guard let line = try? JSONDecoder().decode(Line.self, from: text) else { return nil }
        type = line.type
        transfer = line.transfer?.transfer
        json = text
        task = line.task
        wakeUp = line.wakeUp
        guard let seq = line.seq else { return }
        event = SessionEvent(
            sequence: seq, kind: SessionEvent.Kind(rawValue: line.type),
            date: line.at.flatMap(RFC3339.parse).map(Date.init) ?? Date(timeIntervalSince1970: 0),
            session: line.session ?? "", transfer: transfer,
            detail: Self.detail(of: text))
    }

    /// The detail, unparsed.
    private static func detail(of line: Data) -> String? {
        line.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes.bindMemory(to: UInt8.self))
            var detail: String?
            try? scanner.object { key, scanner in
                let value = try scanner.raw()
                if key == "detail", value != "null" { detail = value }
            }
            return detail
        }
    }
}
