@testable import LonghaulCore
@testable import LonghaulModel

/// A server like S3 that loses answers, forgets uploads and parts, and refuses, as its seed has it.
/// An object of the same length and number of parts is there from the beginning.
struct SimS3Server {
    private struct Upload {
        var parts: [Int: (tag: String, size: Int64)] = [:]
    }

    let size: Int64
    private var random: SeededGenerator
    private var uploads: [String: Upload] = [:]
    private var created = 0
    private var tags = 0
    private let parts: Int
    /// Objects that it has made of all parts.
    private(set) var files = 0
    /// A completion named parts that are not all of the file.
    private(set) var wasJoinedTooSoon = false
    /// Bytes of parts that it has taken.
    private(set) var taken: Int64 = 0

    var isLeftOpen: Bool { !uploads.isEmpty }

    init(size: Int64, partSize: Int64, seed: UInt64) {
        self.size = size
        parts = Int((size + partSize - 1) / partSize)
        random = SeededGenerator(seed: seed)
    }

    /// The end of a request, and the head that comes before it.
    mutating func serve(
        _ exchange: UploadExchange, trouble: Double
    ) -> (head: ResponseHead?, end: SegmentEnd) {
        let sends = Int64(exchange.range.count)
        if happens(trouble) {
            let sent = sends > 0 ? Int64.random(in: 0..<sends, using: &random) : 0
            return (nil, ended(broken, sent: sent))
        }
        if happens(trouble / 2) { return (head(503), ended(nil, sent: sends)) }
        if happens(trouble / 20) { uploads = [:] }
        let (head, body) = answer(exchange, trouble)
        // The server has done it all the same.
        if happens(trouble) { return (nil, ended(broken, sent: sends)) }
        return (head, ended(nil, sent: sends, body))
    }

    private mutating func answer(
        _ exchange: UploadExchange, _ trouble: Double
    ) -> (ResponseHead, String) {
        let query = exchange.url.split(separator: "?").dropFirst().first ?? ""
        let id = query.split(separator: "uploadId=").last.map { String($0) } ?? ""
        switch exchange.purpose {
        case .create:
            created += 1
            uploads["u\(created)"] = Upload()
            let body = "<R><UploadId>u\(created)</UploadId></R>"
            return (head(200, ["Date": "Sun, 06 Nov 1994 08:49:37 GMT"]), body)
        case .ask:
            let made = files > 0 ? "06 Nov 1994 08:49:36 GMT" : "06 Nov 1994 07:00:00 GMT"
            let fields = [
                "Content-Length": "\(size)", "ETag": "\"0-\(parts)\"",
                "Last-Modified": "Sun, \(made)",
            ]
            return (head(200, fields), "")
        case .abort:
            uploads[id] = nil
            return (head(204), "")
        case .append, .list, .complete: break
        case .discover, .whole, .makeDirectory: return (head(400), "")
        }
        guard uploads[id] != nil else { return (head(404), "<Code>NoSuchUpload</Code>") }
        switch exchange.purpose {
        case .append: return store(exchange, id)
        case .list: return list(id, after: query)
        default:
            if happens(trouble / 10) { uploads[id]?.parts[1] = nil }
            return join(exchange, id)
        }
    }

    private mutating func store(
        _ exchange: UploadExchange, _ id: String
    ) -> (ResponseHead, String) {
        tags += 1
        let tag = "\"t\(tags)\""
        uploads[id]?.parts[exchange.part ?? 0] = (tag, Int64(exchange.range.count))
        taken += Int64(exchange.range.count)
        return (head(200, ["ETag": tag]), "")
    }

    private func list(_ id: String, after query: Substring) -> (ResponseHead, String) {
        var marker = 0
        for field in query.split(separator: "&") where field.hasPrefix("part-number-marker=") {
            marker = Int(field.split(separator: "=")[1]) ?? 0
        }
        let held = (uploads[id]?.parts ?? [:]).filter { $0.key > marker }.sorted { $0.key < $1.key }
        var text = "<ListPartsResult><IsTruncated>\(held.count > 2)</IsTruncated>"
        for (number, part) in held.prefix(2) {
            text += "<Part><PartNumber>\(number)</PartNumber><ETag>\(part.tag)</ETag>"
            text += "<Size>\(part.size)</Size></Part>"
        }
        return (head(200), text + "</ListPartsResult>")
    }

    private mutating func join(
        _ exchange: UploadExchange, _ id: String
    ) -> (ResponseHead, String) {
        let text = String(decoding: exchange.body.content?.before ?? [], as: UTF8.self)
        let named = text.split(separator: "<ETag>").dropFirst().map {
            String($0.split(separator: "</ETag>")[0])
        }
        let held = uploads[id]?.parts ?? [:]
        for (index, tag) in named.enumerated() where held[index + 1]?.tag != tag {
            return (head(400), "<Error><Code>InvalidPart</Code></Error>")
        }
        if named.count != parts { wasJoinedTooSoon = true }
        files += 1
        uploads[id] = nil
        return (head(200), "")
    }

    // MARK: -

    private mutating func happens(_ chance: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < chance
    }

    private var broken: WireFailure { .curl(code: 56, text: "cut", osError: 104) }

    private func ended(_ failure: WireFailure?, sent: Int64, _ body: String = "") -> SegmentEnd {
        var end = SegmentEnd(failure: failure, writtenThrough: 0, bytesReceived: 0)
        end.bytesSent = sent
        end.answer = Array(body.utf8)
        return end
    }

    private func head(_ status: Int, _ fields: [String: String] = [:]) -> ResponseHead {
        var headers = HeaderFields()
        for (name, value) in fields { headers[name] = value }
        return ResponseHead(
            scheme: .http, status: status, headers: headers, effectiveURL: "http://h/a",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
    }
}
