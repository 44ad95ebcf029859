import LonghaulCore
import Testing

/// Scripts: what happens, and what the machine wants done about it.
@Suite struct FetchMachineTests {
    private static let mib: Int64 = 1 << 20
    private let strong = "ETag: \"v1\""

    /// A machine on the wire, and the words for what happens to it.
    struct Script {
        var machine: FetchMachine
        var asks: [SegmentAsk] = []
        var effects: [FetchEffect] = []
        var writes: [StoreWrite] = []
        var isDurable = false
        var origin = OriginMemory(origin: "http://h:80")
        var mirrors: [String: OriginMemory] = [:]
        var isHeldBack = false
        var now = Moment(wall: receivedAt, monotonic: Instant(nanoseconds: 0))
        private let created: Bool

        init(
            held: Int64 = 0, validator: Validator? = nil, total: Int64? = nil,
            askedURL: String? = nil, emptyAnswers: Int = 0, identity: UInt64 = 1,
            _ change: (inout TransferRequest) -> Void = { _ in }
        ) {
            var request = TransferRequest(url: "http://h/f", destination: .file("/d/f"))
            request.options.connections = .exactly(1)
            change(&request)
            var state = FetchState(id: FetchID(rawValue: 1))
            created = held == 0
            if held > 0 {
                state.partIdentity = FileIdentity(device: 1, inode: 1)
                state.durable = ByteRanges(0..<held)
                state.validator = validator
                state.bytesTotal = total
                state.askedURL = askedURL
                state.emptyAnswers = emptyAnswers
            }
            machine = FetchMachine(
                transfer: TransferID(rawValue: 1), request: request, destination: "/d/f",
                deadline: nil, state: state, firstSerial: 1)
            take(machine.begin())
            event(
                .prepared(
                    FileIdentity(device: 1, inode: identity), path: "/d/.f.1.longhaul-part",
                    created: created))
        }

        /// A later run of a fetch that holds bytes.
        init(state: FetchState, after error: LonghaulError? = nil) {
            created = false
            var request = TransferRequest(url: "http://h/f", destination: .file("/d/f"))
            request.options.connections = .exactly(1)
            machine = FetchMachine(
                transfer: TransferID(rawValue: 1), request: request, destination: "/d/f",
                deadline: nil, state: state, firstSerial: 1)
            machine.lastError = error
            take(machine.begin())
            event(
                .prepared(
                    FileIdentity(device: 1, inode: 1), path: "/d/.f.1.longhaul-part",
                    created: false))
        }

        /// The next run of a fetch, with its request.
        init(resuming state: FetchState, _ request: TransferRequest) {
            created = true
            machine = FetchMachine(
                transfer: TransferID(rawValue: 1), request: request, destination: "/d/f",
                deadline: nil, state: state, firstSerial: 1)
            take(machine.begin())
            for mirror in request.options.mirrors {
                mirrors[mirror] = OriginMemory(origin: mirror)
            }
            event(
                .prepared(
                    FileIdentity(device: 1, inode: 1), path: "/d/.f.1.longhaul-part",
                    created: true))
        }

        mutating func event(_ event: FetchEvent) {
            var context = FetchContext(
                now: now, origin: origin, connectionsAllowed: 6, seed: 1)
            context.mirrors = mirrors
            context.isHeldBack = isHeldBack
            take(machine.handle(event, in: context))
        }

        mutating func answer(_ head: ResponseHead, to index: Int? = nil) {
            event(.head(asks[index ?? asks.count - 1].key, head))
        }

        mutating func wrote(through: Int64, received: Int64, of index: Int? = nil) {
            machine.moved(
                asks[index ?? asks.count - 1].key, written: through, received: received,
                now: now.monotonic)
            event(.progress)
        }

        mutating func ended(
            _ failure: WireFailure? = nil, through: Int64, received: Int64, of index: Int? = nil,
            isProxied: Bool = false
        ) {
            var end = SegmentEnd(
                failure: failure, writtenThrough: through, bytesReceived: received)
            end.isProxied = isProxied
            event(.ended(asks[index ?? asks.count - 1].key, end))
        }

        private mutating func take(_ step: FetchStep) {
            writes = step.writes
            isDurable = step.durable
            effects = step.effects
            for case .ask(let ask) in step.effects { asks.append(ask) }
        }

        var shrinks: [Int64] {
            effects.compactMap { if case .shrink(_, let end) = $0 { end } else { nil } }
        }

        var ranges: [String?] { asks.map { $0.ask.headers["Range"] } }

        /// The transfer's end, or its way back to the queue.
        var outcome: StoreWrite? {
            writes.last { write in
                switch write {
                case .completed, .skipped, .failed, .needsInput, .cancelled, .queued: true
                case .save, .lastError, .restarted, .attempt, .abandonUpload, .dropFetch, .give,
                    .leave, .orphan, .forget, .discard, .learn, .originFailed, .originWorked,
                    .saveOrigin:
                    false
                }
            }
        }
    }

    /// It broke off before it was let in, and the next source is not to write to a file that is
    /// about to be emptied.
    @Test func nobodyIsAskedWhileThePartFileIsEmptied() {
        let mib = Self.mib
        var script = Script(
            held: 2 * mib, validator: Validator(etag: "\"v0\"", length: 4 * mib), total: 4 * mib,
            askedURL: "http://h/f"
        ) { $0.options.mirrors = ["http://m/f"] }
        script.answer(head(200, strong, "Content-Length: \(4 * mib)"))
        #expect(script.machine.held != nil)
        script.ended(.stalled, through: 0, received: 0)
        #expect(script.asks.count == 1)
        script.event(.truncated)
        #expect(script.asks.count == 2 && script.asks[1].url == "http://m/f")
    }

    @Test func aSmallFile() throws {
        var script = Script()
        #expect(script.ranges == [nil])
        script.answer(head(200, "Content-Length: 5", strong))
        #expect(script.effects.isEmpty, "a short body is accepted on the wire")
        script.ended(through: 5, received: 5)
        #expect(script.machine.stage == .securing)
        script.event(.secured)
        // Where it may stand is recorded with the bytes, in one row.
        #expect(script.writes == [.save(script.machine.state)] && script.isDurable)
        #expect(script.machine.state.publication == "/d/f" && script.machine.state.isDurable)
        script.event(.published(path: "/d/f"))
        guard case .completed(_, "/d/f", let totals)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(totals.bytesTotal == 5)
        #expect(script.machine.stage == .left)
    }

    /// The cell of a request still says where it was meant to begin while its body is held: those
    /// bytes are not there.
    @Test func nothingIsClaimedWhileABodyIsHeld() throws {
        let old = Validator(etag: "\"v1\"", length: 9 * Self.mib)
        var script = Script(held: 5 * Self.mib, validator: old, total: 9 * Self.mib)
        #expect(script.ranges == ["bytes=5242880-"])
        script.answer(head(200, "Content-Length: 8388608", "ETag: \"v2\""))
        #expect(script.machine.have.isEmpty)
        script.wrote(through: 5 * Self.mib, received: 0)
        #expect(script.machine.have.isEmpty, "claims bytes of the version that was given up")
        script.event(.truncated)
        script.wrote(through: Self.mib, received: Self.mib)
        #expect(script.machine.have == ByteRanges(0..<Self.mib))
    }

    /// Nor after the fetch was told to leave meanwhile: the bytes of the version that was given up
    /// would be published under the new one's validator.
    @Test(arguments: [
        FetchEvent.truncateFailed(LocalFault(code: .io, message: "EIO")), .leave(.requeue),
        .leave(.cancel(keepingBytes: true)), .leave(.expire),
    ])
    func nothingIsClaimedOfABodyThatWasNeverLetIn(meanwhile: FetchEvent) {
        let old = Validator(etag: "\"v1\"", length: 9 * Self.mib)
        var script = Script(held: 5 * Self.mib, validator: old, total: 9 * Self.mib)
        script.answer(head(200, "Content-Length: 2097152", "ETag: \"v2\""))
        script.event(meanwhile)
        script.wrote(through: 5 * Self.mib, received: 0)
        script.ended(.stopped, through: 5 * Self.mib, received: 0)
        #expect(script.machine.have.isEmpty && script.machine.state.durable.isEmpty)
        #expect(script.outcome != nil)
    }

    /// Nobody was asked for anything: no attempt, nothing to be held against the server, and the
    /// bytes of before are kept.
    @Test(arguments: [0, 5 * mib]) func whatIsTakenBackIsNoAttempt(held: Int64) {
        var script = Script(held: held, validator: Validator(etag: "\"v1\""), total: 9 * Self.mib)
        script.ended(.withdrawn, through: 0, received: 0)
        // Without a byte in it the part file goes.
        let empty = FileIdentity(device: 1, inode: 1)
        let path = script.machine.state.partPath
        let part = OrphanedPart(path: path, identity: empty)
        let deleted = held == 0 ? [StoreWrite.orphan(part)] : []
        #expect(
            script.writes == deleted + [
                .save(script.machine.state),
                .queued(script.machine.transfer, readyAt: nil, waitingFor: []),
            ])
        #expect(script.machine.state.attempts == 0)
        #expect(script.machine.state.durable.count == held && script.machine.have.count == held)
        #expect(script.machine.stage == .left)
    }

    /// Who was told to leave in the same moment leaves for that reason.
    @Test func whatIsTakenBackMayBeCancelled() {
        var script = Script()
        script.event(.leave(.cancel(keepingBytes: false)))
        script.ended(.withdrawn, through: 0, received: 0)
        guard case .cancelled? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
    }

    /// A first answer without a length, then a part: the part's end is not the file's.
    @Test func aPartIsNeverAll() {
        var script = Script(held: 100, validator: Validator(etag: "\"v1\""))
        script.answer(head(206, "Content-Range: bytes 100-199/1000", strong))
        script.ended(through: 200, received: 100)
        #expect(script.machine.state.bytesTotal == 1000)
        #expect(script.machine.stage == .moving)
        #expect(script.ranges == ["bytes=100-", "bytes=200-"])
    }

    @Test func aBodyOfUnknownLengthEndsWithItsFraming() {
        var script = Script()
        script.answer(head(200, "Transfer-Encoding: chunked"))
        script.ended(through: 77, received: 77)
        #expect(script.machine.state.bytesTotal == 77)
        #expect(script.machine.stage == .securing)
    }

    /// The body ended before it had brought what is held: it is not the file that it claims to be.
    @Test func aBodyThatEndsBeforeWhatIsHeldProvesNothing() {
        var script = Script(held: 100, validator: Validator(etag: "\"v1\""))
        script.answer(head(200, strong, "Transfer-Encoding: chunked"))
        script.ended(through: 100, received: 60)
        #expect(script.machine.state.bytesTotal == nil)
        guard case .queued? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
    }

    @Test func aShortBodyIsNotComplete() {
        var script = Script()
        script.answer(head(200, "Content-Length: 100", strong))
        script.ended(through: 99, received: 99)
        #expect(script.machine.stage == .settling, "the last checkpoint comes first")
        script.event(.synced(token: 1))
        guard case .queued(_, .some, let waiting)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(waiting.map(\.reason) == [.backoff])
        #expect(script.machine.state.durable == ByteRanges(0..<99))
    }

    /// Many servers refuse a second connection, with whatever status; the first goes on.
    @Test(arguments: [403, 404, 429, 503, 400])
    func aRefusedSecondConnectionHarmsNobody(status: Int) throws {
        var script = Script { $0.options.connections = .exactly(2) }
        script.answer(
            head(200, "Content-Length: 104857600", strong, "Accept-Ranges: bytes"))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        try #require(script.asks.count == 2)
        script.answer(head(status))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.stage == .moving)
        #expect(script.machine.leaving == nil)
        #expect(script.machine.segments.map(\.key) == [script.asks[0].key])
        script.wrote(through: 20 * Self.mib, received: 20 * Self.mib, of: 0)
        #expect(script.asks.count == 2, "not tried again in this round")
    }

    /// Of several servers behind one name two may call the same file by two tags: the others go
    /// on, with the part that was meant for the one that met another.
    @Test(arguments: ["200", "206"]) func aNewVersionSeenByOneIsDroppedAlone(status: String) throws
    {
        var script = Script { $0.options.connections = .exactly(2) }
        script.answer(
            head(200, "Content-Length: 104857600", strong, "Accept-Ranges: bytes"))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        try #require(script.asks.count == 2)
        #expect(script.shrinks.isEmpty, "who goes on with the rest is not known yet")
        if status == "200" {
            script.answer(head(200, "Content-Length: 104857600", "ETag: \"v2\""))
        } else {
            let start = script.asks[1].ask.start
            script.answer(
                head(
                    206, "Content-Range: bytes \(start)-104857599/104857600", "ETag: \"v2\""))
        }
        #expect(script.effects.isEmpty)
        script.ended(.refused, through: 0, received: 0, of: 1)
        script.wrote(through: 90 * Self.mib, received: 90 * Self.mib, of: 0)
        #expect(script.asks.count == 2, "one at a time from now on")
        script.ended(through: 100 * Self.mib, received: 100 * Self.mib, of: 0)
        #expect(script.machine.isWhole && script.machine.state.restarts == 0)
    }

    /// The first of two has brought a mebibyte, and the second has asked for what comes from
    /// `start`.
    private func twoConnections() throws -> (Script, start: Int64) {
        var script = Script { $0.options.connections = .exactly(2) }
        script.answer(
            head(200, "Content-Length: 104857600", strong, "Accept-Ranges: bytes"))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        let start = try #require(script.asks.last).ask.start
        return (script, start)
    }

    @Test func whoBringsTheRestTakesItOver() throws {
        var (script, start) = try twoConnections()
        script.answer(
            head(206, "Content-Range: bytes \(start)-104857599/104857600", strong))
        #expect(script.shrinks == [start])
        guard case .proceed(script.asks[1].key, _)? = script.effects.last else {
            Issue.record("\(script.effects)")
            return
        }
        #expect(script.machine.segments[0].end == start)
    }

    /// Its answer came late, and the first one is there already: it would fetch the same again. How
    /// fast that one is says the clock that nobody sets.
    @Test(arguments: [-3600.0, 10, 3600])
    func whoComesTooLateTakesNothingOver(wall: Double) throws {
        var (script, start) = try twoConnections()
        script.now.monotonic = script.now.monotonic + 10
        script.now.wall = script.now.wall + wall
        script.wrote(through: start - Self.mib, received: start - Self.mib, of: 0)
        script.answer(
            head(206, "Content-Range: bytes \(start)-104857599/104857600", strong))
        guard case .stop(let keys)? = script.effects.last else {
            Issue.record("\(script.effects)")
            return
        }
        #expect(keys == [script.asks[1].key] && script.shrinks.isEmpty)
    }

    /// Let in at once; what it is of is recorded when it takes long, and then a killed engine's
    /// successor can go on.
    @Test func aShortBodyThatTakesLongIsRecorded() throws {
        var script = Script()
        script.answer(head(200, "Content-Length: 1000000", strong))
        #expect(!script.writes.contains { if case .save = $0 { true } else { false } })
        let due = try #require(script.machine.nextTick)
        #expect(due == script.now.monotonic + Limits.pinSeconds)
        script.now.monotonic = due
        script.event(.tick)
        guard case .save(let state)? = script.writes.first else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(state.validator?.etag == "\"v1\"" && state.partIdentity != nil)
        #expect(script.machine.nextTick.map { $0 > due } ?? false, "once")
    }

    /// The start from zero came to nothing: the next attempt makes it again, and does not ask for
    /// the same useless range until the deadline.
    @Test func aStartFromZeroThatFailedIsMadeAgain() {
        let pinned = Validator(etag: "\"v1\"", length: 1000)
        var script = Script(held: 100, validator: pinned, total: 1000, emptyAnswers: 2)
        script.answer(head(304))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.state.emptyAnswers == 3)
        #expect(script.ranges.last == .some(nil))
        script.answer(head(503))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.stage == .left)
    }

    /// A length that the body has refuted makes nothing whole, least of all an empty file.
    @Test func aRefutedLengthIsForgotten() {
        var script = Script()
        script.answer(head(200, "Content-Length: 0"))
        script.ended(.bodyTooLong, through: 0, received: 100)
        #expect(script.machine.stage == .left)
        #expect(script.machine.state.bytesTotal == nil && !script.machine.isWhole)
    }

    @Test func twoEmptyAnswersAndThenFromZeroOnce() {
        let pinned = Validator(etag: "\"v1\"", length: 1000)
        var script = Script(held: 100, validator: pinned, total: 1000)
        script.answer(head(304))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.stage == .left, "back-off after the first")
        #expect(script.machine.state.emptyAnswers == 1)

        var state = script.machine.state
        state.emptyAnswers = 1
        script = Script(held: 100, validator: pinned, total: 1000)
        script.machine = resumed(state)
        _ = script.machine.begin()
        script.event(
            .prepared(FileIdentity(device: 1, inode: 1), path: "/d/p", created: false))
        script.answer(head(304))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.ranges.last == .some(nil), "the second time, from zero")
        script.answer(head(304))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.stage == .left, "and then back-off again")
    }

    /// Its failure would be told to it alone; the sync of the whole file would succeed over what it
    /// lost.
    @Test(arguments: [true, false]) func aCheckpointUnderWayComesToItsEndFirst(fails: Bool) {
        var script = Script()
        script.answer(head(200, "Content-Length: 10485760", strong))
        script.event(.reserved)
        script.wrote(through: 9 * Self.mib, received: 9 * Self.mib)
        guard case .sync(let token, _, _)? = script.effects.last else {
            Issue.record("\(script.effects)")
            return
        }
        script.ended(through: 10 * Self.mib, received: 10 * Self.mib)
        #expect(script.machine.stage == .moving)
        if fails {
            script.event(.syncFailed(token: token, LocalFault(code: .io, message: "EIO")))
            #expect(script.machine.state.durable.isEmpty)
            #expect(script.machine.state.generation == 2)
            guard case .failed? = script.outcome else {
                Issue.record("\(script.writes)")
                return
            }
        } else {
            script.event(.synced(token: token))
            #expect(script.machine.stage == .securing)
        }
    }

    /// A power cut takes every commit that was not made durable: what a checkpoint has secured must
    /// not be forgotten with them.
    @Test func aCheckpointIsDurableInTheStore() {
        var script = Script()
        script.answer(head(200, "Content-Length: 10485760", strong))
        script.event(.reserved)
        script.wrote(through: 9 * Self.mib, received: 9 * Self.mib)
        script.event(.synced(token: 1))
        #expect(script.isDurable)
        #expect(script.writes == [.save(script.machine.state)])
        #expect(script.machine.state.durable == ByteRanges(0..<9 * Self.mib))
    }

    /// The new file may have the number of the one that is gone: by the store's word it would hold
    /// its bytes.
    @Test(arguments: [false, true]) func aLostPartFileIsForgottenInTheStore(isReplaced: Bool) {
        var script = Script(held: 500, validator: Validator(etag: "\"v1\""), total: 1000)
        script.machine = resumed(script.machine.state)
        _ = script.machine.begin()
        script.event(
            .prepared(
                FileIdentity(device: 1, inode: 1), path: "/d/p", created: true,
                isReplacing: isReplaced))
        let reasons = script.writes.compactMap { write -> String? in
            if case .restarted(_, let reason, _) = write { return reason }
            return nil
        }
        let reason = isReplaced ? RestartReason.partFileReplaced : .partFileMissing
        #expect(reasons == [reason.description])
        let saved = script.writes.compactMap { write -> FetchState? in
            if case .save(let state) = write { return state }
            return nil
        }
        #expect(saved.map(\.durable) == [ByteRanges()] && script.isDurable)
        #expect(saved.map(\.generation) == [script.machine.state.generation])
        #expect(script.ranges.last == .some(nil))
    }

    /// Whoever comes after a crash looks where the file may stand: the name is committed first.
    @Test func anotherNameIsRecordedBeforeItIsTaken() {
        var script = Script { $0.options.ifExists = .rename }
        script.answer(head(200, "Content-Length: 5", strong))
        script.ended(through: 5, received: 5)
        script.event(.secured)
        let fault = LocalFault(code: .destinationExists, message: "taken")
        script.event(.occupied(next: "/d/f (1)", fault))
        #expect(script.writes == [.save(script.machine.state)] && script.isDurable)
        guard case .publish(let order)? = script.effects.last else {
            Issue.record("\(script.effects)")
            return
        }
        #expect(
            order
                == PublicationOrder(destination: "/d/f (1)", wanted: "/d/f", policy: .rename))
        #expect(script.machine.part(needs: nil).publication == "/d/f (1)")
        script.event(.occupied(next: nil, fault))
        guard case .failed(_, let error, _)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(error.code == .destinationExists)
        #expect(error.bytesKept == 5)
    }

    /// Decided at the end as it would have been at the beginning.
    @Test func whatIsThereByNowIsSkipped() {
        var script = Script { $0.options.ifExists = .skip }
        script.answer(head(200, "Content-Length: 5", strong))
        script.ended(through: 5, received: 5)
        script.event(.secured)
        script.event(
            .occupied(next: nil, LocalFault(code: .destinationExists, message: "taken")))
        guard case .skipped(_, let error, "/d/f", _)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(error.code == .destinationExists && error.bytesKept == 0)
        #expect(script.isDurable)
        guard case .close(deletingPart: true)? = script.effects.last else {
            Issue.record("\(script.effects)")
            return
        }
    }

    /// Each source gets its chance at once, whatever `--retries` says; then what may pass is waited
    /// out, and what will not pass fails.
    @Test(arguments: [(404, 404, false), (404, 503, true), (503, 404, true), (500, 500, true)])
    func everySourceIsTried(first: Int, second: Int, waits: Bool) {
        var script = Script { $0.options.mirrors = ["http://m/f"] }
        script.answer(head(first))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.asks.map(\.url) == ["http://h/f", "http://m/f"])
        #expect(script.asks.map(\.isForMirror) == [false, true])
        script.answer(head(second))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.stage == .left)
        // Both answers have left it empty: it is recorded for deletion, and another one is made.
        #expect(script.writes.contains { if case .orphan = $0 { true } else { false } })
        #expect(script.machine.state.partIdentity == nil)
        switch script.outcome {
        case .queued?: #expect(waits)
        case .needsInput?: #expect(!waits)
        default: Issue.record("\(script.writes)")
        }
        // The mirror's trouble is not the origin's.
        #expect(!script.writes.contains { if case .originFailed = $0 { true } else { false } })
        #expect(script.machine.state.source == (waits ? 0 : 1))
    }

    /// Killed before the checkpoint is committed, a successor in this boot has only the board to
    /// tell it what an ended request wrote.
    @Test func theBoardRemembersUntilTheCheckpointIsCommitted() {
        var script = Script()
        script.answer(head(200, "Content-Length: 10485760", strong))
        script.event(.reserved)
        script.ended(.stalled, through: 9 * Self.mib, received: 9 * Self.mib)
        let releases = { (effects: [FetchEffect]) in
            effects.contains { if case .release = $0 { true } else { false } }
        }
        #expect(!releases(script.effects))
        script.event(.synced(token: 1))
        #expect(releases(script.effects), "with the effects, which follow the commit")
        #expect(script.machine.state.durable == ByteRanges(0..<9 * Self.mib))
    }

    private func resumed(_ state: FetchState) -> FetchMachine {
        FetchMachine(
            transfer: TransferID(rawValue: 1),
            request: TransferRequest(url: "http://h/f", destination: .file("/d/f")),
            destination: "/d/f", deadline: nil, state: state, firstSerial: 100)
    }
}
