internal import Longhaul
internal import LonghaulPlatform

/// Largest number of reported pieces of a file.
private let rpcPiecesMaximum = 1024

/// A transfer in aria2's words. Numbers are texts there.
struct RPCStatus {
    let transfer: Transfer

    init(_ transfer: Transfer) {
        self.transfer = transfer
    }

    /// - Parameter keys: `nil` = all.
    func json(_ keys: Set<String>?) -> JSONPayload {
        var members: [String: JSONPayload] = [
            "gid": .string(GID.text(transfer)), "status": .string(state),
            "totalLength": number(total), "completedLength": number(transfer.bytesDone),
            "uploadLength": number(isUpload ? transfer.bytesDone : 0),
            "downloadSpeed": number(isUpload ? 0 : rate),
            "uploadSpeed": number(isUpload ? rate : 0),
            "pieceLength": number(pieceLength), "numPieces": number(pieces),
            "connections": number(transfer.state == .running ? connections : 0),
            "dir": .string(directory), "files": files,
        ]
        if pieces > 0 { members["bitfield"] = .string(bitfield) }
        if let (code, message) = ending {
            members["errorCode"] = number(code)
            members["errorMessage"] = .string(message)
        }
        guard let keys else { return .object(members) }
        return .object(members.filter { keys.contains($0.key) })
    }

    var state: String {
        switch transfer.state {
        case .waiting: "waiting"
        case .running: "active"
        case .paused: "paused"
        case .completed: "complete"
        case .failed: "error"
        case .cancelled: "removed"
        }
    }

    var files: JSONPayload {
        [
            [
                "index": "1", "path": .string(path), "length": number(total),
                "completedLength": number(transfer.bytesDone), "selected": "true", "uris": uris,
            ]
        ]
    }

    /// Clients delete the reported file when they remove a download. Until it is complete the file
    /// is missing, or another one that is to be replaced; aria2 reports no file either before it
    /// has begun. Then clients show the name in the URL.
    private var path: String {
        if isUpload || transfer.state == .completed { return transfer.path }
        let isAnothers =
            transfer.options.ifExists == .overwrite || transfer.error?.code == .destinationExists
        let isNamedByURL = (try? URLParts(transfer.url)).map { FileNaming.name(from: $0) } == name
        return isAnothers || isNamedByURL && transfer.bytesDone == 0 ? "" : transfer.path
    }

    /// Without secrets, as everywhere. The one that was asked is used, others wait for their turn.
    var uris: JSONPayload {
        let isAsked =
            transfer.state == .running || transfer.state.hasEnded && transfer.attempts > 0
        let mirrors = transfer.options.mirrors.map { uri($0, "waiting") }
        return .array([uri(transfer.url, isAsked ? "used" : "waiting")] + mirrors)
    }

    private func uri(_ url: String, _ status: String) -> JSONPayload {
        ["uri": .string(Redaction.url(url)), "status": .string(status)]
    }

    var servers: JSONPayload {
        guard transfer.state == .running else { return [] }
        let url = JSONPayload.string(Redaction.url(transfer.url))
        return [
            [
                "index": "1",
                "servers": [["uri": url, "currentUri": url, "downloadSpeed": number(rate)]],
            ]
        ]
    }

    var directory: String { PathParts.split(transfer.path)?.directory ?? "/" }

    var name: String { PathParts.split(transfer.path)?.name ?? "" }

    private var isUpload: Bool { transfer.kind == .upload }
    private var total: Int64 { transfer.bytesTotal ?? 0 }

    private var rate: Int64 {
        transfer.bytesPerSecond.map { Int64(clamping: Int($0.rounded())) } ?? 0
    }

    private var connections: Int64 {
        switch transfer.options.connections {
        case .automatic: 1
        case .exactly(let count): Int64(count)
        }
    }

    // MARK: - Pieces

    /// Large enough that the field stays short.
    private var pieceLength: Int64 {
        var length: Int64 = 1 << 20
        while total / length >= Int64(rpcPiecesMaximum) { length *= 2 }
        return length
    }

    private var pieces: Int64 { (total + pieceLength - 1) / pieceLength }

    /// The pieces that are there, the first one in the highest bit.
    private var bitfield: String {
        let whole = transfer.bytesDone == total ? pieces : transfer.bytesDone / pieceLength
        var text = ""
        for digit in 0..<((pieces + 7) / 8 * 2) {
            let bits = (0..<4).reduce(0) { $0 << 1 | (digit * 4 + Int64($1) < whole ? 1 : 0) }
            text += String(bits, radix: 16)
        }
        return text
    }

    // MARK: - Ends

    private var ending: (code: Int64, message: String)? {
        switch transfer.state {
        case .waiting, .running, .paused: nil
        case .completed: (0, "")
        case .cancelled: (31, "")
        case .failed:
            (
                transfer.error.map { RPCStatus.code(of: $0) } ?? 1,
                transfer.error.map { Redaction.text($0.message) } ?? ""
            )
        }
    }

    private static func code(of error: LonghaulError) -> Int64 {
        switch error.code {
        case .timedOut: 2
        case .notFound: 3
        case .network: 6
        case .noSpace: 9
        case .destinationExists: 13
        case .io: 16
        case .dns: 19
        case .serverError: 22
        case .unauthorized: 24
        case .checksumMismatch: 32
        // Codes are open, and aria2 has one for all others.
        default: 1
        }
    }

    private func number(_ value: Int64) -> JSONPayload { .string("\(value)") }
}
