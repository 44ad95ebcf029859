import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// The answer that ends an upload may cross with the word that it is to leave the wire.
@Suite struct UploadEndTests {
    private static let source = SourceVersion(
        device: 1, inode: 2, size: 1000, modified: 3, changed: 4)

    private var context: FetchContext {
        var origin = OriginMemory(origin: "http://h:80")
        origin.uploads = .ietf9
        return FetchContext(
            now: Moment(
                wall: Timestamp(milliseconds: 1000),
                monotonic: Instant(nanoseconds: 1_000_000_000)),
            origin: origin, connectionsAllowed: 1, seed: 1)
    }

    /// What is recorded of an upload that is to leave while it gets this answer.
    private func writes(
        _ way: UploadProtocol, _ departure: FetchDeparture, _ status: Int
    ) throws -> [StoreWrite] {
        let machine = machine(way)
        _ = machine.begin()
        let effects = machine.handle(.opened(Self.source), in: context).effects
        guard case .send(let ask)? = effects.last else {
            Issue.record("nothing is sent: \(effects)")
            return []
        }
        _ = machine.handle(.leave(departure), in: context)
        var headers = HeaderFields()
        headers["Upload-Complete"] = way == .ietf ? "?1" : nil
        let head = ResponseHead(
            scheme: .http, status: status, headers: headers, effectiveURL: "http://h/a",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
        _ = machine.handle(.head(ask.key, head), in: context)
        var end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
        end.bytesSent = Self.source.size
        return machine.handle(.ended(ask.key, end), in: context).writes
    }

    @Test(
        arguments: [UploadProtocol.put, .post, .ietf], [FetchDeparture.requeue, .expire])
    func whatTheServerHasIsCompleted(
        _ way: UploadProtocol, _ departure: FetchDeparture
    ) throws {
        let isCompleted = try writes(way, departure, 200).contains {
            if case .completed = $0 { true } else { false }
        }
        #expect(isCompleted)
    }

    /// Another URL may be wanted.
    @Test func anotherRequestIsMadeAllTheSame() throws {
        let isQueued = try writes(.put, .renew, 200).contains {
            if case .queued = $0 { true } else { false }
        }
        #expect(isQueued)
    }

    @Test func aCancelStands() throws {
        let isCancelled = try writes(.put, .cancel(keepingBytes: false), 200).contains {
            if case .cancelled = $0 { true } else { false }
        }
        #expect(isCancelled)
    }

    // MARK: - Beginning anew

    /// What is recorded when an upload that has begun is opened again, and after the server has
    /// forgotten it.
    private func steps(askedBefore url: String) throws -> [FetchStep] {
        var request = TransferRequest(url: "http://h/a", destination: .file("/f"))
        var options = UploadOptions()
        options.uploadProtocol = .ietf
        options.isRepeatable = true
        request.options.upload = options
        var state = FetchState(id: FetchID(rawValue: 1))
        state.askedURL = url
        state.durable = ByteRanges(0..<500)
        state.upload = UploadState(
            .at(.ietf9, "http://h/r/1", sentBound: 600), source: Self.source)
        let machine = FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/f", deadline: nil,
            state: state, firstSerial: 1)
        _ = machine.begin()
        let opened = machine.handle(.opened(Self.source), in: context)
        guard case .send(let ask)? = opened.effects.last else {
            Issue.record("nothing is sent: \(opened.effects)")
            return []
        }
        let head = ResponseHead(
            scheme: .http, status: 404, headers: HeaderFields(), effectiveURL: ask.exchange.url,
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
        _ = machine.handle(.head(ask.key, head), in: context)
        let end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
        return [opened, machine.handle(.ended(ask.key, end), in: context)]
    }

    /// Its event must not be lost with the power, however small the next request is.
    @Test func aRestartIsDurable() throws {
        let forgotten = try #require(try steps(askedBefore: "http://me:x@h/a").last)
        #expect(forgotten.writes.contains { if case .restarted = $0 { true } else { false } })
        #expect(forgotten.durable)
    }

    @Test func atAnotherURLItBeginsAnew() throws {
        let opened = try #require(try steps(askedBefore: "http://h/b").first)
        #expect(opened.durable)
        let left = opened.writes.compactMap { write in
            if case .abandonUpload(_, let state) = write { state } else { nil }
        }
        #expect(left.map(\.askedURL) == ["http://h/b"])
        #expect(left.first?.upload?.address == "http://h/r/1")
        // Saved with the record of what is left, or a crash would leave it twice.
        let saved = opened.writes.compactMap { write in
            if case .save(let state) = write { state } else { nil }
        }
        let first = try #require(saved.first)
        #expect(first.askedURL == "http://h/a" && first.upload == nil && first.durable.isEmpty)
        guard case .send(let ask)? = opened.effects.last else { return }
        #expect(ask.exchange.url == "http://h/a" && ask.exchange.purpose == .whole)
    }

    @Test func aRefusalIsNoEndOfOneThatLeaves() throws {
        let isQueued = try writes(.post, .requeue, 503).contains {
            if case .queued = $0 { true } else { false }
        }
        #expect(isQueued)
    }

    // MARK: - What is committed before a request

    private func machine(
        _ way: UploadProtocol, source: SourceVersion? = nil, ifChanged: SourceChangePolicy = .fail,
        from state: FetchState = FetchState(id: FetchID(rawValue: 1))
    ) -> FetchMachine {
        var request = TransferRequest(url: "http://h/a", destination: .file("/f"))
        var options = UploadOptions()
        options.uploadProtocol = way
        options.method = way == .post ? .post : nil
        options.source = source
        options.ifChanged = ifChanged
        request.options.upload = options
        return FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/f", deadline: nil,
            state: state, firstSerial: 1)
    }

    /// A PUT is sent again after a crash, whatever is known of it; the length of a large file is
    /// shown meanwhile.
    @Test(
        arguments: [
            (UploadProtocol.put, Int64(1000), false), (.put, 1 << 20, false),
            (.put, 2 << 20, true), (.post, 1000, true), (.ietf, 1000, true), (.s3, 1000, false),
        ])
    func aSmallPutGoesOutWithoutACommit(
        _ way: UploadProtocol, _ size: Int64, _ isCommitted: Bool
    ) {
        var source = Self.source
        source.size = size
        let machine = machine(way)
        _ = machine.begin()
        let step = machine.handle(.opened(source), in: context)
        #expect(step.effects.count == 1)
        #expect(!step.writes.isEmpty == isCommitted && step.durable == isCommitted)
    }

    /// One whose URL was changed meanwhile is not completed: the row has to show what it is.
    @Test func theRowOfACompletedOneIsAnUploads() throws {
        let machine = machine(.put)
        _ = machine.begin()
        guard case .send(let ask)? = machine.handle(.opened(Self.source), in: context).effects.last
        else { throw CancellationError() }
        let head = ResponseHead(
            status: 201, headers: HeaderFields(), effectiveURL: "http://h/a",
            receivedAt: Timestamp(milliseconds: 0))
        _ = machine.handle(.head(ask.key, head), in: context)
        var end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
        end.bytesSent = Self.source.size
        let step = machine.handle(.ended(ask.key, end), in: context)
        let saved = step.writes.compactMap { write in
            if case .save(let state) = write { state } else { nil }
        }
        #expect(step.status.isWhole && saved.last?.upload != nil)
        #expect(saved.last?.askedURL == "http://h/a")
    }

    /// It has not gone out: another POST is none too many.
    @Test func aPostThatWasWithdrawnIsSentLater() throws {
        let first = machine(.post)
        _ = first.begin()
        guard case .send(let ask)? = first.handle(.opened(Self.source), in: context).effects.last
        else { throw CancellationError() }
        let end = SegmentEnd(failure: .withdrawn, writtenThrough: 0, bytesReceived: 0)
        let left = first.handle(.ended(ask.key, end), in: context)
        guard case .save(let state)? = left.writes.first else { throw CancellationError() }
        let second = machine(.post, from: state)
        _ = second.begin()
        let sent = second.handle(.opened(Self.source), in: context).effects.contains {
            if case .send = $0 { true } else { false }
        }
        #expect(sent)
    }

    /// The user has looked at the server, and says by the option that it may be sent again.
    @Test(arguments: [false, true])
    func aPostWhoseAnswerWasLostIsSentAgainByOption(_ isRepeatable: Bool) throws {
        var state = FetchState(id: FetchID(rawValue: 1))
        state.upload = UploadState(
            .plain(PlainUpload.Kept()), source: Self.source, mayHaveArrived: true)
        var request = TransferRequest(url: "http://h/a", destination: .file("/f"))
        var options = UploadOptions()
        options.uploadProtocol = .post
        options.method = .post
        options.isRepeatable = isRepeatable
        request.options.upload = options
        let machine = FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/f", deadline: nil,
            state: state, firstSerial: 1)
        _ = machine.begin()
        let step = machine.handle(.opened(Self.source), in: context)
        let isSent = step.effects.contains { if case .send = $0 { true } else { false } }
        #expect(isSent == isRepeatable)
        let errors = step.writes.compactMap { write in
            if case .failed(_, let error, _) = write { error.message } else { nil }
        }
        // The way that works: `retry` alone does not.
        #expect(errors.allSatisfy { $0.contains("same upload with --repeatable") })
        #expect(errors.isEmpty == isRepeatable)
    }

    /// A mount may give it other numbers. Names that were made of the old ones stay.
    @Test(arguments: [(1, 0), (0, 1), (1, 1)] as [(UInt64, UInt64)])
    func otherNumbersAreNoChangeOfAFile(_ device: UInt64, _ inode: UInt64) throws {
        let machine = machine(.put, source: Self.source)
        _ = machine.begin()
        var opened = Self.source
        opened.device += device
        opened.inode += inode
        let sent = machine.handle(.opened(opened), in: context).effects.compactMap {
            if case .send(let ask) = $0 { ask.exchange.body.content?.pinned } else { nil }
        }
        #expect(sent == [Self.source])
    }

    @Test func anotherTimeOrSizeIsAChange() {
        for field in [\SourceVersion.size, \.modified, \.changed] {
            let machine = machine(.put, source: Self.source)
            _ = machine.begin()
            var opened = Self.source
            opened[keyPath: field] += 1
            let step = machine.handle(.opened(opened), in: context)
            #expect(!step.effects.contains { if case .send = $0 { true } else { false } })
        }
    }

    /// The server still has what was sent of the file as it was.
    @Test func whatBelongsToAnotherVersionIsAbandoned() throws {
        var state = FetchState(id: FetchID(rawValue: 1))
        state.upload = UploadState(.at(.tus, "http://h/r/1"), source: Self.source)
        let machine = machine(.tus, ifChanged: .restart, from: state)
        _ = machine.begin()
        var changed = Self.source
        changed.modified += 1
        let step = machine.handle(.opened(changed), in: context)
        let isAbandoned = step.writes.contains {
            guard case .abandonUpload(_, let state) = $0 else { return false }
            return state.upload?.address == "http://h/r/1"
        }
        // No power cut takes back the event of the restart.
        #expect(isAbandoned && step.durable)
    }
}
