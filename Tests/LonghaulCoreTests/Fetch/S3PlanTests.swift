import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// What is asked of S3, and what its answers mean.
@Suite struct S3PlanTests {
    private static let mebibyte: Int64 = 1 << 20

    private func options() -> UploadOptions {
        var options = UploadOptions()
        options.uploadProtocol = .s3
        return options
    }

    private func next(
        _ state: UploadState, size: Int64, beside others: [UploadExchange] = []
    ) -> UploadExchange? {
        try? state.conversation(request(size)).next(beside: others)
    }

    private func request(_ size: Int64) -> TransferRequest {
        let source = SourceVersion(device: 1, inode: 1, size: size, modified: 1, changed: 1)
        var request = TransferRequest(uploadTo: "https://b.s3.example/k", source, options())
        request.options.s3 = S3Access(region: "eu-west-1")
        return request
    }

    private func head(_ status: Int, _ fields: [String: String] = [:]) -> ResponseHead {
        var headers = HeaderFields()
        for (name, value) in fields { headers[name] = value }
        return ResponseHead(
            scheme: .http, status: status, headers: headers, effectiveURL: "https://b.s3.example/k",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
    }

    /// What the end of a request means, with the answer's body.
    private func judge(
        _ exchange: UploadExchange, _ head: ResponseHead?, _ body: String = "",
        _ state: inout UploadState, size: Int64
    ) throws -> UploadVerdict {
        var end = SegmentEnd(
            failure: head == nil ? .curl(code: 56, text: "cut", osError: 104) : nil,
            writtenThrough: 0, bytesReceived: 0)
        end.bytesSent = exchange.body.content?.length ?? 0
        end.answer = Array(body.utf8)
        var judge = try state.conversation(request(size))
        let verdict = judge.judge(EndedExchange(exchange, end, head))
        state = judge.state
        return verdict
    }

    private func started(_ tags: [String] = []) -> UploadState {
        UploadState(
            .s3(S3Upload.Kept(at: "a%2Fb", partSize: 8 * Self.mebibyte, partTags: tags)))
    }

    /// As a request of that part.
    private func part(_ number: Int, size: Int64) throws -> UploadExchange {
        let tags = Array(repeating: "\"t\"", count: number - 1)
        return try #require(next(started(tags), size: size))
    }

    @Test func aSmallFileIsOneObject() throws {
        let state = UploadState(.s3(S3Upload.Kept()))
        let exchange = try #require(next(state, size: 100))
        #expect(exchange.body.method == "PUT")
        #expect(exchange.url == "https://b.s3.example/k")
        #expect(exchange.signature == "aws:amz:eu-west-1:s3")
        #expect(exchange.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
    }

    /// Some servers do not know the field (Backblaze B2), and get the object once more without it.
    @Test(arguments: [
        (400, "InvalidArgument", true), (501, "NotImplemented", true), (400, "", true),
        (400, "BadDigest", false), (400, "RequestTimeout", false), (403, "AccessDenied", false),
        (503, "SlowDown", false),
    ])
    func aRefusedDigestIsLeftOut(_ status: Int, _ code: String, _ isLeftOut: Bool) throws {
        var request = request(100)
        let hex = String(repeating: "0", count: 64)
        request.options.checksum = Checksum(algorithm: .sha256, hex: hex)
        var state = UploadState(.s3(S3Upload.Kept()))
        for round in 0..<2 {
            var upload = try state.conversation(request)
            let exchange = try #require(upload.next())
            let isSaid = exchange.headers.contains(S3Upload.digestField)
            #expect(isSaid == (round == 0 || !isLeftOut))
            #expect(exchange.headers.contains("Repr-Digest") == isSaid)
            var end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
            end.answer = Array("<Error><Code>\(code)</Code></Error>".utf8)
            let verdict = upload.judge(EndedExchange(exchange, end, head(status)))
            // Refused without it, the request fails for what the answer says.
            #expect((verdict == .goOn) == (isLeftOut && round == 0), "\(verdict)")
            state = upload.state
        }
    }

    @Test func aLargeOneGoesInParts() throws {
        let size = 20 * Self.mebibyte
        var state = UploadState(.s3(S3Upload.Kept()))
        var asked: [String] = []
        for round in 0..<5 {
            let exchange = try #require(next(state, size: size))
            asked.append("\(exchange.body.method) \(exchange.url.dropFirst(22))")
            let body = exchange.purpose == .create ? "<R><UploadId>a/b</UploadId></R>" : ""
            let verdict = try judge(
                exchange, head(200, ["ETag": "\"t\(round)\""]), body, &state, size: size)
            #expect(verdict == (round == 4 ? .done : .goOn))
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

    /// Of 20 MiB in parts of 8: parts that the server has, parts under way, the part that is next.
    @Test(
        arguments: [
            ([], [], 1), ([], [1], 2), ([], [1, 2, 3], nil), ([1], [2], 3), ([2], [], 1),
            ([2], [1], 3), ([2, 3], [1], nil), ([1, 3], [], 2), ([3], [2], 1),
        ] as [(Set<Int>, [Int], Int?)])
    func theFirstMissingPartIsNext(_ held: Set<Int>, _ underWay: [Int], _ number: Int?) throws {
        let size = 20 * Self.mebibyte
        let state = started((1...3).map { held.contains($0) ? "\"t\"" : "" })
        let others = try underWay.map { try part($0, size: size) }
        let exchange = next(state, size: size, beside: others)
        #expect(exchange?.part == number)
        #expect(exchange?.purpose == number.map { _ in .append })
        let ends = [8, 16, 20].map { $0 * Self.mebibyte }
        if let number {
            let start = Int64(number - 1) * 8 * Self.mebibyte
            #expect(exchange?.range == start..<ends[number - 1])
        }
    }

    @Test func onlyAllPartsBecomeAnObject() throws {
        let size = 20 * Self.mebibyte
        let last = try part(3, size: size)
        var state = started(["\"a\"", "\"b\""])
        #expect(next(state, size: size, beside: [last]) == nil)
        #expect(try judge(last, head(200, ["ETag": "\"c\""]), "", &state, size: size) == .goOn)
        let exchange = try #require(next(state, size: size))
        #expect(exchange.purpose == .complete)
    }

    @Test func partsAreAcknowledgedInAnyOrder() throws {
        let size = 20 * Self.mebibyte
        var state = started()
        for (number, bytes) in [(3, 4), (1, 12), (2, 20)] as [(Int, Int64)] {
            let exchange = try part(number, size: size)
            let answer = head(200, ["ETag": "\"t\(number)\""])
            #expect(try judge(exchange, answer, "", &state, size: size) == .goOn)
            let parts = S3Parts(state.s3, options(), size: size)
            #expect(parts.acknowledged.count == bytes * Self.mebibyte)
        }
        #expect(state.s3.partTags == ["\"t1\"", "\"t2\"", "\"t3\""])
    }

    @Test func nothingElseIsAskedBesideAnother() throws {
        let state = UploadState(.s3(S3Upload.Kept()))
        let create = try #require(next(state, size: 20 * Self.mebibyte))
        #expect(next(state, size: 20 * Self.mebibyte, beside: [create]) == nil)
        let whole = try #require(next(state, size: 100))
        #expect(next(state, size: 100, beside: [whole]) == nil)
    }

    // MARK: - After a break

    private static let size: Int64 = 20 << 20

    private func list(_ parts: [(Int, Int64)], more: Bool = false) -> String {
        let rows = parts.map {
            "<Part><PartNumber>\($0.0)</PartNumber><LastModified>x</LastModified>"
                + "<ETag>&quot;n\($0.0)&quot;</ETag><Size>\($0.1 << 20)</Size></Part>"
        }
        return "<?xml version=\"1.0\"?>\n<ListPartsResult xmlns=\"x\"><IsTruncated>\(more)"
            + "</IsTruncated>\(rows.joined())</ListPartsResult>\n"
    }

    /// What is recorded, what is listed in pages of two (part and MiB), what holds then.
    @Test(
        arguments: [
            ([], [(1, 8), (3, 4)], ["n1", "", "n3"]),
            (["a", "b", "c"], [], ["", "", ""]),
            (["a", "", "c"], [(1, 8), (2, 8), (3, 4)], ["n1", "n2", "n3"]),
            (["a", "b"], [(1, 8), (2, 7)], ["n1", ""]),
            (["a", "b", "c"], [(1, 8), (2, 8)], ["n1", "n2", ""]),
            ([], [(3, 8), (4, 8)], []),
        ] as [([String], [(Int, Int64)], [String])])
    func theListCounts(_ recorded: [String], _ listed: [(Int, Int64)], _ held: [String]) throws {
        var state = started(recorded)
        state.s3.mustAsk = true
        var pages = stride(from: 0, to: max(1, listed.count), by: 2).map {
            Array(listed[min($0, listed.count)..<min($0 + 2, listed.count)])
        }
        var queries: [Substring] = []
        while state.s3.mustAsk {
            let exchange = try #require(next(state, size: Self.size))
            #expect(exchange.purpose == .list)
            queries.append(exchange.url.split(separator: "?")[1])
            let page = pages.removeFirst()
            let text = list(page, more: !pages.isEmpty)
            #expect(try judge(exchange, head(200), text, &state, size: Self.size) == .goOn)
        }
        #expect(state.s3.partTags == held.map { $0.hasPrefix("n") ? "\"\($0)\"" : $0 })
        #expect(queries[0] == "max-parts=100&uploadId=a%2Fb")
        if queries.count > 1 {
            #expect(queries[1] == "max-parts=100&part-number-marker=2&uploadId=a%2Fb")
        }
        #expect(state.s3.listedThrough == nil)
    }

    /// Each page says that more follows, and the next one has nothing new: the upload begins anew,
    /// and what is at the server is to be taken away there.
    @Test(arguments: [[(1, 8), (2, 8)], [(1, 8)], []] as [[(Int, Int64)]])
    func aListWithoutAnEndIsGivenUp(_ page: [(Int, Int64)]) throws {
        var state = started(["a", "b"])
        state.s3.mustAsk = true
        for _ in 0..<(page.isEmpty ? 0 : 1) {
            let exchange = try #require(next(state, size: Self.size))
            let text = list(page, more: true)
            #expect(try judge(exchange, head(200), text, &state, size: Self.size) == .goOn)
        }
        let exchange = try #require(next(state, size: Self.size))
        var end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
        end.answer = Array(list(page, more: true).utf8)
        var judge = try state.conversation(request(Self.size))
        guard case .conflict = judge.judge(EndedExchange(exchange, end, head(200))) else {
            Issue.record("the list is read on")
            return
        }
        #expect(judge.standing.isLeftBehind && judge.standing.lost != nil)
        #expect(judge.state.address == nil && judge.next()?.purpose == .create)
    }

    /// A server that counts on past the last part is not followed.
    @Test func whatFollowsTheLastPartIsNotListed() throws {
        var state = started()
        state.s3.mustAsk = true
        let exchange = try #require(next(state, size: Self.size))
        let text = list([(1, 8), (2, 8), (3, 4)], more: true)
        #expect(try judge(exchange, head(200), text, &state, size: Self.size) == .goOn)
        #expect(!state.s3.mustAsk && state.s3.partTags.count == 3)
    }

    @Test func aListThatIsCutIsReadOn() throws {
        let text = list([(1, 8), (2, 8)])
        let cut = Array(text.utf8.prefix(text.utf8.count - 40))
        let page = try #require(S3Answer.parts(in: cut))
        #expect(page.parts.map(\.number) == [1])
        #expect(page.next == 1)
        #expect(S3Answer.parts(in: Array("<html></html>".utf8)) == nil)
        #expect(S3Answer.parts(in: Array("<ListPartsResult><Part>".utf8)) == nil)
    }

    /// Amazon's list is a ListPartsResult, moto's a ListPartsResponse.
    @Test func theListMayHaveAnotherRoot() throws {
        let text = list([(1, 8), (2, 8)]).replacing("ListPartsResult", with: "ListPartsResponse")
        let page = try #require(S3Answer.parts(in: Array(text.utf8)))
        #expect(page.parts.map(\.number) == [1, 2])
        #expect(page.next == nil)
    }

    /// What the request was, its answer, and what is asked then.
    private enum Answer: String {
        case lost, ok, unknown, refused, failed, badPart, lateError
    }

    private static let missing = ["\"a\"", "\"b\"", ""]
    private static let all = ["\"a\"", "\"b\"", "\"c\""]

    private func after(
        _ exchange: UploadExchange, _ answer: Answer, _ state: inout UploadState
    ) throws -> UploadVerdict {
        let (status, body): (Int?, String) =
            switch answer {
            case .lost: (nil, "")
            case .ok: (200, "")
            case .unknown: (404, "<Error><Code>NoSuchUpload</Code></Error>")
            case .refused: (403, "<Error><Code>AccessDenied</Code></Error>")
            case .failed: (503, "")
            case .badPart: (400, "<Error><Code>InvalidPart</Code></Error>")
            case .lateError: (200, "<Error><Code>InternalError</Code></Error>")
            }
        let head = status.map { self.head($0, ["ETag": "\"x\""]) }
        return try judge(exchange, head, body, &state, size: Self.size)
    }

    /// Whatever is asked, keys that have expired are asked for, and nothing is given up.
    @Test(arguments: [all, missing, []], [true, false])
    func expiredKeysAreAskedFor(_ tags: [String], _ mustAsk: Bool) throws {
        var state = started(tags)
        if tags.isEmpty { state.s3.address = nil }
        state.s3.mustAsk = mustAsk
        let exchange = try #require(next(state, size: Self.size))
        let body = "<Error><Code>ExpiredToken</Code></Error>"
        let verdict = try judge(exchange, head(400), body, &state, size: Self.size)
        guard case .failed(let failure) = verdict else {
            Issue.record("\(exchange.purpose) leads to \(verdict)")
            return
        }
        #expect(failure.kind == .needsInput && failure.error.code == .unauthorized)
        #expect(failure.error.httpStatus == 400)
        #expect(state.address == (tags.isEmpty ? nil : "a%2Fb"))
        #expect(state.s3.mustAsk == mustAsk)
    }

    /// A slow line, a busy server: the same goes again, and nothing is given up.
    @Test(
        arguments: [all, missing, []],
        [
            (400, "RequestTimeout"), (403, "SlowDown"), (409, "OperationAborted"),
            (400, "IncompleteBody"),
        ])
    func whatPassesIsTriedAgain(_ tags: [String], _ answer: (status: Int, code: String)) throws {
        for mustAsk in [true, false] {
            var state = started(tags)
            if tags.isEmpty { state.s3.address = nil }
            state.s3.mustAsk = mustAsk
            let exchange = try #require(next(state, size: Self.size))
            let body = "<Error><Code>\(answer.code)</Code></Error>"
            let verdict = try judge(exchange, head(answer.status), body, &state, size: Self.size)
            guard case .failed(let failure) = verdict else {
                Issue.record("\(exchange.purpose) leads to \(verdict)")
                return
            }
            #expect(failure.kind == .transient)
            #expect(state.address == (tags.isEmpty ? nil : "a%2Fb"))
        }
    }

    @Test(
        arguments: [
            (301, ["x-amz-bucket-region": "eu-west-3"], "", "eu-west-3"),
            (
                400, ["x-amz-bucket-region": "us-east-2"], "AuthorizationHeaderMalformed",
                "us-east-2"
            ),
            (400, [:], "AuthorizationHeaderMalformed</Code><Region>r-1</Region><Code>", "r-1"),
            (301, ["x-amz-bucket-region": "eu-west-1"], "", nil),
            (301, ["x-amz-bucket-region": "a b"], "", nil), (301, [:], "PermanentRedirect", nil),
        ] as [(Int, [String: String], String, String?)])
    func anotherRegionIsNamed(
        _ status: Int, _ fields: [String: String], _ code: String, _ region: String?
    ) throws {
        var state = started()
        state.s3.address = nil
        let exchange = try #require(next(state, size: Self.size))
        let body = "<Error><Code>\(code)</Code></Error>"
        let verdict = try judge(exchange, head(status, fields), body, &state, size: Self.size)
        guard case .failed(let failure) = verdict else {
            Issue.record("it leads to \(verdict)")
            return
        }
        #expect(failure.kind == .permanent)
        let named = region.map { failure.error.message.contains("AWS_REGION=\($0)") }
        #expect(named ?? !failure.error.message.contains("AWS_REGION"))
    }

    /// Without keys nothing is sent.
    @Test func withoutKeysNothingHasArrived() throws {
        let profile = S3Profile(
            name: "work", credentialsFile: "/c/credentials", configFile: "/c/config")
        var end = SegmentEnd(
            failure: .noKeys(profile, .noKeys), writtenThrough: 0, bytesReceived: 0)
        end.bytesSent = 0
        let state = started(Self.missing)
        let exchange = try #require(next(state, size: Self.size))
        var judge = try state.conversation(request(Self.size))
        guard case .failed(let failure) = judge.judge(EndedExchange(exchange, end, nil)) else {
            Issue.record("it does not go on")
            return
        }
        #expect(failure.kind == .needsInput && failure.error.code == .unauthorized)
        #expect(failure.error.message.hasSuffix("put its keys there, then `resume`"))
        #expect(!judge.standing.mayHaveArrived)
    }

    @Test func aLostAnswerOfAPartIsLookedUp() throws {
        var state = started(Self.missing)
        let exchange = try #require(next(state, size: Self.size))
        guard case .askAfter = try after(exchange, .lost, &state) else {
            Issue.record("the server is asked")
            return
        }
        #expect(next(state, size: Self.size)?.purpose == .list)
        // Not beside others: their parts would be missing in the list.
        #expect(next(state, size: Self.size, beside: [exchange]) == nil)
    }

    @Test func aPartThatWasCutIsSentAgain() throws {
        var state = started(Self.missing)
        let exchange = try #require(next(state, size: Self.size))
        var end = SegmentEnd(
            failure: .curl(code: 56, text: "cut", osError: 104), writtenThrough: 0,
            bytesReceived: 0)
        end.bytesSent = 1000
        var judge = try state.conversation(request(Self.size))
        guard case .failed = judge.judge(EndedExchange(exchange, end, nil)) else {
            Issue.record("it cannot be there")
            return
        }
        state = judge.state
        #expect(next(state, size: Self.size)?.part == 3)
    }

    /// The completion: its answers, and the purposes of the requests that follow one another, each
    /// answered by the next.
    @Test(
        arguments: [
            ([.unknown], [.create]),
            ([.lost], [.list]),
            ([.lateError], [.complete]),
            ([.badPart], [.list]),
            ([.lost, .unknown], [.list, .ask]),
            ([.failed, .unknown, .unknown], [.complete, .ask, .create]),
            ([.lost, .refused, .unknown], [.list, .complete, .ask]),
            ([.lost, .unknown, .refused], [.list, .ask, .create]),
        ] as [([Answer], [UploadExchange.Purpose])])
    private func theCompletionIsResolved(
        _ answers: [Answer], _ purposes: [UploadExchange.Purpose]
    ) throws {
        var state = started(Self.all)
        for (answer, purpose) in zip(answers, purposes) {
            let exchange = try #require(next(state, size: Self.size))
            _ = try after(exchange, answer, &state)
            #expect(next(state, size: Self.size)?.purpose == purpose)
        }
    }

    @Test func theObjectIsFoundByLengthPartsAndDate() throws {
        let begun = "Sun, 06 Nov 1994 08:49:37 GMT"
        for (length, tag, made, isDone) in [
            (Self.size, "\"0-3\"", "Sun, 06 Nov 1994 08:49:37 GMT", true),
            (Self.size, "\"0-3\"", "Sun, 06 Nov 1994 08:49:35 GMT", true),
            (Self.size, "\"0-3\"", "Sun, 06 Nov 1994 09:49:37 GMT", true),
            (Self.size, "\"0-3\"", "Sun, 06 Nov 1994 08:40:00 GMT", false),
            (Self.size, "\"0-2\"", "Sun, 06 Nov 1994 08:49:37 GMT", false),
            (5, "\"0-3\"", "Sun, 06 Nov 1994 08:49:37 GMT", false),
        ] {
            var state = started(Self.all)
            state.mayHaveArrived = true
            state.s3.isForgotten = true
            state.s3.begunAt = head(200, ["Date": begun]).date("Date")
            let exchange = try #require(next(state, size: Self.size))
            let answer = head(
                200, ["Content-Length": "\(length)", "ETag": tag, "Last-Modified": made])
            let verdict = try judge(exchange, answer, "", &state, size: Self.size)
            #expect((verdict == .done) == isDone, "\(length) \(tag) \(made)")
            #expect(isDone || state.address == nil)
        }
    }

    /// A server that is busy has not said that it is not there. Keys that may not look get 403.
    @Test(arguments: [(408, true), (429, true), (503, true), (403, false), (404, false)])
    func theObjectIsLookedAtAgain(_ status: Int, _ isToCome: Bool) throws {
        var state = started(Self.all)
        (state.mayHaveArrived, state.s3.isForgotten) = (true, true)
        let exchange = try #require(next(state, size: Self.size))
        _ = try judge(exchange, head(status), "", &state, size: Self.size)
        #expect((state.address != nil) == isToCome)
    }

    // MARK: - Sizes and names

    /// (size in MiB, size of a part in MiB)
    @Test(arguments: [(10, 8), (100_001, 11), (5_000_000, 500)] as [(Int64, Int64)])
    func noFileHasTooManyParts(_ size: Int64, _ part: Int64) {
        let found = S3Parts.size(options(), of: size * Self.mebibyte)
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
