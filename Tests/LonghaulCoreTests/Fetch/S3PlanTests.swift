import Testing

@testable import LonghaulCore

/// What is asked of S3, and what its answers mean.
@Suite struct S3PlanTests {
    private static let mebibyte: Int64 = 1 << 20

    private func options() -> UploadOptions {
        var options = UploadOptions()
        options.uploadProtocol = .s3
        options.region = "eu-west-1"
        return options
    }

    private func next(_ state: UploadState, offset: Int64, size: Int64) -> UploadExchange? {
        var request = TransferRequest(url: "https://b.s3.example/k", destination: .file("/f"))
        request.options.upload = options()
        let source = SourceVersion(device: 1, inode: 1, size: size, modified: 1, changed: 1)
        return UploadPlan(
            request, options(), state, offset: offset, source: source,
            transfer: TransferID(rawValue: 1)
        ).next()
    }

    @Test func aSmallFileIsOneObject() throws {
        var state = UploadState()
        state.dialect = .s3
        let exchange = try #require(next(state, offset: 0, size: 100))
        #expect(exchange.body.method == "PUT")
        #expect(exchange.url == "https://b.s3.example/k")
        #expect(exchange.body.signature == "aws:amz:eu-west-1:s3")
        #expect(exchange.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
    }

    @Test func aLargeOneGoesInParts() throws {
        let size = 20 * Self.mebibyte
        var state = UploadState()
        state.dialect = .s3
        var offset: Int64 = 0
        var asked: [String] = []
        var end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
        for round in 0..<5 {
            let exchange = try #require(next(state, offset: offset, size: size))
            asked.append("\(exchange.body.method) \(exchange.url.dropFirst(22))")
            end.answer = Array(
                "<R><UploadId>a/b</UploadId></R>".utf8.prefix(exchange.purpose == .create ? 99 : 0))
            var headers = HeaderFields()
            headers["ETag"] = "\"t\(round)\""
            let head = ResponseHead(
                scheme: .http, status: 200, headers: headers, effectiveURL: exchange.url,
                httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
            var judge = UploadJudge(exchange, end, state, offset: offset, size: size, options())
            let verdict = judge.judge(head)
            #expect(verdict == (round == 4 ? .done : .goOn))
            (state, offset) = (judge.state, judge.offset)
            if round == 4 {
                let text = String(decoding: exchange.body.content?.before ?? [], as: UTF8.self)
                #expect(text.contains("<PartNumber>3</PartNumber><ETag>\"t3\"</ETag>"))
            }
        }
        #expect(
            asked == [
                "POST ?uploads=", "PUT ?partNumber=1&uploadId=a%2Fb",
                "PUT ?partNumber=2&uploadId=a%2Fb", "PUT ?partNumber=3&uploadId=a%2Fb",
                "POST ?uploadId=a%2Fb",
            ])
    }

    /// (size in MiB, size of a part in MiB)
    @Test(arguments: [(10, 8), (100_001, 11), (5_000_000, 500)] as [(Int64, Int64)])
    func noFileHasTooManyParts(_ size: Int64, _ part: Int64) {
        let found = S3Plan.partSize(options(), size: size * Self.mebibyte)
        #expect(found == part * Self.mebibyte)
        #expect((size * Self.mebibyte + found - 1) / found <= 10_000)
    }

    @Test(arguments: [
        ("a b", "a%20b"), ("a%20b", "a%20b"), ("ä/ü+", "%C3%A4/%C3%BC%2B"), ("%", "%25"),
    ])
    func keysAreDecodedOnce(_ key: String, _ escaped: String) {
        #expect(S3Key.escaped(key) == escaped)
    }
}
