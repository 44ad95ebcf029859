internal import Longhaul
internal import LonghaulPlatform
internal import NIOHTTP1
internal import Synchronization

/// Seconds that a ticket for a file holds.
private let ticketSeconds = 60.0
/// Tickets at once; a further one replaces the oldest.
private let ticketsMaximum = 64

/// The files of completed downloads, read-only.
enum FileRoutes {
    static let all: [Route] = [
        Route(
            method: .GET, pattern: "/v1/transfers/{id}/file",
            summary: "the file of a completed download below the served directories",
            parameters: [
                .init(
                    name: "ticket", kind: .string,
                    summary: "a ticket in place of the secret, for a link")
            ], answer: .text("application/octet-stream")
        ) { call in
            try fileAnswer(try call.queue.file(of: try call.id()), to: call.request.headers)
        },
        Route(
            method: .POST, pattern: "/v1/transfers/{id}/file",
            summary: "a ticket with which the file can be fetched for a minute without the secret",
            answer: .json("Ticket")
        ) { call in
            let id = try call.id()
            _ = try call.queue.file(of: id)
            var json = JSONText()
            json.object {
                $0.field("ticket", call.queue.tickets.make(for: id))
                $0.field("seconds", ticketSeconds)
            }
            return ServedAnswer(json: json)
        },
    ]

    private static func fileAnswer(
        _ found: (file: ReadableFile, path: String), to headers: HTTPHeaders
    ) throws(LonghaulError) -> ServedAnswer {
        let size: Int64
        do throws(SystemFailure) {
            size = try found.file.facts().size
        } catch {
            throw error.longhaulError()
        }
        var answer = ServedAnswer(.ok, type: "application/octet-stream", "")
        answer.headers = [
            ("Content-Disposition", ServedFile.disposition(of: found.path)),
            // A browser that shows it all the same gives it no rights.
            ("Content-Security-Policy", "sandbox; default-src 'none'"),
            ("Accept-Ranges", "bytes"),
        ]
        // A condition on the range would need the version of the file: all of it is right, too.
        let isConditional = headers.contains(name: "if-range")
        switch isConditional ? .all : ByteRange(headers["range"], size: size) {
        case .all: answer.file = ServedFile(file: found.file, range: 0..<size)
        case .part(let range):
            answer.status = .partialContent
            answer.headers.append(
                ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"))
            answer.file = ServedFile(file: found.file, range: range)
        case .unsatisfiable:
            answer = ServedAnswer(
                LonghaulError(.invalidRequest, "the file has \(size) bytes"),
                .rangeNotSatisfiable)
            answer.headers = [("Content-Range", "bytes */\(size)")]
        }
        return answer
    }
}

/// The range of a request (RFC 9110 §14.2). Several ranges, and what is not understood, ask for
/// all.
enum ByteRange: Equatable {
    case all
    case part(Range<Int64>)
    case unsatisfiable

    init(_ fields: [String], size: Int64) {
        self = .all
        guard fields.count == 1, let text = fields.first, text.hasPrefix("bytes=") else { return }
        let sides = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return }
        let (first, last) = (String(sides[0]), String(sides[1]))
        if first.isEmpty {
            guard let count = last.decimalValue else { return }
            self = count == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - count)..<size)
            return
        }
        guard let begin = first.decimalValue else { return }
        let end = last.isEmpty ? Int64.max : last.decimalValue
        guard let end, end >= begin else { return }
        self = begin >= size ? .unsatisfiable : .part(begin..<min(size, end.addingClamped(1)))
    }
}

/// Tickets that let a browser fetch one file by a link, which cannot carry the secret.
final class FileTickets: Sendable {
    private struct Ticket {
        var text: String
        var id: TransferID
        var ends: Instant
    }

    private let tickets = Mutex<[Ticket]>([])

    func make(for id: TransferID) -> String {
        let now = SystemClock.now().monotonic
        let text = Secret.randomText()
        tickets.withLock { tickets in
            tickets.removeAll { $0.ends <= now }
            if tickets.count >= ticketsMaximum { tickets.removeFirst() }
            tickets.append(Ticket(text: text, id: id, ends: now + ticketSeconds))
        }
        return text
    }

    /// Whether the request is for the file of a ticket. A browser may send it more than once.
    func admit(_ request: ServedRequest) -> Bool {
        guard [.GET, .HEAD].contains(request.method), let text = request.query["ticket"],
            let id = request.fileID
        else { return false }
        let now = SystemClock.now().monotonic
        return tickets.withLock { tickets in
            tickets.contains {
                $0.id == id && $0.ends > now && (try? Secret($0.text).matches(text)) == true
            }
        }
    }
}

extension ServedRequest {
    /// The transfer whose file it asks for.
    var fileID: TransferID? {
        guard path.count == 4, path[0] == "v1", path[1] == "transfers", path[3] == "file" else {
            return nil
        }
        return path[2].decimalValue.map(TransferID.init(rawValue:))
    }
}

extension ServedQueue {
    /// The file of a completed download, opened.
    ///
    /// - Throws: `notPermitted` where it lies outside of the served directories; `conflict` where
    ///   there is no such file, or not yet.
    func file(of id: TransferID) throws(LonghaulError) -> (file: ReadableFile, path: String) {
        let transfer = try transfer(id)
        guard case .destination(let path) = transfer.file, transfer.state == .completed else {
            throw LonghaulError(
                .conflict, "only a completed download has a file to fetch", transferID: id)
        }
        try directories.check(path)
        let real = DiskSpace.realPath(path)
        // A directory above it may have been replaced by a link since.
        guard let file = try? ReadableFile(real), file.realPath == real else {
            throw LonghaulError(.conflict, "its file is not there any more", transferID: id)
        }
        return (file, path)
    }
}
