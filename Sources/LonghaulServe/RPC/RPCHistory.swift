internal import Longhaul
internal import LonghaulPlatform

/// The methods about what has ended; the search is that of Motrix' aria2.
struct RPCHistory: Sendable {
    private let queue: ServedQueue
    private let options: RPCOptions

    init(_ queue: ServedQueue, _ options: RPCOptions) {
        self.queue = queue
        self.options = options
    }

    var methods: [String: RPCMethods.Method] {
        [
            "aria2.purgeDownloadResult": { _ in
                try queue.checkWritable()
                _ = try queue.queue.clean(endedBefore: 0)
                return "OK"
            },
            "aria2.removeDownloadResult": { parameters in
                try queue.remove([try queue.found(parameters).id])
                return "OK"
            },
            "aria2.searchDownloadResult": { parameters in
                let found = try search(parameters.options(0))
                let part = found.dropFirst(max(0, try parameters.integer(1)))
                    .prefix(max(0, try parameters.integer(2)))
                return .array(part.map { RPCStatus($0).json(parameters.keys(3)) })
            },
            "aria2.getDownloadResultCount": { parameters in
                ["count": .string("\(try search(parameters.options(0)).count)")]
            },
            "aria2.requeueDownloadResult": requeue,
        ]
    }

    /// The newest first.
    private func search(_ query: [String: [String]]) throws(LonghaulError) -> [Transfer] {
        let states: Set<TransferState>
        switch query["status"]?.first {
        case "complete": states = [.completed]
        case "error": states = [.failed]
        case "removed": states = [.cancelled]
        case nil: states = [.completed, .failed, .cancelled]
        case .some: return []
        }
        let pattern = query["pathLike"]?.first
        // Milliseconds since 1970.
        let since = query["since"]?.first.flatMap { Int64($0) }
        return try queue.queue.newest(states).filter { transfer in
            let isLike = pattern.map { LikePattern.matches(transfer.path, $0) } ?? true
            let isSince = since.map { (transfer.finishedAt?.milliseconds ?? 0) >= $0 } ?? true
            return isLike && isSince
        }
    }

    /// The same URLs and options again, as a new transfer.
    @Sendable
    private func requeue(_ parameters: RPCParameters) throws -> JSONPayload {
        try queue.checkWritable()
        let transfer = try queue.found(parameters)
        guard transfer.state.hasEnded, transfer.kind == .download else {
            throw LonghaulError(.conflict, "it is \(transfer.state.rawValue)")
        }
        var given = parameters.options(1)
        given["dir"] = given["dir"] ?? [RPCStatus(transfer).directory]
        given["out"] = given["out"] ?? [RPCStatus(transfer).name]
        var request = try options.request([transfer.requestURL], given)
        let (mirrors, headers) = (transfer.options.mirrors, transfer.options.headers)
        request.options.mirrors = mirrors
        request.options.headers = headers.overridden(by: request.options.headers)
        let id = try queue.add(request, given)
        return ["gid": .string(GID.text(id, chosen: nil)), "strategy": "source-uri"]
    }
}

/// SQL's LIKE: `%` stands for any text, `_` for one character, letters in either case.
enum LikePattern {
    static func matches(_ text: String, _ pattern: String) -> Bool {
        let (text, pattern) = (Array(text.lowercased()), Array(pattern.lowercased()))
        var (place, mark) = (0, 0)
        // Where the last `%` stands, and what it has covered.
        var star: (mark: Int, place: Int)?
        while place < text.count {
            if mark < pattern.count, pattern[mark] == "%" {
                star = (mark, place)
                mark += 1
            } else if mark < pattern.count, pattern[mark] == "_" || pattern[mark] == text[place] {
                mark += 1
                place += 1
            } else if let last = star {
                star = (last.mark, last.place + 1)
                mark = last.mark + 1
                place = last.place + 1
            } else {
                return false
            }
        }
        return pattern[mark...].allSatisfy { $0 == "%" }
    }
}
