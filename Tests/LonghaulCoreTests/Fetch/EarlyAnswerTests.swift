import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// What an answer is worth that comes before the body has gone out whole: a success ends no upload,
/// and acknowledges nothing that was not sent.
@Suite struct EarlyAnswerTests {
    private static let size: Int64 = 5 << 20

    struct Row: CustomTestStringConvertible, Sendable {
        var way: UploadProtocol
        /// The resource at the server, whose next request is the one that is answered.
        var address: String?
        var isRepeatable = false
        var status = 200
        var fields: [String: String] = [:]
        var sent: Int64
        var means: Meaning

        init(
            _ way: UploadProtocol, at address: String? = nil, isRepeatable: Bool = false,
            _ status: Int, _ fields: [String: String] = [:], sent: Int64, means: Meaning
        ) {
            (self.way, self.address, self.isRepeatable) = (way, address, isRepeatable)
            (self.status, self.fields, self.sent, self.means) = (status, fields, sent, means)
        }

        var testDescription: String { "\(way) \(address ?? "") \(status) after \(sent)" }
    }

    enum Meaning: Hashable, Sendable {
        case done, goesOn, asks, retries, conflicts, fails

        init(_ verdict: UploadVerdict) {
            self =
                switch verdict {
                case .done: .done
                case .goOn: .goesOn
                case .askAfter: .asks
                case .conflict: .conflicts
                case .failed(let failure): failure.kind == .transient ? .retries : .fails
                }
        }
    }

    private static let (part, resource) = ("p", "http://h/r/1")
    private static let all = ["Upload-Offset": "\(size)", "Upload-Complete": "?1"]

    static let rows = [
        Row(.put, 200, sent: size, means: .done),
        Row(.put, 200, sent: 0, means: .retries),
        Row(.put, 201, sent: size - 1, means: .retries),
        Row(.put, 303, sent: size, means: .fails),
        Row(.auto, 303, sent: size, means: .fails),
        Row(.s3, 303, sent: size, means: .fails),
        Row(.put, 303, sent: 0, means: .fails),
        Row(.put, 303, sent: size - 1, means: .fails),
        Row(.post, 200, sent: size, means: .done),
        Row(.post, 200, sent: 0, means: .fails),
        Row(.post, isRepeatable: true, 200, sent: 0, means: .retries),
        Row(.post, 303, sent: 0, means: .fails),
        Row(.post, 303, sent: size, means: .done),
        Row(.post, 302, ["Location": "/thanks"], sent: size, means: .done),
        Row(.post, 301, ["Location": "/thanks"], sent: size, means: .done),
        Row(.post, 302, sent: size, means: .fails),
        Row(.ietf, 303, sent: size, means: .fails),
        Row(.auto, 200, sent: 0, means: .retries),
        Row(.tus, at: resource, 204, all, sent: size, means: .done),
        Row(.tus, at: resource, 204, all, sent: 0, means: .retries),
        Row(.tus, at: resource, 204, all, sent: 70_000, means: .asks),
        Row(.tus, at: resource, 204, [:], sent: 70_000, means: .asks),
        Row(.ietf, at: resource, 200, all, sent: size, means: .done),
        Row(.ietf, at: resource, 200, all, sent: 70_000, means: .asks),
        Row(.ietf, at: resource, 200, ["Upload-Complete": "?0"], sent: 70_000, means: .asks),
        Row(.s3, at: part, 200, ["ETag": "\"t\""], sent: size, means: .goesOn),
        Row(.s3, at: part, 200, ["ETag": "\"t\""], sent: 70_000, means: .retries),
    ]

    /// The request, and what its answer means.
    private func judge(
        _ row: Row, unsent: Int64 = 0, failure: WireFailure? = nil
    ) throws -> (any UploadConversation, UploadVerdict) {
        let source = SourceVersion(device: 1, inode: 2, size: Self.size, modified: 3, changed: 4)
        var options = UploadOptions()
        options.uploadProtocol = row.way
        options.method = row.way == .post ? .post : nil
        options.isRepeatable = row.isRepeatable
        let request = TransferRequest(uploadTo: "http://h/a", source, options)
        let progress: UploadProgress =
            switch row.way {
            case .put, .post: .plain(PlainUpload.Kept())
            case .auto: .draft(DraftUpload.Kept(.ietf9, isGuess: true))
            case .s3: .s3(S3Upload.Kept(at: row.address, partSize: Self.size - 1000))
            case .tus, .ietf:
                row.address.map {
                    .at(row.way == .tus ? .tus : .ietf9, $0, sentBound: Self.size)
                } ?? (row.way == .tus ? .tus(TusUpload.Kept()) : .draft(DraftUpload.Kept(.ietf9)))
            }
        var judge = try UploadState(progress).conversation(request)
        let exchange = try #require(judge.next())
        var end = SegmentEnd(failure: failure, writtenThrough: 0, bytesReceived: 0)
        end.bytesSent = min(row.sent, exchange.body.content?.length ?? 0)
        end.bytesUnsent = unsent
        var headers = HeaderFields()
        for (name, value) in row.fields { headers[name] = value }
        var head = ResponseHead(
            scheme: .http, status: row.status, headers: headers, effectiveURL: exchange.url,
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
        head.isAfterBody = end.bytesSent - unsent >= exchange.body.content?.length ?? 0
        let verdict = judge.judge(EndedExchange(exchange, end, head))
        return (judge, verdict)
    }

    @Test(arguments: rows) func aSuccessCountsOnceAllIsSent(_ row: Row) throws {
        let (judge, verdict) = try judge(row)
        #expect(Meaning(verdict) == row.means, "\(verdict)")
        let offset = judge.standing.offset
        if row.way != .s3 { #expect(offset == (row.means == .done ? Self.size : 0)) }
        #expect(judge.state.s3.partTags.isEmpty == (row.means != .goesOn))
        // An offset that is told later is believed up to what was sent.
        if row.means == .asks { #expect(judge.progress.kept.sentBound == row.sent) }
    }

    /// What libcurl has read of the file and not sent does not count, for an end.
    @Test func whatIsStillHereIsNotSent() throws {
        let row = Row(.put, 200, sent: Self.size, means: .done)
        #expect(Meaning(try judge(row, unsent: 1).1) == .retries)
        let (judge, asked) = try judge(
            Row(.tus, at: Self.resource, 204, Self.all, sent: Self.size, means: .done), unsent: 1)
        #expect(Meaning(asked) == .asks && judge.progress.kept.sentBound == Self.size)
    }

    /// (purpose, method, status, location, the body is out; it is followed, it is the result)
    @Test(
        arguments: [
            (.whole, "POST", 302, "/thanks", false, true, false),
            (.whole, "POST", 302, "/thanks", true, false, true),
            (.whole, "POST", 301, "/thanks", true, false, true),
            (.whole, "POST", 301, "http://h/b", true, false, true),
            (.whole, "POST", 301, "https://h/a", true, true, false),
            (.whole, "POST", 302, "https://h/a", true, false, true),
            (.whole, "POST", 303, "/thanks", true, false, true),
            (.whole, "POST", 303, "/thanks", false, false, false),
            (.whole, "POST", 307, "/b", true, true, false),
            (.whole, "POST", 308, "/b", true, true, false),
            (.whole, "POST", 302, nil, true, false, false),
            (.whole, "PUT", 301, "/b", true, true, false),
            (.whole, "PUT", 302, "/b", true, true, false),
            (.whole, "PUT", 303, "/b", true, false, false),
            (.create, "POST", 302, "/files/", true, true, false),
            (.append, "PATCH", 302, "/b", true, true, false),
            (.abort, "DELETE", 301, "/b", true, true, false),
        ] as [(UploadExchange.Purpose, String, Int, String?, Bool, Bool, Bool)])
    func aRedirectIsFollowedOrIsTheResult(
        _ purpose: UploadExchange.Purpose, _ method: String, _ status: Int, _ location: String?,
        _ isAfterBody: Bool, _ isFollowed: Bool, _ isResult: Bool
    ) {
        let exchange = UploadExchange(
            purpose: purpose, url: "http://h/a", headers: HeaderFields(),
            body: UploadBody(method: method), range: 0..<0, completes: true)
        var headers = HeaderFields()
        headers["Location"] = location
        var head = ResponseHead(
            scheme: .http, status: status, headers: headers, effectiveURL: "http://h/a",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
        head.isAfterBody = isAfterBody
        #expect(exchange.isRedirected(by: head) == isFollowed)
        #expect(exchange.hasResultElsewhere(head) == isResult)
    }

    @Test func itSaysWhy() throws {
        let (_, redirected) = try judge(Row(.put, 303, sent: 0, means: .fails))
        guard case .failed(let failure) = redirected else { throw CancellationError() }
        #expect(failure.error.code == .serverError && failure.error.httpStatus == 303)
        #expect(failure.error.message.contains("redirects (303) without having taken the file"))
        let (posted, lost) = try judge(Row(.post, 200, sent: 0, means: .fails))
        guard case .failed(let failure) = lost else { throw CancellationError() }
        #expect(failure.error.code == .serverError && !failure.error.retryable)
        // `retry` does not send it again either.
        #expect(posted.standing.mayHaveArrived)
    }

    /// The source is another one, and its server has answered all the same.
    @Test func aChangedFileIsNotSentAgain() throws {
        let row = Row(.put, 200, sent: 1000, means: .fails)
        let (_, verdict) = try judge(row, failure: .sourceChanged)
        guard case .failed(let failure) = verdict else { throw CancellationError() }
        #expect(failure.error.code == .sourceChanged)
    }

    @Test func aConflictOfOffsetsPasses() throws {
        for way in [UploadProtocol.tus, .ietf] {
            let row = Row(way, at: Self.resource, 409, sent: 1000, means: .conflicts)
            let (judge, verdict) = try judge(row)
            guard case .conflict(let failure) = verdict else { throw CancellationError() }
            #expect(failure.kind == .transient && failure.error.httpStatus == 409)
            #expect(judge.progress.kept.mustAsk)
            // At the creation it is a refusal.
            let (_, refused) = try self.judge(Row(way, 409, sent: 0, means: .fails))
            #expect(Meaning(refused) == .fails)
        }
    }
}
