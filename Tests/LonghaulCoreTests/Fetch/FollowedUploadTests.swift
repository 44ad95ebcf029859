import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Uploads of a file that is still written: what is asked, by each protocol.
@Suite struct FollowedUploadTests {
    private static let address = "http://h/r/1"

    private static func source(_ size: Int64) -> SourceVersion {
        SourceVersion(device: 1, inode: 2, size: size, modified: size, changed: size)
    }

    private static func request(_ way: UploadProtocol) -> TransferRequest {
        var options = UploadOptions()
        options.uploadProtocol = way
        options.ifChanged = .follow
        var request = TransferRequest(uploadTo: "http://h/f", source(0), options)
        if way == .s3 { request.options.s3 = S3Access() }
        return request
    }

    private static func head(_ status: Int, _ fields: [String: String] = [:]) -> ResponseHead {
        var headers = HeaderFields()
        for (name, value) in fields { headers[name] = value }
        return ResponseHead(
            scheme: .http, status: status, headers: headers, effectiveURL: "http://h/f",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
    }

    /// An upload and its server, in turns.
    private struct Conversation {
        let request: TransferRequest
        var state: UploadState
        var offset: Int64 = 0

        init(_ way: UploadProtocol, _ progress: UploadProgress? = nil) {
            request = FollowedUploadTests.request(way)
            state = UploadState(progress ?? .discovery(UploadDiscovery.Kept()))
            state.isGrowing = true
            grow(to: 0)
        }

        mutating func grow(to size: Int64) { state.source = FollowedUploadTests.source(size) }

        func next() throws -> UploadExchange? {
            try state.conversation(request, offset: offset).next()
        }

        /// Sends the next request, which the server answers so.
        mutating func answered(
            _ status: Int, _ fields: [String: String] = [:], body: String = ""
        ) throws -> (asked: UploadExchange, verdict: UploadVerdict) {
            var upload = try state.conversation(request, offset: offset)
            let asked = try #require(upload.next())
            upload.begins(asked)
            var end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
            end.bytesSent = asked.body.content?.length ?? 0
            end.answer = Array(body.utf8)
            var head = FollowedUploadTests.head(status, fields)
            head.isAfterBody = true
            let verdict = upload.judge(EndedExchange(asked, end, head))
            state.adopt(upload)
            offset = upload.acknowledged.prefix
            return (asked, verdict)
        }
    }

    @Test func tusTellsTheLengthAtTheEnd() throws {
        var upload = Conversation(.tus, .tus(TusUpload.Kept()))
        let created = try upload.answered(201, ["Location": Self.address])
        #expect(created.asked.headers.single("Upload-Defer-Length") == "1")
        #expect(!created.asked.headers.contains("Upload-Length") && created.verdict == .goOn)
        // The file is empty so far.
        #expect(try upload.next() == nil)
        upload.grow(to: 10)
        let first = try upload.answered(204, ["Upload-Offset": "10"])
        #expect(first.asked.range == 0..<10 && !first.asked.completes && first.verdict == .goOn)
        #expect(first.asked.body.content?.pinned == nil)
        #expect(try upload.next() == nil)
        upload.grow(to: 15)
        #expect(try #require(try upload.next()).range == 10..<15)
        upload.state.isGrowing = false
        let last = try upload.answered(204, ["Upload-Offset": "15"])
        #expect(last.asked.range == 10..<15 && last.asked.completes && last.verdict == .done)
        #expect(last.asked.headers.single("Upload-Length") == "15")
        #expect(last.asked.body.content?.pinned == Self.source(15))
    }

    /// All bytes have come before it was known that they are all.
    @Test(arguments: [UploadProtocol.tus, .ietf]) func anEmptyRequestEndsIt(
        _ way: UploadProtocol
    ) throws {
        var upload = Conversation(
            way, way == .tus ? .tus(TusUpload.Kept()) : .draft(DraftUpload.Kept(.ietf9)))
        upload.grow(to: 10)
        let created = try upload.answered(201, ["Location": Self.address])
        #expect(created.asked.range.isEmpty && !created.asked.headers.contains("Upload-Length"))
        let first = try upload.answered(204, ["Upload-Offset": "10", "Upload-Complete": "?0"])
        #expect(first.verdict == .goOn)
        if way == .ietf {
            #expect(created.asked.headers.single("Upload-Complete") == "?0")
            #expect(first.asked.headers.single("Upload-Complete") == "?0")
        }
        // A server that is asked after a break says the same of a file that is not complete.
        var kept = upload
        kept.state = try asking(upload)
        let asked = try kept.answered(
            200, ["Upload-Offset": "10", "Upload-Defer-Length": "1", "Upload-Complete": "?0"])
        #expect(asked.asked.purpose == .ask && asked.verdict == .goOn)
        #expect(try kept.next() == nil)
        upload.state.isGrowing = false
        let last = try upload.answered(204, ["Upload-Offset": "10", "Upload-Complete": "?1"])
        #expect(last.asked.range == 10..<10 && last.verdict == .done)
        let field = way == .tus ? "Upload-Length" : "Upload-Complete"
        #expect(last.asked.headers.single(field) == (way == .tus ? "10" : "?1"))
    }

    private func asking(_ upload: Conversation) throws -> UploadState {
        var conversation = try upload.state.conversation(upload.request, offset: upload.offset)
        conversation.reopens()
        var state = upload.state
        state.adopt(conversation)
        return state
    }

    /// The answer to the last bytes was lost: the server knows the length.
    @Test func theLengthIsToldOnce() throws {
        var upload = Conversation(.tus, .tus(TusUpload.Kept(at: Self.address, sentBound: 10)))
        guard case .tus(var kept) = upload.state.progress else { throw CancellationError() }
        (kept.isDeferred, kept.mustAsk) = (true, true)
        upload.state.progress = .tus(kept)
        upload.grow(to: 10)
        upload.state.isGrowing = false
        var untold = upload
        let open = try untold.answered(200, ["Upload-Offset": "10", "Upload-Defer-Length": "1"])
        #expect(open.verdict == .goOn)
        #expect(try #require(try untold.next()).headers.single("Upload-Length") == "10")
        let told = try upload.answered(200, ["Upload-Offset": "10", "Upload-Length": "10"])
        #expect(told.verdict == .done)
    }

    @Test func ofS3WholePartsAreSent() throws {
        let part: Int64 = 16 << 20
        var upload = Conversation(.s3, .s3(S3Upload.Kept()))
        upload.grow(to: part - 1)
        #expect(try upload.next() == nil)
        upload.grow(to: part + 5)
        let id = "<r><UploadId>u</UploadId></r>"
        #expect(try upload.answered(200, body: id).asked.purpose == .create)
        let first = try upload.answered(200, ["ETag": "\"1\""])
        #expect(first.asked.range == 0..<part && first.asked.part == 1 && first.verdict == .goOn)
        #expect(try upload.next() == nil)
        upload.state.isGrowing = false
        let second = try upload.answered(200, ["ETag": "\"2\""])
        #expect(second.asked.range == part..<part + 5 && second.asked.part == 2)
        let last = try upload.answered(200, body: "<r/>")
        #expect(last.asked.purpose == .complete && last.verdict == .done)
    }

    /// A recording that ends before the first part is an object as any other.
    @Test(arguments: [0, 7, 16 << 20] as [Int64]) func aShortOneOfS3(_ size: Int64) throws {
        var upload = Conversation(.s3, .s3(S3Upload.Kept()))
        upload.grow(to: size)
        upload.state.isGrowing = false
        let purpose = try #require(try upload.next()).purpose
        #expect(purpose == (size > 8 << 20 ? .create : .whole))
    }

    @Test(
        arguments: [
            ([:], false), (["Tus-Version": "1.0.0", "Tus-Extension": "creation"], false),
            (["Tus-Version": "1.0.0", "Tus-Extension": "creation,creation-defer-length"], true),
            (["Upload-Draft-Interop-Version": "9", "Upload-Limit": "min-size=100"], true),
        ] as [([String: String], Bool)])
    func theServerIsAsked(_ fields: [String: String], _ canFollow: Bool) throws {
        var upload = Conversation(.auto)
        var verdict = UploadVerdict.goOn
        for _ in 0..<3 {
            guard case .discovery = upload.state.progress, verdict == .goOn else { break }
            verdict = try upload.answered(fields.isEmpty ? 405 : 204, fields).verdict
        }
        if canFollow { return #expect(verdict == .goOn) }
        guard case .failed(let failure) = verdict else { throw CancellationError() }
        #expect(failure.kind == .permanent && failure.error.message.contains("still written"))
    }

    /// No earlier answer of the origin makes a guess: a plain server would take a part for all.
    @Test(arguments: [SpokenUploads.plain, .ietf9, .tus]) func nothingIsGuessed(
        _ known: SpokenUploads
    ) throws {
        var upload = Conversation(.auto)
        let conversation = try upload.state.conversation(upload.request)
        upload.state.start(conversation.standing.job, known: known)
        #expect(try #require(try upload.next()).purpose == .discover)
    }

    @Test func whatCannotBeFollowedIsRefused() {
        var options = UploadOptions()
        #expect(options.followDefect(isRemoteFile: false, hasDigest: false) == nil)
        options.settle = 5
        #expect(options.followDefect(isRemoteFile: false, hasDigest: false) != nil)
        options.ifChanged = .follow
        #expect(options.followDefect(isRemoteFile: false, hasDigest: false) == nil)
        #expect(options.followDefect(isRemoteFile: true, hasDigest: false) != nil)
        #expect(options.followDefect(isRemoteFile: false, hasDigest: true) != nil)
        for way in UploadProtocol.allCases {
            options.uploadProtocol = way
            let isRefused = options.followDefect(isRemoteFile: false, hasDigest: false) != nil
            #expect(isRefused == [.put, .post].contains(way))
        }
        options.uploadProtocol = .auto
        options.formField = "f"
        #expect(options.followDefect(isRemoteFile: false, hasDigest: false) != nil)
    }

    // MARK: - The machine

    private struct Run {
        let machine: FetchMachine
        var now = Moment(wall: Timestamp(milliseconds: 0), monotonic: Instant(nanoseconds: 0))

        init(settle: Double = 3) {
            var request = FollowedUploadTests.request(.tus)
            request.options.upload?.settle = settle
            var state = FetchState(id: FetchID(rawValue: 1))
            state.upload = UploadState(
                .tus(TusUpload.Kept(at: FollowedUploadTests.address)),
                source: FollowedUploadTests.source(10))
            state.upload?.isGrowing = true
            machine = FetchMachine(
                transfer: TransferID(rawValue: 1), request: request, destination: "/f",
                deadline: nil, state: state, firstSerial: 1)
            _ = machine.begin()
        }

        mutating func handle(_ event: FetchEvent, after seconds: Double = 0) -> FetchStep {
            now.wall = now.wall + seconds
            now.monotonic = now.monotonic + seconds
            let origin = OriginMemory(origin: "http://h:80")
            return machine.handle(
                event,
                in: FetchContext(now: now, origin: origin, connectionsAllowed: 1, seed: 1))
        }

        /// Answers the request that the step sends.
        mutating func answer(
            _ step: FetchStep, _ status: Int, offset: Int64
        ) throws -> FetchStep {
            let sent = step.effects.compactMap { if case .send(let ask) = $0 { ask } else { nil } }
            let ask = try #require(sent.first)
            var head = FollowedUploadTests.head(status, ["Upload-Offset": "\(offset)"])
            head.isAfterBody = true
            _ = handle(.head(ask.key, head))
            var end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
            end.bytesSent = ask.exchange.body.content?.length ?? 0
            return handle(.ended(ask.key, end))
        }
    }

    private func isLooking(_ step: FetchStep) -> Bool {
        step.effects.contains { if case .lookAtSource = $0 { true } else { false } }
    }

    /// Asked after a restart, the server has all that there is.
    private func waiting(_ run: inout Run) throws {
        let asked = run.handle(.opened(Self.source(10)))
        let waits = try run.answer(asked, 200, offset: 0)
        let sent = try run.answer(waits, 204, offset: 10)
        #expect(sent.status.nextTick == run.now.monotonic + 1 && sent.status.requests == 0)
        #expect(run.machine.state.bytesTotal == nil)
    }

    @Test func itEndsWhenNobodyWritesAnyMore() throws {
        var run = Run()
        try waiting(&run)
        for (size, hasWriter) in [(10, true), (10, false), (12, false)] as [(Int64, Bool)] {
            #expect(isLooking(run.handle(.tick, after: 1)))
            let step = run.handle(.looked(Self.source(size), hasWriter: hasWriter))
            if size > 10 { _ = try run.answer(step, 204, offset: size) }
        }
        // Quiet from the next look on.
        for _ in 0..<3 {
            #expect(isLooking(run.handle(.tick, after: 1)))
            let step = run.handle(.looked(Self.source(12), hasWriter: false))
            #expect(step.effects.isEmpty && run.machine.state.bytesTotal == nil)
        }
        #expect(isLooking(run.handle(.tick, after: 1)))
        let step = run.handle(.looked(Self.source(12), hasWriter: false))
        #expect(run.machine.state.bytesTotal == 12)
        if case .tus(let kept)? = run.machine.state.upload?.progress, kept.isDeferred == true {
            let last = try run.answer(step, 204, offset: 12)
            #expect(last.status.isWhole)
        } else {
            #expect(step.status.isWhole)
        }
    }

    @Test func whatIsReplacedOrShrinksFails() throws {
        var other = Self.source(20)
        other.inode = 3
        for version in [nil, other, Self.source(9)] as [SourceVersion?] {
            var run = Run()
            try waiting(&run)
            _ = run.handle(.tick, after: 1)
            let step = run.handle(.looked(version, hasWriter: true))
            let errors = step.writes.compactMap { write in
                if case .failed(_, let error, _) = write { error } else { nil }
            }
            #expect(errors.map(\.code) == [.sourceChanged])
            #expect(errors.first?.bytesKept == 10)
        }
    }

    /// What was written while no engine ran is sent; another file is not.
    @Test func itIsOpenedAgain() throws {
        var run = Run()
        let step = run.handle(.opened(Self.source(30)))
        #expect(step.effects.contains { if case .send = $0 { true } else { false } })
        run = Run()
        let shrunk = run.handle(.opened(Self.source(5)))
        #expect(shrunk.writes.contains { if case .failed = $0 { true } else { false } })
    }

    /// An order to leave is followed while nothing is out.
    @Test func itLeavesWhileItWaits() throws {
        for looks in [false, true] {
            var run = Run()
            try waiting(&run)
            if looks { _ = run.handle(.tick, after: 1) }
            let step = run.handle(.leave(.requeue))
            #expect(step.status.stage == .left)
            #expect(run.handle(.looked(Self.source(10), hasWriter: false)).effects.isEmpty)
        }
    }
}
