internal import Longhaul

/// aria2's notices of what happens to transfers. Ends come from the event log; starts and pauses
/// are seen by comparing two looks at the queue.
struct RPCNotices {
    static let names = [
        "aria2.onDownloadStart", "aria2.onDownloadPause", "aria2.onDownloadStop",
        "aria2.onDownloadComplete", "aria2.onDownloadError",
    ]

    /// A transfer at one look.
    struct Seen: Sendable {
        var gid: String
        var state: TransferState
    }

    /// What was seen last; `nil` = nothing was yet.
    private var known: [TransferID: Seen]?

    /// The notices of ends.
    static func ends(_ news: EventHub.News) -> [String] {
        news.lines.compactMap { line in
            guard let id = line.transfer else { return nil }
            let gid = GID.text(id, chosen: line.gid)
            switch line.type {
            case "transferCompleted": return text("aria2.onDownloadComplete", gid)
            case "transferFailed": return text("aria2.onDownloadError", gid)
            case "transferCancelled": return text("aria2.onDownloadStop", gid)
            default: return nil
            }
        }
    }

    /// The notices of starts and pauses since the last look.
    mutating func changes(to transfers: [TransferID: Seen]) -> [String] {
        defer { known = transfers }
        guard let known else { return [] }
        return transfers.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { id, seen in
            guard known[id]?.state != seen.state else { return nil }
            switch seen.state {
            case .running: return RPCNotices.text("aria2.onDownloadStart", seen.gid)
            case .paused: return RPCNotices.text("aria2.onDownloadPause", seen.gid)
            case .waiting, .completed, .failed, .cancelled: return nil
            }
        }
    }

    /// The unfinished transfers that are compared.
    static func seen(in queue: TransferQueue) throws(LonghaulError) -> [TransferID: Seen] {
        Dictionary(
            try queue.newest([.waiting, .running, .paused]).map {
                ($0.id, Seen(gid: GID.text($0), state: $0.state))
            }, uniquingKeysWith: { $1 })
    }

    private static func text(_ name: String, _ gid: String) -> String {
        let notice: JSONPayload = [
            "jsonrpc": "2.0", "method": .string(name), "params": [["gid": .string(gid)]],
        ]
        return notice.text
    }
}
