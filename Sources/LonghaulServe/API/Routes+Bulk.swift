internal import Longhaul
internal import NIOHTTP1

/// Changes of many transfers, and the order of those that wait.
enum BulkRoutes {
    private enum BulkAction: String, CaseIterable {
        case pause, resume, cancel, retry, now, remove
    }

    static let actions = BulkAction.allCases.map(\.rawValue)

    static let all: [Route] = [
        Route(
            method: .POST, pattern: "/v1/actions",
            summary: "change many transfers; each is changed or refused by itself",
            body: .json("Action"), answer: .list("results", of: "ActionResult"), perform: act),
        Route(
            method: .GET, pattern: "/v1/order",
            summary: "the ids of waiting and paused transfers in the order of their turns",
            answer: .json("Order")
        ) { call in
            let ids = try QueueOrder(call.queue.queue).ids()
            var json = JSONText()
            json.object { $0.field("order", ids) }
            return ServedAnswer(json: json)
        },
        Route(
            method: .POST, pattern: "/v1/transfers/{id}/move",
            summary: "move a waiting transfer before or after another one of its priority",
            body: .json("Move"), answer: .json("Transfer"), perform: move),
    ]

    @Sendable
    private static func act(_ call: RouteCall) throws -> ServedAnswer {
        var action: BulkAction?
        var ids: [TransferID] = []
        try call.readBody { key, scanner in
            switch key {
            case "action": action = BulkAction(rawValue: try scanner.string())
            case "ids":
                try scanner.array { ids.append(TransferID(rawValue: try $0.integer())) }
            default: throw LonghaulError.usage("there are action and ids")
            }
        }
        guard let action else {
            throw LonghaulError.usage("action: it is one of " + actions.joined(separator: ", "))
        }
        guard (1...Limits.servedPageMaximum).contains(ids.count) else {
            throw LonghaulError.usage("ids: there are 1 to \(Limits.servedPageMaximum)")
        }
        let outcomes = try perform(action, ids, call.queue)
        return call.list("results", outcomes)
    }

    private static func perform(
        _ action: BulkAction, _ ids: [TransferID], _ served: ServedQueue
    ) throws -> [ChangeOutcome] {
        try served.checkWritable()
        defer { served.settle() }
        switch action {
        case .pause: return try served.queue.pause(.ids(ids))
        case .resume: return try served.reviewed.resume(.ids(ids))
        case .cancel: return try served.queue.cancel(.ids(ids), by: .command)
        case .retry: return try served.reviewed.retry(.ids(ids))
        case .now: return try served.queue.runNow(.ids(ids))
        case .remove: return try served.removeAll(ids)
        }
    }

    @Sendable
    private static func move(_ call: RouteCall) throws -> ServedAnswer {
        let id = try call.id()
        var before: Int64?
        var after: Int64?
        try call.readBody { key, scanner in
            switch key {
            case "before": before = try scanner.integer()
            case "after": after = try scanner.integer()
            default: throw LonghaulError.usage("there are before and after")
            }
        }
        guard (before == nil) != (after == nil), let other = before ?? after else {
            throw LonghaulError.usage("it has before, or after")
        }
        try call.queue.checkWritable()
        _ = try call.queue.transfer(id)
        try QueueOrder(call.queue.queue).move(
            id, isAfter: after != nil, TransferID(rawValue: other))
        return try call.shown(id)
    }
}

extension RouteCall {
    /// Reads the object of the body, a key at a time.
    func readBody(_ read: (String, inout JSONScanner) throws -> Void) throws {
        try request.body.withUnsafeBufferPointer { bytes in
            try JSONProblem.asUsage {
                var scanner = JSONScanner(bytes)
                try scanner.object { try read($0, &$1) }
                try scanner.end()
            }
        }
    }
}
