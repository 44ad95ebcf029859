import Testing

@testable import LonghaulCore

/// A server that takes uploads, loses answers, forgets and cuts connections, as its seed has it.
struct SimUploadServer {
    struct Resource {
        var bytes: Int64 = 0
        var isComplete = false
    }

    let dialect: UploadDialect
    let size: Int64
    var random: SeededGenerator
    private(set) var resources: [String: Resource] = [:]
    /// Whole files that it has.
    private(set) var files = 0
    private(set) var creations = 0

    init(dialect: UploadDialect, size: Int64, seed: UInt64) {
        self.dialect = dialect
        self.size = size
        random = SeededGenerator(seed: seed)
    }

    /// The end of a request, and the heads that come before it.
    mutating func serve(
        _ exchange: UploadExchange, trouble: Double
    ) -> (heads: [ResponseHead], end: SegmentEnd) {
        let length = Int64(exchange.range.count)
        if happens(trouble) { return ([], broken(sent: 0)) }
        switch exchange.purpose {
        case .discover: return ([head(405)], whole(0))
        case .create:
            let address = create()
            if happens(trouble) { return ([], broken(sent: 0)) }
            return ([head(201, ["Location": address, "Upload-Offset": "0"])], whole(0))
        case .whole:
            guard let version = dialect.interopVersion,
                exchange.headers["Upload-Draft-Interop-Version"] == "\(version)"
            else {
                if exchange.headers.contains("Upload-Draft-Interop-Version"),
                    dialect.interopVersion != nil
                {
                    return ([head(400)], whole(0))
                }
                if length > 0, happens(trouble) { return ([], broken(sent: draw(length))) }
                files += 1
                return happens(trouble) ? ([], broken(sent: length)) : ([head(200)], whole(length))
            }
            let address = create()
            let interim = head(104, ["Location": address])
            let isTold = !happens(trouble)
            let (final, end) = append(exchange, to: address, trouble)
            return ((isTold ? [interim] : []) + final, end)
        case .append:
            guard let resource = resources[exchange.url] else { return ([head(404)], whole(0)) }
            if resource.isComplete || resource.bytes != exchange.range.lowerBound {
                return ([head(409, ["Upload-Offset": "\(resource.bytes)"])], whole(0))
            }
            return append(exchange, to: exchange.url, trouble)
        case .ask: return ask(exchange.url, trouble)
        // Of S3 alone, see ``SimS3Server``.
        case .complete, .list: return ([head(400)], whole(0))
        case .abort:
            resources[exchange.url] = nil
            return ([head(204)], whole(0))
        }
    }

    private mutating func create() -> String {
        creations += 1
        let address = "http://h/r/\(creations)"
        resources[address] = Resource()
        if size == 0, dialect == .tus {
            resources[address]?.isComplete = true
            files += 1
        }
        return address
    }

    private mutating func append(
        _ exchange: UploadExchange, to address: String, _ trouble: Double
    ) -> (heads: [ResponseHead], end: SegmentEnd) {
        let length = Int64(exchange.range.count)
        if length > 0, happens(trouble) {
            // Some of what was sent has come.
            let sent = draw(length)
            let arrived = draw(sent)
            resources[address]?.bytes += arrived
            return ([], broken(sent: sent))
        }
        resources[address]?.bytes += length
        let isAll = resources[address]?.bytes == size
        if isAll, dialect == .tus || exchange.completes {
            resources[address]?.isComplete = true
            files += 1
        }
        if happens(trouble) { return ([], broken(sent: length)) }
        let fields = [
            "Upload-Offset": "\(resources[address]?.bytes ?? 0)",
            "Upload-Complete": exchange.completes ? "?1" : "?0",
        ]
        return ([head(200, fields)], whole(length))
    }

    private mutating func ask(
        _ address: String, _ trouble: Double
    ) -> (heads: [ResponseHead], end: SegmentEnd) {
        if happens(trouble / 4), resources[address]?.isComplete == false {
            resources[address] = nil
        }
        guard var resource = resources[address] else { return ([head(404)], whole(0)) }
        if !resource.isComplete, happens(trouble / 2) { resource.bytes = draw(resource.bytes) }
        resources[address] = resource
        var fields = ["Upload-Offset": "\(resource.bytes)"]
        if dialect != .tus { fields["Upload-Complete"] = resource.isComplete ? "?1" : "?0" }
        return ([head(204, fields)], whole(0))
    }

    // MARK: -

    private mutating func happens(_ chance: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < chance
    }

    private mutating func draw(_ most: Int64) -> Int64 {
        Int64.random(in: 0...most, using: &random)
    }

    private func whole(_ sent: Int64) -> SegmentEnd { ended(nil, sent) }

    private func broken(sent: Int64) -> SegmentEnd {
        ended(.curl(code: 56, text: "cut", osError: 104), sent)
    }

    private func ended(_ failure: WireFailure?, _ sent: Int64) -> SegmentEnd {
        var end = SegmentEnd(failure: failure, writtenThrough: 0, bytesReceived: 0)
        end.bytesSent = sent
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
