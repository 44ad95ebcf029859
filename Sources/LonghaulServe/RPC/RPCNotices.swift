internal import Longhaul

/// aria2's notices about transfers. Ends come from the event log; starts and pauses are seen by
/// comparing two looks at the queue. A start between two looks is reported with the end.
struct RPCNotices {
    static let names = [
        "aria2.onDownloadStart", "aria2.onDownloadPause", "aria2.onDownloadStop",
        "aria2.onDownloadComplete", "aria2.onDownloadError",
    ]

    /// The unfinished transfers at one look.
    struct Look: Sendable {
        struct Seen: Sendable {
            var gid: String
            var state: TransferState
        }

        var transfers: [TransferID: Seen]
        /// The last event before the look: it knows of that one, and perhaps of later ones.
        var after: Int64
    }

    /// Result of the last look; `nil` = none yet.
    private var known: [TransferID: Look.Seen]?
    /// The numbers of the ends since the last look, which may be older than they are.
    private var ends: [TransferID: Int64] = [:]

    /// The notices of ends.
    mutating func ends(_ news: EventHub.News) -> [String] {
        var notices: [String] = []
        for line in news.lines {
            guard let id = line.transfer else { continue }
            let name: String
            switch line.type {
            case "transferCompleted": name = "aria2.onDownloadComplete"
            case "transferFailed": name = "aria2.onDownloadError"
            case "transferCancelled": name = "aria2.onDownloadStop"
            default: continue
            }
            let gid = GID.text(id, chosen: line.gid)
            let wasSeen = known?.removeValue(forKey: id)?.state == .running
            if !wasSeen, line.type != "transferCancelled" {
                notices.append(RPCNotices.text("aria2.onDownloadStart", gid))
            }
            notices.append(RPCNotices.text(name, gid))
            ends[id] = line.sequence
        }
        return notices
    }

    /// The notices of starts and pauses since the last look.
    mutating func changes(to look: Look) -> [String] {
        // A transfer that has ended since then was reported; one that runs again is unknown.
        let transfers = look.transfers.filter { ends[$0.key, default: 0] <= look.after }
        ends = ends.filter { $0.value > look.after }
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

    /// Looks at the unfinished transfers.
    static func seen(in queue: TransferQueue) throws(LonghaulError) -> Look {
        let last = try queue.lastEventSequence()
        let transfers = Dictionary(
            try queue.newest([.waiting, .running, .paused]).map {
                ($0.id, Look.Seen(gid: GID.text($0), state: $0.state))
            }, uniquingKeysWith: { $1 })
        return Look(transfers: transfers, after: last)
    }

    private static func text(_ name: String, _ gid: String) -> String {
        let notice: JSONPayload = [
            "jsonrpc": "2.0", "method": .string(name), "params": [["gid": .string(gid)]],
        ]
        return notice.text
    }
}
