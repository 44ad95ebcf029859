internal import Longhaul
internal import LonghaulPlatform

/// Bytes of a pattern that paths are searched for.
private let rpcPatternBytes = 1024

/// The methods about ended transfers; the search is that of Motrix' aria2.
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
    private func search(_ query: [String: [String]]) throws -> [Transfer] {
        let states: Set<TransferState>
        switch query["status"]?.first {
        case "complete": states = [.completed]
        case "error": states = [.failed]
        case "removed": states = [.cancelled]
        case nil: states = [.completed, .failed, .cancelled]
        case .some: return []
        }
        let pattern = try query["pathLike"]?.first.map(LikePattern.init)
        // Milliseconds since 1970.
        let since = query["since"]?.first.flatMap { Int64($0) }
        return try queue.queue.newest(states).filter { transfer in
            let isLike = pattern?.matches(transfer.path) ?? true
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
        var before = TransferRequest(url: transfer.requestURL, destination: .file(transfer.path))
        before.options = transfer.options
        var said = request
        said.url = ""
        let (mirrors, headers) = (transfer.options.mirrors, transfer.options.headers)
        request.options.mirrors = mirrors
        request.options.headers = headers.overridden(by: request.options.headers)
        try ReviewedChange(before: before, after: request, given: said).refuseExposure()
        let id = try queue.add(request, given)
        return ["gid": .string(GID.text(id, chosen: nil)), "strategy": "source-uri"]
    }
}

/// SQL's LIKE: `%` stands for any text, `_` for one character, letters in either case. All possible
/// positions in the pattern are followed at once, so that the work is bounded for every pattern.
struct LikePattern {
    /// Words of bits, one bit for each place between two characters of the pattern.
    private typealias Places = [UInt64]

    /// The places after which a character may stand.
    private let before: [Unicode.Scalar: Places]
    private let beforeAny: Places
    /// The places of `%`.
    private let staying: Places
    private let last: Int

    /// - Throws: `invalidRequest` for one that is too long.
    init(_ text: String) throws(LonghaulError) {
        guard text.utf8.count <= rpcPatternBytes else {
            throw .usage("pathLike: it has at most \(rpcPatternBytes) bytes")
        }
        let none = Places(repeating: 0, count: text.unicodeScalars.count / 64 + 1)
        var (staying, beforeAny, place) = (none, none, 0)
        var own: [(place: Int, scalar: Unicode.Scalar)] = []
        for scalar in text.lowercased().unicodeScalars {
            if scalar == "%" {
                staying[place / 64] |= 1 << (place % 64)
                continue
            }
            if scalar == "_" {
                beforeAny[place / 64] |= 1 << (place % 64)
            } else {
                own.append((place, scalar))
            }
            place += 1
        }
        var before: [Unicode.Scalar: Places] = [:]
        for (place, scalar) in own {
            before[scalar, default: beforeAny][place / 64] |= 1 << (place % 64)
        }
        (self.before, self.beforeAny, self.staying, last) = (before, beforeAny, staying, place)
    }

    func matches(_ text: String) -> Bool {
        var reached = Places(repeating: 0, count: staying.count)
        reached[0] = 1
        for scalar in text.lowercased().unicodeScalars {
            let before = before[scalar] ?? beforeAny
            var carry: UInt64 = 0
            for index in reached.indices {
                let moved = reached[index] & before[index]
                reached[index] = moved << 1 | carry | reached[index] & staying[index]
                carry = moved >> 63
            }
        }
        return reached[last / 64] & 1 << (last % 64) != 0
    }
}
