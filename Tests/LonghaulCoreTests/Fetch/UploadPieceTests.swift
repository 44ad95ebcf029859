import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// The lengths of the requests in which a file goes by tus or the draft, and their digests.
@Suite struct UploadPieceTests {
    private static let mebibyte: Int64 = 1 << 20
    private static let source = SourceVersion(
        device: 1, inode: 2, size: 200 * mebibyte, modified: 3, changed: 4)

    private static func request(
        _ way: UploadProtocol = .tus, part: Int64? = nil
    ) -> TransferRequest {
        var options = UploadOptions()
        options.uploadProtocol = way
        options.partSize = part
        return TransferRequest(uploadTo: "http://h/f", source, options)
    }

    private static func head(_ status: Int, _ fields: [String: String] = [:]) -> ResponseHead {
        var headers = HeaderFields()
        for (name, value) in fields { headers[name] = value }
        return ResponseHead(
            scheme: .http, status: status, headers: headers, effectiveURL: "http://h/r/1",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
    }

    private static let end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)

    private func answered(
        _ upload: inout any UploadConversation, _ status: Int, _ fields: [String: String] = [:]
    ) throws -> (asked: UploadExchange, verdict: UploadVerdict) {
        let exchange = try #require(upload.next())
        var end = Self.end
        end.bytesSent = exchange.body.content?.length ?? 0
        let ended = EndedExchange(exchange, end, Self.head(status, fields))
        return (exchange, upload.judge(ended))
    }

    /// A proxy does not tell its limit: pieces are halved until they pass, and then stay so.
    @Test(arguments: [SpokenUploads.tus, .ietf9, .ietf6])
    func refusedLengthsAreHalved(_ spoken: SpokenUploads) throws {
        var state = UploadState(.at(spoken, "http://h/r/1"))
        let request = Self.request(spoken == .tus ? .tus : .ietf)
        var lengths: [Int64] = []
        for _ in 0..<9 {
            var upload = try state.conversation(request)
            let (asked, verdict) = try answered(&upload, 413)
            lengths.append(Int64(asked.range.count))
            #expect(asked.purpose == .append && verdict == .goOn)
            state = upload.state
        }
        #expect(lengths.prefix(3) == [200 << 20, 64 << 20, 32 << 20] && lengths[8] == 512 << 10)
        // The next one passes. What the server tells of a limit of its own does not undo that.
        var upload = try state.conversation(request)
        let taken: Int64 = 256 << 10
        let fields = ["Upload-Offset": "\(taken)", "Upload-Limit": "max-append-size=9999999"]
        #expect(try answered(&upload, 204, fields).verdict == .goOn)
        let next = try #require(upload.next())
        #expect(next.range == taken..<2 * taken)
        // After a crash, too.
        let stored = try #require(upload.state.progress.kept as? any KeptResource)
        #expect(stored.pieceLimit == taken)
    }

    @Test func thereIsALeastPiece() throws {
        var upload = try UploadState(
            .tus(TusUpload.Kept(at: "http://h/r/1", appendLimit: 64 << 10))
        ).conversation(Self.request())
        guard case .failed(let failure) = try answered(&upload, 413).verdict else {
            Issue.record("a piece of 64 KiB is halved")
            return
        }
        #expect(failure.kind == .permanent && failure.error.code == .tooLarge)
    }

    @Test(arguments: [SpokenUploads.tus, .ietf9]) func thePartSizeIsObeyed(
        _ spoken: SpokenUploads
    ) throws {
        let request = Self.request(spoken == .tus ? .tus : .ietf, part: 5 * Self.mebibyte)
        let upload = try UploadState(.at(spoken, "http://h/r/1")).conversation(request)
        #expect(try #require(upload.next()).range == 0..<5 * Self.mebibyte)
    }

    // MARK: - Digests

    @Test(
        arguments: [
            ("creation,checksum", "md5,sha1", Checksum.Algorithm.sha1),
            ("checksum", "crc32, sha256", .sha256), ("checksum", "", .sha1),
            ("checksum", "crc32", nil),
            ("creation", "sha1", nil), ("", "", nil),
        ] as [(String, String, Checksum.Algorithm?)])
    func theOfferIsRead(
        _ extensions: String, _ algorithms: String, _ expected: Checksum.Algorithm?
    ) throws {
        var fields = ["Tus-Version": "1.0.0", "Tus-Extension": extensions]
        if !algorithms.isEmpty { fields["Tus-Checksum-Algorithm"] = algorithms }
        for way in [UploadProtocol.auto, .tus] {
            var upload = try UploadState().conversation(Self.request(way))
            #expect(try answered(&upload, 204, fields).verdict == .goOn)
            guard case .tus(let kept) = upload.state.progress else {
                Issue.record("tus is spoken")
                continue
            }
            #expect(kept.checksum == expected)
            let learned = SpokenUploads??.some(expected == nil ? .tus : .tusWithChecksum)
            #expect(upload.standing.learned == learned)
        }
    }

    /// By name, tus is spoken whatever the answer to the question.
    @Test(arguments: [200, 204, 401, 403, 404, 405, 500, 501]) func tusByNameNeedsNoOffer(
        status: Int
    ) throws {
        var upload = try UploadState().conversation(Self.request())
        #expect(try answered(&upload, status).verdict == .goOn)
        #expect(
            upload.state.progress
                == .tus(TusUpload.Kept(TusOffer(HeaderFields()), appendLimit: nil)))
        #expect(upload.standing.learned == nil)
    }

    private static func summed(_ offset: Int64 = 0) throws -> any UploadConversation {
        var kept = TusUpload.Kept(at: "http://h/r/1", sentBound: offset)
        kept.checksum = .sha1
        return try UploadState(.tus(kept)).conversation(request(), offset: offset)
    }

    @Test func aPieceGoesWithItsDigest() throws {
        let exchange = try #require(Self.summed().next())
        #expect(exchange.digest == .sha1 && exchange.range == 0..<16 * Self.mebibyte)
        let hex = "a9993e364706816aba3e25717850c26c9cd0d89d"
        let told = exchange.told(Checksum(algorithm: .sha1, hex: hex))
        #expect(told.headers["Upload-Checksum"] == "sha1 qZk+NkcGgWq6PiVxeFDCbJzQ2J0=")
        #expect(told.digest == nil && told.range == exchange.range)
    }

    /// The piece was damaged on its way: it is sent again with the next attempt, from where the
    /// server is.
    @Test func aDamagedPieceIsSentAgain() throws {
        let offset = 16 * Self.mebibyte
        var upload = try Self.summed(offset)
        guard case .failed(let failure) = try answered(&upload, 460).verdict else {
            Issue.record("a damaged piece is no success")
            return
        }
        #expect(failure.kind == .transient && failure.error.httpStatus == 460)
        #expect(upload.standing.offset == offset)
        upload = try upload.state.conversation(Self.request(), offset: offset)
        let (asked, verdict) = try answered(&upload, 200, ["Upload-Offset": "\(offset)"])
        #expect(asked.purpose == .ask && verdict == .goOn)
        let again = try #require(upload.next())
        #expect(again.range.lowerBound == offset && again.digest == .sha1)
    }

    // MARK: - The machine

    private static let context = FetchContext(
        now: Moment(
            wall: Timestamp(milliseconds: 1000), monotonic: Instant(nanoseconds: 1_000_000_000)),
        origin: OriginMemory(origin: "http://h:80"), connectionsAllowed: 4, seed: 1)

    private func machine() throws -> (machine: FetchMachine, step: FetchStep) {
        var state = FetchState(id: FetchID(rawValue: 1))
        var kept = TusUpload.Kept(at: "http://h/r/1")
        kept.checksum = .sha1
        state.upload = UploadState(.tus(kept))
        state.askedURL = "http://h/f"
        let machine = FetchMachine(
            transfer: TransferID(rawValue: 1), request: Self.request(), destination: "/f",
            deadline: nil, state: state, firstSerial: 1)
        _ = machine.begin()
        var step = machine.handle(.opened(Self.source), in: Self.context)
        let asked = try #require(Self.sent(step))
        _ = machine.handle(
            .head(asked.key, Self.head(200, ["Upload-Offset": "0"])), in: Self.context)
        step = machine.handle(.ended(asked.key, Self.end), in: Self.context)
        return (machine, step)
    }

    private static func sent(_ step: FetchStep) -> UploadAsk? {
        step.effects.lazy.compactMap { if case .send(let ask) = $0 { ask } else { nil } }.first
    }

    @Test func itIsReadBeforeItIsSent() throws {
        let (machine, step) = try machine()
        let isRead = step.effects.contains {
            if case .digest(0..<16_777_216, .sha1) = $0 { true } else { false }
        }
        #expect(isRead && Self.sent(step) == nil)
        let digest = Checksum(algorithm: .sha1, hex: String(repeating: "0", count: 40))
        let ask = Self.sent(machine.handle(.digested(digest), in: Self.context))
        #expect(ask?.exchange.headers["Upload-Checksum"]?.hasPrefix("sha1 AAAA") == true)
        // Another answer of the disk is nothing by then.
        #expect(Self.sent(machine.handle(.digested(digest), in: Self.context)) == nil)
    }

    @Test func aReadThatFailsOrIsGivenUpSendsNothing() throws {
        var (machine, _) = try machine()
        let fault = LocalFault(code: .sourceChanged, message: "m")
        let failed = machine.handle(.verifyFailed(fault), in: Self.context)
        #expect(machine.stage == .left && Self.sent(failed) == nil)
        (machine, _) = try self.machine()
        _ = machine.handle(.leave(.cancel(keepingBytes: false)), in: Self.context)
        let digest = Checksum(algorithm: .sha1, hex: String(repeating: "0", count: 40))
        #expect(machine.stage == .left)
        #expect(Self.sent(machine.handle(.digested(digest), in: Self.context)) == nil)
    }
}
