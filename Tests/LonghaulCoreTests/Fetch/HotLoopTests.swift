import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Requests that gain nothing are not repeated without a pause, whatever else succeeds in between.
@Suite struct HotLoopTests {
    private static let mebibyte: Int64 = 1 << 20

    // MARK: - Answers

    private typealias Answer = RepeatedRequests.Answer

    private static func answered(
        _ status: Int, _ fields: String..., body: String = "", sent: Int64 = 0,
        scheme: ResponseHead.Scheme = .http
    ) -> Answer {
        var head = head(status, scheme: scheme)
        for field in fields {
            let parts = field.split(separator: ":", maxSplits: 1)
            head.headers[String(parts[0])] = String(parts[1].dropFirst())
        }
        var end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
        end.answer = Array(body.utf8)
        end.bytesSent = sent
        return (head, end)
    }

    private static func broke(_ code: Int32 = 56, _ text: String = "cut", sent: Int64) -> Answer {
        var end = SegmentEnd(
            failure: .curl(code: code, text: text, osError: 0), writtenThrough: 0,
            bytesReceived: 0)
        end.bytesSent = sent
        return (nil, end)
    }

    private static func length(_ exchange: UploadExchange) -> Int64 {
        exchange.body.content?.length ?? 0
    }

    private func upload(
        _ way: UploadProtocol, to url: String = "http://h/a", size: Int64, for duration: Double,
        _ server: @escaping RepeatedRequests.UploadServer
    ) -> RepeatedRequests {
        var request = TransferRequest(url: url, destination: .file("/f"))
        var options = UploadOptions()
        options.uploadProtocol = way
        options.isRepeatable = true
        request.options.upload = options
        return RepeatedRequests(request, size: size, for: duration) { exchange, number in
            exchange.purpose == .discover && way == .ietf
                ? Self.answered(204, "Upload-Draft-Interop-Version: 9")
                : server(exchange, number)
        }
    }

    /// The back-off grows: of ten minutes without a gain no more than a handful of attempts are
    /// left, at least a second apart.
    private func expectPauses(_ log: RepeatedRequests, perRun most: Int) {
        #expect(log.end == nil, "\(String(describing: log.end))")
        #expect(log.runs.count <= 20, "\(log.runs)")
        #expect(log.runs.count >= 5, "\(log.runs)")
        #expect(log.leastPause > 0.99, "\(log.runs)")
        #expect(log.requests.count <= log.runs.count * most, "\(log.requests)")
    }

    // MARK: - S3

    private func s3(
        size: Int64 = 20 * mebibyte, _ special: @escaping (UploadExchange) -> Answer?
    ) -> RepeatedRequests {
        upload(.s3, size: size, for: 600) { exchange, _ in
            if let answer = special(exchange) { return answer }
            switch exchange.purpose {
            case .create: return Self.answered(200, body: "<UploadId>u</UploadId>")
            case .append:
                return Self.answered(200, "ETag: \"t\"", sent: Self.length(exchange))
            case .list:
                let parts = (1...3).map { number in
                    let size = number < 3 ? 8 * Self.mebibyte : 4 * Self.mebibyte
                    return "<Part><PartNumber>\(number)</PartNumber><ETag>\"t\"</ETag>"
                        + "<Size>\(size)</Size></Part>"
                }
                return Self.answered(
                    200, body: "<ListPartsResult>\(parts.joined())</ListPartsResult>")
            case .discover, .whole, .ask, .complete, .abort, .makeDirectory:
                return Self.answered(500)
            }
        }
    }

    @Test func aCompletionThatIsCutEachTime() {
        let log = s3 { exchange in
            exchange.purpose == .complete ? Self.broke(sent: Self.length(exchange)) : nil
        }
        #expect(log.count("append") == 3)
        #expect(log.count("complete") <= log.runs.count)
        // The first run has the parts and the request that makes the upload.
        expectPauses(log, perRun: 3)
    }

    @Test func aCompletionThatIsRefusedForItsParts() {
        let log = s3 { exchange in
            guard exchange.purpose == .complete else { return nil }
            return Self.answered(400, body: "<Code>InvalidPart</Code>")
        }
        #expect(log.count("append") == 3)
        expectPauses(log, perRun: 3)
    }

    /// All parts are sent anew each time, which is no gain.
    @Test func anUploadThatIsForgottenEachTime() {
        let log = s3 { $0.purpose == .complete ? Self.answered(404) : nil }
        expectPauses(log, perRun: 12)
    }

    // MARK: - tus and the draft

    private func resumable(
        _ way: UploadProtocol, append: @escaping (UploadExchange) -> Answer
    ) -> RepeatedRequests {
        upload(way, size: 2_000_000, for: 600) { exchange, _ in
            switch exchange.purpose {
            case .create: Self.answered(201, "Location: http://h/r/1")
            case .ask: Self.answered(200, "Upload-Offset: 1000")
            case .append: append(exchange)
            case .discover, .whole, .list, .complete, .abort, .makeDirectory: Self.answered(500)
            }
        }
    }

    @Test(arguments: [UploadProtocol.tus, .ietf])
    func anAppendThatIsRefusedForItsOffset(_ way: UploadProtocol) {
        let log = resumable(way) { _ in Self.answered(409) }
        expectPauses(log, perRun: 5)
    }

    @Test(arguments: [UploadProtocol.tus, .ietf])
    func anAppendThatIsCut(_ way: UploadProtocol) {
        let log = resumable(way) { Self.broke(sent: Self.length($0)) }
        expectPauses(log, perRun: 4)
    }

    /// Neither a failure nor a gain.
    @Test func anAppendThatIsTakenAndComesToNothing() {
        let log = resumable(.tus) { exchange in
            Self.answered(
                204, "Upload-Offset: \(exchange.range.lowerBound)", sent: Self.length(exchange))
        }
        expectPauses(log, perRun: 3)
    }

    /// Of a hundred bytes at a time the rest would take thousands of requests.
    @Test func anAppendThatGainsTooLittle() {
        var had: Int64 = 0
        let log = upload(.tus, size: 2_000_000, for: 600) { exchange, _ in
            switch exchange.purpose {
            case .create: return Self.answered(201, "Location: http://h/r/1")
            case .ask: return Self.answered(200, "Upload-Offset: \(had)")
            case .append:
                had += 100
                return Self.broke(sent: Self.length(exchange))
            case .discover, .whole, .list, .complete, .abort, .makeDirectory:
                return Self.answered(500)
            }
        }
        expectPauses(log, perRun: 4)
    }

    /// A percent and more each time: the transfer goes on without a back-off that grows.
    @Test func anAppendThatGainsEnough() {
        var had: Int64 = 0
        let log = upload(.tus, size: 2_000_000, for: 600) { exchange, _ in
            switch exchange.purpose {
            case .create: return Self.answered(201, "Location: http://h/r/1")
            case .ask: return Self.answered(200, "Upload-Offset: \(had)")
            case .append:
                had = min(2_000_000, had + 100_000)
                return had == 2_000_000
                    ? Self.answered(204, "Upload-Offset: \(had)", sent: Self.length(exchange))
                    : Self.broke(sent: Self.length(exchange))
            case .discover, .whole, .list, .complete, .abort, .makeDirectory:
                return Self.answered(500)
            }
        }
        guard case .completed? = log.end else {
            Issue.record("\(String(describing: log.end))")
            return
        }
        #expect(log.runs.count == 1)
    }

    @Test(arguments: [423, 503])
    func aQuestionThatIsRefused(status: Int) {
        let log = upload(.tus, size: 2_000_000, for: 600) { exchange, _ in
            switch exchange.purpose {
            case .create: Self.answered(201, "Location: http://h/r/1")
            case .ask: Self.answered(status)
            case .append: Self.broke(sent: 1000)
            case .discover, .whole, .list, .complete, .abort, .makeDirectory: Self.answered(500)
            }
        }
        expectPauses(log, perRun: 3)
    }

    // MARK: - FTP and SFTP

    /// The server closes its service at the rename: the file itself has come each time.
    @Test(arguments: ["ftp://h/f", "sftp://h/f"])
    func aRenameThatIsCut(url: String) {
        let size = 5 * Self.mebibyte
        let log = upload(.auto, to: url, size: size, for: 600) { exchange, _ in
            switch exchange.purpose {
            case .ask:
                Self.answered(200, "Content-Length: \(size)", scheme: .ftp)
            case .whole, .complete, .append, .discover, .create, .list, .abort, .makeDirectory:
                Self.broke(28, "421 closing", sent: Self.length(exchange))
            }
        }
        #expect(log.count("whole") == 1)
        expectPauses(log, perRun: 4)
    }

    // MARK: - Downloads

    private func download(
        _ url: String, _ server: @escaping RepeatedRequests.DownloadServer
    ) -> RepeatedRequests {
        var request = TransferRequest(url: url, destination: .file("/d/f"))
        request.options.connections = .exactly(1)
        return RepeatedRequests(request, for: 600, download: server)
    }

    private static func body(
        _ ask: SegmentAsk, _ head: ResponseHead, through: Int64, _ failure: WireFailure? = nil
    ) -> Answer {
        (
            head,
            SegmentEnd(
                failure: failure, writtenThrough: max(through, ask.ask.position),
                bytesReceived: through - ask.ask.start)
        )
    }

    /// Without a length the end of the data connection and 226 are the end of the file.
    @Test func aCutOverFTPWithoutALength() {
        let size: Int64 = 300_000
        let date = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"
        let log = download("ftp://h/f") { ask, number in
            let head = head(ask.ask.start > 0 ? 206 : 200, date, scheme: .ftp)
            return number == 0
                ? Self.body(ask, head, through: 200_000, .curl(code: 56, text: "", osError: 0))
                : Self.body(ask, head, through: size)
        }
        guard case .completed(_, _, let totals)? = log.end else {
            Issue.record("\(String(describing: log.end)) \(log.requests)")
            return
        }
        #expect(totals.bytesTotal == size && log.requests.count == 2)
    }

    /// What SIZE said, what comes before the cut, and the requests until the file is whole. At the
    /// end of the data connection 226 was said.
    @Test(arguments: [
        (Int64(0), Int64(200_000), 2), (900, 200_000, 2), (299_900, 200_000, 2),
        (299_900, 299_950, 2), (300_000, 300_000, 2), (300_000, 200_000, 2),
    ])
    func aSizeBelowTheTruthOverFTP(told: Int64, cut: Int64, requests: Int) {
        let size: Int64 = 300_000
        let date = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"
        let log = download("ftp://h/f") { ask, number in
            var head = head(ask.ask.start > 0 ? 206 : 200, date, scheme: .ftp)
            if told > ask.ask.start {
                head.headers["Content-Length"] = "\(told - ask.ask.start)"
            }
            return number == 0
                ? Self.body(ask, head, through: cut, .curl(code: 18, text: "426", osError: 0))
                : Self.body(ask, head, through: size)
        }
        guard case .completed(_, _, let totals)? = log.end else {
            Issue.record("\(String(describing: log.end)) \(log.requests)")
            return
        }
        #expect(totals.bytesTotal == size && log.requests.count <= requests + 1)
    }

    /// Fewer bytes than SIZE said are an interruption, with 226 as well.
    @Test func aSizeAboveTheTruthOverFTP() {
        let log = download("ftp://h/f") { ask, _ in
            let head = head(
                ask.ask.start > 0 ? 206 : 200, "Content-Length: \(300_100 - ask.ask.start)",
                "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", scheme: .ftp)
            return Self.body(ask, head, through: 300_000)
        }
        expectPauses(log, perRun: 2)
    }

    /// Each answer brings a few bytes and breaks off.
    @Test(arguments: [Int64?.none, 3_000_000])
    func aDownloadThatGainsTooLittle(length: Int64?) {
        let total = length.map(String.init) ?? "*"
        let log = download("http://h/f") { ask, _ in
            let start = ask.ask.start
            let end = length ?? start + 1000
            let head =
                start > 0
                ? head(206, "ETag: \"v\"", "Content-Range: bytes \(start)-\(end - 1)/\(total)")
                : head(200, "ETag: \"v\"", "Content-Length: \(length ?? 3_000_000)")
            return Self.body(
                ask, head, through: start + 100, .curl(code: 56, text: "", osError: 0))
        }
        expectPauses(log, perRun: 1)
    }

    @Test func aDownloadThatGainsEnough() {
        let total: Int64 = 50_000
        let log = download("http://h/f") { ask, _ in
            let start = ask.ask.start
            let head =
                start > 0
                ? head(206, "ETag: \"v\"", "Content-Range: bytes \(start)-\(total - 1)/\(total)")
                : head(200, "ETag: \"v\"", "Content-Length: \(total)")
            let through = min(total, start + 2000)
            return Self.body(
                ask, head, through: through,
                through == total ? nil : .curl(code: 56, text: "", osError: 0))
        }
        #expect(log.runs.count == 25 && log.leastPause > 0.99)
        #expect(log.runs.last ?? 0 < 30)
    }
}
