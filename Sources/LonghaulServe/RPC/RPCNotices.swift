internal import Longhaul

/// aria2's notices of what happens to transfers. Ends come from the event log; starts and pauses
/// are seen by comparing two looks at the queue.
struct RPCNotices {
    static let names = [
        "aria2.onDownloadStart", "aria2.onDownloadPause", "aria2.onDownloadStop",
        "aria2.onDownloadComplete", "aria2.onDownloadError",
    ]

    /// The states that were seen last; `nil` = none were yet.
    private var known: [TransferID: TransferState]?

    /// The notices of ends.
    static func ends(_ news: EventHub.News) -> [String] {
        news.lines.compactMap { line in
            guard let id = line.transfer else { return nil }
            switch line.type {
            case "transferCompleted": return text("aria2.onDownloadComplete", id)
            case "transferFailed": return text("aria2.onDownloadError", id)
            case "transferCancelled": return text("aria2.onDownloadStop", id)
            default: return nil
            }
        }
    }

    /// The notices of starts and pauses since the last look.
    mutating func changes(to states: [TransferID: TransferState]) -> [String] {
        defer { known = states }
        guard let known else { return [] }
        return states.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { id, state in
            guard known[id] != state else { return nil }
            switch state {
            case .running: return RPCNotices.text("aria2.onDownloadStart", id)
            case .paused: return RPCNotices.text("aria2.onDownloadPause", id)
            case .waiting, .completed, .failed, .cancelled: return nil
            }
        }
    }

    /// The unfinished transfers that are compared.
    static func states(in queue: TransferQueue) throws(LonghaulError) -> [TransferID: TransferState]
    {
        Dictionary(
            try queue.newest([.waiting, .running, .paused]).map { ($0.id, $0.state) },
            uniquingKeysWith: { $1 })
    }

    private static func text(_ name: String, _ id: TransferID) -> String {
        let notice: JSONPayload = [
            "jsonrpc": "2.0", "method": .string(name), "params": [["gid": .string(GID.text(id))]],
        ]
        return notice.text
    }
}
