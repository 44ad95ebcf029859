internal import Longhaul
internal import NIOHTTP1

/// Transfers of a list, unless the request says how many.
private let servedPage = 100

extension Router {
    static let all = Router(
        routes: transfers + changes + BulkRoutes.all + FileRoutes.all + machine + SettingsRoutes.all
            + tasks + wakeUps + events + jobs + JobChangeRoutes.all + BundleRoutes.all
            + FolderRoutes.all
            + documents)

    static let transfers: [Route] = [
        Route(
            method: .GET, pattern: "/v1/transfers", summary: "transfers, the newest first",
            parameters: [
                .init(
                    name: "state", kind: .words(TransferState.allCases.map(\.rawValue)),
                    summary: "states, with commas between"),
                .init(name: "session", kind: .string, summary: "only those of this session"),
                .init(
                    name: "view", kind: .words(["row"]),
                    summary: "row: only the keys that a row of a table shows"),
                .init(
                    name: "ids", kind: .string,
                    summary: "these transfers, with commas between; nothing else counts then"),
                .init(
                    name: "limit", kind: .integer(1...Int64(Limits.servedPageMaximum)),
                    summary: "at most so many"),
                .init(
                    name: "after", kind: .integer(0...Int64.max),
                    summary: "go on after this transfer"),
            ], answer: .list("transfers", of: "ListedTransfer"), perform: listTransfers),
        Route(
            method: .POST, pattern: "/v1/transfers",
            summary: "record a transfer, or all of an array or none", body: .json("Request"),
            status: .created, answer: .list("transfers", of: "Transfer"), perform: addTransfers),
        Route(
            method: .GET, pattern: "/v1/transfers/{id}",
            summary: "all about a transfer: its attempts and its events",
            answer: .json("TransferHistory")
        ) { call in
            let id = try call.id()
            let transfer = try call.queue.transfer(id)
            var json = JSONText()
            let validator = try HeldVersion.validator(of: id, in: call.queue.queue)
            let attempts = try call.queue.queue.attempts(of: id)
            let events = try call.queue.queue.events(of: id)
            json.value((transfer, validator, attempts, events), as: Transfer.fieldsOfHistory)
            return ServedAnswer(json: json)
        },
        Route(
            method: .GET, pattern: "/v1/transfers/{id}/why",
            summary: "why a transfer is not running, and when it will", answer: .json("Why")
        ) { call in
            let transfer = try call.queue.transfer(try call.id())
            let forecast = try call.queue.queue.forecast(of: transfer) { RFC3339.format($0) }
            var json = JSONText()
            json.value((transfer, forecast), as: Transfer.why)
            return ServedAnswer(json: json)
        },
    ]

    static let changes: [Route] = [
        Route(
            method: .PATCH, pattern: "/v1/transfers/{id}",
            summary: "change a transfer that has not completed; its bytes are kept",
            body: .json("Change"), answer: .json("Transfer")
        ) { call in
            let id = try call.id()
            let begin = try call.queue.transfer(id).earliestBegin
            let context = call.queue.context()
            let change = try call.request.body.withUnsafeBufferPointer {
                try TransferChange(json: $0, context, begin: begin)
            }
            try call.queue.change(id, change)
            return try call.shown(id)
        },
        action("pause", "stop a transfer until it is resumed; its bytes are kept") { call, id in
            try call.queue.change(id) { try call.queue.queue.pause($0) }
        },
        action("resume", "let a paused or failed transfer go on") { call, id in
            try call.queue.change(id) { try call.queue.reviewed.resume($0) }
        },
        action("cancel", "end a transfer and free its part file") { call, id in
            try call.queue.change(id) { try call.queue.queue.cancel($0, by: .command) }
        },
        action("retry", "take up a failed or cancelled transfer from the bytes that are kept") {
            call, id in
            try call.queue.change(id) { try call.queue.reviewed.retry($0) }
        },
        action("now", "run a transfer now, whatever its schedule says") { call, id in
            try call.queue.change(id) { try call.queue.queue.runNow($0) }
        },
        Route(
            method: .DELETE, pattern: "/v1/transfers/{id}",
            summary: "forget an ended transfer; a completed file stays", answer: .json("Removed")
        ) { call in
            let id = try call.id()
            try call.queue.remove([id])
            var json = JSONText()
            json.object {
                $0.field("id", id.rawValue)
                $0.field("removed", true)
            }
            return ServedAnswer(json: json)
        },
    ]

    private static func action(
        _ name: String, _ summary: String,
        _ perform: @escaping @Sendable (RouteCall, TransferID) throws -> Void
    ) -> Route {
        Route(
            method: .POST, pattern: "/v1/transfers/{id}/\(name)", summary: summary,
            answer: .json("Transfer")
        ) { call in
            let id = try call.id()
            try perform(call, id)
            return try call.shown(id)
        }
    }

    @Sendable
    private static func listTransfers(_ call: RouteCall) throws -> ServedAnswer {
        if let text = call.text("ids") { return try listNamed(text, call) }
        var filter = TransferFilter()
        filter.includeAll = true
        if let text = call.request.query["state"] {
            var states: Set<TransferState> = []
            for word in text.split(separator: ",", omittingEmptySubsequences: false) {
                guard let state = TransferState(rawValue: String(word)) else {
                    let all = TransferState.allCases.map(\.rawValue).joined(separator: ", ")
                    throw LonghaulError.usage("state: there are \(all)")
                }
                states.insert(state)
            }
            filter.states = states
        }
        filter.session = call.text("session")
        let limit = Int(
            try call.number("limit", in: 1...Int64(Limits.servedPageMaximum))
                ?? Int64(servedPage))
        filter.limit = limit
        filter.below = try call.number("after", in: 0...Int64.max).map(TransferID.init(rawValue:))
        let isRow = try call.isRow()
        let transfers = try call.queue.queue.transfers(filter)
        var json = JSONText()
        json.object {
            $0.field("transfers", transfers, as: isRow ? Transfer.row : Transfer.listed)
            let isFull = transfers.count == limit
            $0.field("next", isFull ? transfers.last?.id.rawValue : nil)
        }
        return ServedAnswer(json: json)
    }

    private static func listNamed(_ text: String, _ call: RouteCall) throws -> ServedAnswer {
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        let ids = words.compactMap { String($0).decimalValue }.map(TransferID.init(rawValue:))
        guard ids.count == words.count, ids.count <= Limits.servedPageMaximum else {
            throw LonghaulError.usage(
                "ids: they are numbers with commas between, at most \(Limits.servedPageMaximum)")
        }
        let isRow = try call.isRow()
        return call.list(
            "transfers", try call.queue.queue.transfers(ids),
            as: isRow ? Transfer.row : Transfer.listed)
    }

    @Sendable
    private static func addTransfers(_ call: RouteCall) throws -> ServedAnswer {
        let reader = JSONRequest(template: call.queue.template(), context: call.queue.context())
        let requests = try call.request.body.withUnsafeBufferPointer { bytes in
            try JSONProblem.asUsage {
                var requests: [TransferRequest] = []
                var scanner = JSONScanner(bytes)
                if !scanner.isArray() { return [try reader.request(bytes)] }
                try scanner.array { scanner in
                    let text = Array(try scanner.raw().utf8)
                    requests.append(try text.withUnsafeBufferPointer { try reader.request($0) })
                }
                try scanner.end()
                return requests
            }
        }
        if requests.isEmpty { throw LonghaulError.usage("there is no request in it") }
        let ids = try call.queue.enqueue(requests).compactMap { $0 }
        var answer = call.list(
            "transfers", try call.queue.queue.transfers(ids), as: Transfer.listed)
        answer.status = .created
        return answer
    }
}

extension RouteCall {
    /// Whether the list has rows of a table, a third of the bytes.
    fileprivate func isRow() throws(LonghaulError) -> Bool {
        guard let view = request.query["view"] else { return false }
        guard view == "row" else { throw .usage("view: it is row") }
        return true
    }
}
