import LonghaulCore
import Testing

/// Answers that end, or begin, at an odd moment.
@Suite struct FetchMachineOddEndsTests {
    private typealias Script = FetchMachineTests.Script

    private static let mib: Int64 = 1 << 20
    private let strong = "ETag: \"v1\""

    /// The line broke between the last byte and the end of a body of no told length; the next
    /// answer repeats what is held, ends, and brings nothing new. That is the whole file, not an
    /// empty one.
    @Test(arguments: [1, 22_031, 65_536]) func aWholeThatWasHeldAlready(_ held: Int64) {
        let weak = "W/\"v1\""
        var script = Script(held: held, validator: Validator(etag: weak))
        #expect(script.ranges == ["bytes=0-"])
        script.answer(head(200, "Transfer-Encoding: chunked", "ETag: \(weak)"))
        // Nothing was written: what the wire says of it is where the body began.
        script.ended(through: 0, received: held)
        #expect(script.machine.state.bytesTotal == held)
        #expect(script.machine.stage == .securing)
        guard case .secure(held)? = script.effects.last else {
            Issue.record("\(script.effects)")
            return
        }
    }

    /// The same with bytes that were passed over under the very same version.
    @Test func aWholeThatIsPassedOver() {
        var script = Script(held: 500, validator: Validator(etag: "\"v1\""))
        script.answer(head(200, "Transfer-Encoding: chunked", strong))
        script.ended(through: 500, received: 500)
        #expect(script.machine.state.bytesTotal == 500)
        #expect(script.machine.stage == .securing)
    }

    /// After another mount only its name says that it is ours: what it holds is compared.
    @Test(arguments: [700_000, 900_000] as [Int64]) func aRenumberedPartFile(held: Int64) {
        let total: Int64 = 900_000
        var script = Script(
            held: held, validator: Validator(etag: "\"v1\""), total: total, identity: 2)
        let from = min(held, total - Limits.overlapBytes)
        #expect(script.machine.have == ByteRanges(0..<from))
        #expect(script.machine.state.durable == ByteRanges(0..<from))
        #expect(script.machine.state.partIdentity?.inode == 2 && script.isDurable)
        #expect(script.asks.last?.ask.proof == .overlap)
        #expect(
            script.asks.last?.ask.headers["Range"] == "bytes=\(from - Limits.overlapBytes)-")
        script.answer(
            head(
                206, "ETag: \"v1\"",
                "Content-Range: bytes \(from - Limits.overlapBytes)-\(total - 1)/\(total)"))
        script.ended(through: total, received: total - from + Limits.overlapBytes)
        #expect(script.machine.stage == .securing && script.machine.state.restarts == 0)
    }

    /// No more than is compared: it begins anew.
    @Test func aSmallRenumberedPartFile() {
        let script = Script(
            held: 500, validator: Validator(etag: "\"v1\""), total: 500, identity: 2)
        #expect(script.machine.have.isEmpty && script.machine.state.restarts == 1)
        #expect(script.asks.last?.ask.headers["Range"] == nil)
    }

    /// The first answer told no length, and the next, of a part, tells one: it may be that of
    /// another version, and counts only when what is held has been compared. Until then a line that
    /// breaks makes no whole file of it.
    @Test(arguments: [300, 500, 700]) func aLengthThatIsNotProven(_ total: Int64) {
        var script = Script(held: 500, validator: Validator(etag: "W/\"v1\""))
        script.answer(head(206, "Content-Range: bytes 0-\(total - 1)/\(total)"))
        #expect(script.machine.state.bytesTotal == nil)
        script.ended(.stalled, through: 0, received: 200)
        #expect(script.machine.state.bytesTotal == nil)
        #expect(script.machine.state.validator?.length == nil)
        #expect(script.machine.stage != .securing)
    }

    @Test func aLengthThatTheComparedBytesProve() {
        var script = Script(held: 500, validator: Validator(etag: "W/\"v1\""))
        script.answer(head(206, "Content-Range: bytes 0-899/900"))
        script.wrote(through: 600, received: 600)
        #expect(script.machine.state.bytesTotal == 900)
        #expect(script.machine.state.validator?.length == 900)
    }

    /// All of it was held, and the end of the body says so.
    @Test func aLengthThatTheEndProves() {
        var script = Script(held: 500, validator: Validator(etag: "W/\"v1\""))
        script.answer(head(206, "Content-Range: bytes 0-499/500"))
        script.ended(through: 500, received: 500)
        #expect(script.machine.state.bytesTotal == 500)
        #expect(script.machine.stage == .securing)
    }

    /// Another URL has proven by length and overlap that it has the same bytes. From then on its
    /// own name for them counts: asked again, it must not go on with those of another version.
    @Test func theNameAtAnotherURL() {
        let held = Validator(etag: "\"old\"", length: 900)
        var script = Script(held: 500, validator: held, total: 900, askedURL: "http://h/old")
        #expect(script.asks.last?.ask.isConditional == false)
        script.answer(head(206, "Content-Range: bytes 0-899/900", "ETag: \"new\""))
        #expect(script.machine.state.validator?.etag == nil, "nothing is compared yet")
        script.wrote(through: 600, received: 600)
        script.ended(.stalled, through: 600, received: 600)
        let state = script.machine.state
        #expect(state.validator == Validator(etag: "\"new\"", length: 900))
        #expect(state.askedURL == "http://h/f")
    }

    /// Of a whole file no byte is missing: its end is asked of the new URL, or all of a short one.
    /// A digest of the user's is proof enough.
    @Test func aWholeFileAtAnotherURL() {
        let total = 1000 * Limits.overlapBytes
        let start = total - 2 * Limits.overlapBytes
        let held = Validator(etag: "\"old\"", length: total)
        var script = Script(held: total, validator: held, total: total, askedURL: "http://h/old")
        #expect(script.ranges == ["bytes=\(start)-"])
        script.answer(head(206, "Content-Range: bytes \(start)-\(total - 1)/\(total)"))
        script.wrote(through: total, received: total - start)
        script.ended(through: total, received: total - start)
        #expect(script.machine.isWhole && script.machine.state.restarts == 0)

        let brief = Validator(etag: "\"old\"", length: 900)
        let short = Script(held: 900, validator: brief, total: 900, askedURL: "http://h/old")
        #expect(short.ranges == [nil] && short.machine.state.restarts == 1)
        let same = Script(held: 900, validator: brief, total: 900, askedURL: "http://H:80/f")
        #expect(same.asks.isEmpty && same.machine.isWhole)
        let digest = Checksum(algorithm: .md5, hex: String(repeating: "a", count: 32))
        let proven = Script(held: 900, validator: brief, total: 900, askedURL: "http://h/old") {
            $0.options.checksum = digest
        }
        #expect(proven.asks.isEmpty && proven.machine.isWhole)
    }

    /// A mirror that comes up again must still call the version what it called it before.
    @Test func theNameAtAMirror() {
        var held = Validator(etag: "\"a\"", length: 900)
        held = held.moved(from: "http://h/a", to: "http://h/b")
        #expect(!held.isNamed)
        #expect(held.length == 900)
        held.adopt(Validator(etag: "\"b\"", lastModified: "x", length: 7))
        #expect(held.etag == "\"b\"")
        #expect(held.length == 900)
        let back = held.moved(from: "http://h/b", to: "http://h/a")
        #expect(back.etag == "\"a\"")
        #expect(back.lastModified == nil)
        #expect(back.moved(from: "http://h/a", to: "http://h/b") == held)
        #expect(back.moved(from: "http://h/a", to: "http://h/c").elsewhere?.count == 2)
        #expect(back.withoutIdentity == Validator(length: 900))
    }

    /// The list of mirrors was changed while one of them was in use: what that one calls the
    /// version is not asked of another source.
    @Test(arguments: [
        ([], "http://h/f", "\"own\""), (["http://n/f"], "http://h/f", "\"own\""),
        (["http://n/f", "http://m/f"], "http://m/f", "\"mirror\""),
    ])
    func otherMirrors(_ mirrors: [String], _ url: String, _ tag: String) {
        var script = Script { $0.options.mirrors = ["http://m/f"] }
        script.answer(head(200, "Content-Length: 10485760", "ETag: \"own\""))
        script.event(.reserved)
        script.ended(.stalled, through: Self.mib, received: Self.mib)
        #expect(script.asks.last?.url == "http://m/f")
        let rest = "Content-Range: bytes 983040-10485759/10485760"
        script.answer(head(206, rest, "ETag: \"mirror\""))
        script.wrote(through: 2 * Self.mib, received: Self.mib + 65_536)
        var request = script.machine.request
        request.options.mirrors = mirrors
        let next = FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/d/f",
            deadline: nil, state: script.machine.state, firstSerial: 9)
        #expect(next.url == url)
        #expect(next.state.validator?.etag == tag)
        #expect(next.state.validator?.length == 10 * Self.mib)
    }

    /// Somebody cut the part file off while nobody had it open: what is behind is asked for again,
    /// and nothing is filled up with zeros.
    @Test(arguments: [0, 300, 500, 900]) func aPartFileThatWasCutOff(_ size: Int64) {
        var state = FetchState(id: FetchID(rawValue: 1))
        let identity = FileIdentity(device: 1, inode: 1)
        state.partIdentity = identity
        state.partPath = "/d/p"
        state.durable = ByteRanges(0..<500)
        state.bytesTotal = 500
        state.validator = Validator(etag: "\"v1\"", length: 500)
        let machine = FetchMachine(
            transfer: TransferID(rawValue: 1),
            request: TransferRequest(url: "http://h/f", destination: .file("/d/f")),
            destination: "/d/f", deadline: nil, state: state, firstSerial: 1)
        let step = machine.handle(
            .prepared(identity, path: "/d/p", created: false, size: size),
            in: FetchContext(
                now: Moment(wall: receivedAt, monotonic: Instant(nanoseconds: 0)),
                origin: OriginMemory(origin: "http://h:80"), connectionsAllowed: 6, seed: 1))
        #expect(machine.have == ByteRanges(0..<500).upTo(size))
        #expect(machine.state.durable == machine.have)
        #expect(step.durable == (size < 500))
        #expect(machine.segments.isEmpty == (size >= 500))
        #expect(machine.state.restarts == (size == 0 ? 1 : 0))
    }

    private func twoConnections() -> Script {
        var script = Script { $0.options.connections = .exactly(2) }
        script.answer(
            head(200, "Content-Length: \(64 * Self.mib)", "Accept-Ranges: bytes", strong))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        #expect(script.asks.count == 2)
        return script
    }

    /// Three, of which the second has taken over the middle, and the third has not answered.
    private func threeConnections() throws -> Script {
        var script = Script { $0.options.connections = .exactly(3) }
        let total = 64 * Self.mib
        script.answer(head(200, "Content-Length: \(total)", "Accept-Ranges: bytes", strong))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        try #require(script.asks.count == 3)
        let middle = script.asks[1].ask
        let end = try #require(middle.end)
        script.answer(
            head(206, "Content-Range: bytes \(middle.start)-\(end - 1)/\(total)", strong), to: 1)
        return script
    }

    private func endBoth(_ script: inout Script) throws {
        let start = script.asks[1].ask.start
        script.ended(through: start, received: start, of: 0)
        let end = try #require(script.asks[1].ask.end)
        script.ended(through: end, received: end - start, of: 1)
    }

    /// A further connection is refused with a time to wait: the others go on, and what is missing
    /// when they have ended is asked for when that time is over.
    @Test func aFurtherConnectionIsToldToWait() throws {
        var script = try threeConnections()
        script.answer(head(429, "Retry-After: 100"))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.stage == .moving)
        script.now.wall = script.now.wall + 40
        script.now.monotonic = script.now.monotonic + 40
        try endBoth(&script)
        #expect(script.asks.count == 3, "asks before Retry-After is over")
        script.event(.synced(token: script.machine.syncing?.token ?? 0))
        guard case .queued(_, let readyAt, let reasons)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(readyAt == receivedAt + 100)
        #expect(reasons.map(\.reason) == [.backoff])
        #expect(script.machine.state.fruitlessAttempts == 0)
    }

    /// Its file may have its name already, where only it would look for it.
    @Test func nobodyComesAlongUntilTheFileIsFound() {
        var state = FetchState(id: FetchID(rawValue: 1))
        state.partIdentity = FileIdentity(device: 1, inode: 1)
        state.partPath = "/d/.f.1.longhaul-part"
        state.durable = ByteRanges(0..<500)
        state.bytesTotal = 500
        state.publication = "/d/f (1)"
        let machine = FetchMachine(
            transfer: TransferID(rawValue: 1),
            request: TransferRequest(url: "http://h/f", destination: .file("/d/f")),
            destination: "/d/f", deadline: nil, state: state, firstSerial: 1)
        _ = machine.begin()
        #expect(!machine.isJoinable)
        let context = FetchContext(
            now: Moment(wall: receivedAt, monotonic: Instant(nanoseconds: 0)),
            origin: OriginMemory(origin: "http://h:80"), connectionsAllowed: 6, seed: 1)
        _ = machine.handle(
            .prepared(
                FileIdentity(device: 1, inode: 1), path: state.partPath, created: false),
            in: context)
        #expect(machine.isJoinable)
        #expect(machine.part(needs: nil).publication == "/d/f")
    }

    @Test func aFurtherConnectionThatIsMerelyRefused() throws {
        var script = try threeConnections()
        script.answer(head(429))
        script.ended(.refused, through: 0, received: 0)
        try endBoth(&script)
        #expect(script.asks.count == 4)
    }

    /// The bytes were on their way when the fetch was told to leave, and are of the version that is
    /// held: they are kept. An answer of another version changes nothing any more.
    @Test(arguments: ["v1", "v2"]) func aHeadThatComesTooLate(_ tag: String) {
        let pinned = Validator(etag: "\"v1\"", length: 9 * Self.mib)
        var script = Script(held: 4 * Self.mib, validator: pinned, total: 9 * Self.mib)
        script.event(.leave(.requeue))
        #expect(script.machine.stage == .settling)
        let isOurs = tag == "v1"
        let total = 9 * Self.mib
        script.answer(
            isOurs
                ? head(206, "Content-Range: bytes \(4 * Self.mib)-\(total - 1)/\(total)", strong)
                : head(200, "Content-Length: 7", "ETag: \"v2\""))
        script.ended(
            .stopped, through: (isOurs ? 5 : 4) * Self.mib, received: isOurs ? Self.mib : 0)
        #expect(script.machine.have == ByteRanges(0..<(isOurs ? 5 : 4) * Self.mib))
        #expect(script.machine.state.validator == pinned)
    }

    /// The server asks for a pause of a fetch that is leaving: it may be back in a moment.
    @Test func aPauseThatIsAskedForTooLate() {
        let total = 9 * Self.mib
        var script = Script(
            held: 1, validator: Validator(etag: "\"v1\"", length: total), total: total)
        script.event(.leave(.requeue))
        script.answer(head(429, "Retry-After: 100"))
        #expect(cooled(by: script.writes).map { $0 >= receivedAt + 100 } == true)
    }

    /// A line that broke after it had brought bytes holds nobody up.
    @Test func aLineThatBreaks() {
        let total = 9 * Self.mib
        var script = Script(
            held: 1, validator: Validator(etag: "\"v1\"", length: total), total: total)
        script.answer(head(206, "Content-Range: bytes 1-\(total - 1)/\(total)", strong))
        script.ended(.stalled, through: 5 * Self.mib, received: 5 * Self.mib - 1)
        #expect(cooled(by: script.writes) == nil)
    }

    /// Until when an origin that was well is left alone after these.
    private func cooled(by writes: [StoreWrite]) -> Timestamp? {
        var memory = OriginMemory(origin: "http://h:80")
        var random = SeededGenerator(seed: 1)
        for case .originFailed(_, let failure, let gained) in writes {
            memory.afterFailure(failure, gained: gained, now: receivedAt, using: &random)
        }
        return memory.coolDownUntil
    }

    /// What was written before a sync failed does not count again through a head that comes later.
    @Test func aHeadAfterASyncThatFailed() throws {
        var script = twoConnections()
        script.now.monotonic = script.now.monotonic + 60
        script.wrote(through: 2 * Self.mib, received: 2 * Self.mib, of: 0)
        let token = try #require(script.machine.syncing?.token)
        script.event(.syncFailed(token: token, LocalFault(code: .io, message: "EIO")))
        let ask = try #require(script.asks.last?.ask)
        let total = 64 * Self.mib
        script.answer(
            head(206, "Content-Range: bytes \(ask.start)-\(total - 1)/\(total)", strong))
        script.ended(.stopped, through: ask.start + Self.mib, received: Self.mib)
        script.ended(.stopped, through: 2 * Self.mib, received: 2 * Self.mib, of: 0)
        #expect(script.machine.have.isEmpty)
    }

    /// Known since a part came: what came first had no length. A part of a longer file is then of
    /// another version, however alike the overlap.
    @Test func aLengthThatIsLearnedLater() {
        let weak = "ETag: W/\"v1\""
        var script = Script(held: 500, validator: Validator(etag: "W/\"v1\""))
        script.answer(head(206, "Content-Range: bytes 0-999/1000", weak))
        script.ended(.curl(code: 18, text: "cut", osError: 104), through: 700, received: 700)
        script.event(.synced(token: script.machine.syncing?.token ?? 0))
        #expect(script.machine.state.bytesTotal == 1000)
        #expect(script.machine.state.validator?.length == 1000)
        let longer = head(206, "Content-Range: bytes 0-1999/2000", weak)
        let ask = RangeRequest.plan(
            from: 700, to: nil, held: ByteRanges(0..<700),
            validator: script.machine.state.validator,
            origin: OriginMemory(origin: "http://h:80"), scheme: .http)
        let decision = judge(
            ask, longer, pinned: script.machine.state.validator, maxSize: nil
        ).decision
        if case .append = decision { Issue.record("\(decision)") }
    }

    /// Nothing on the board may be taken for a version of which there is no byte.
    @Test func aVersionOfNoByteIsForgotten() {
        var state = FetchState(id: FetchID(rawValue: 1))
        let identity = FileIdentity(device: 1, inode: 1)
        state.partIdentity = identity
        state.validator = Validator(etag: "\"v1\"", length: 900)
        state.bytesTotal = 900
        let machine = FetchMachine(
            transfer: TransferID(rawValue: 1),
            request: TransferRequest(url: "http://h/f", destination: .file("/d/f")),
            destination: "/d/f", deadline: nil, state: state, firstSerial: 1)
        _ = machine.begin()
        let now = Moment(wall: receivedAt, monotonic: Instant(nanoseconds: 0))
        let step = machine.handle(
            .prepared(identity, path: "/d/p", created: false),
            in: FetchContext(
                now: now, origin: OriginMemory(origin: "http://h:80"), connectionsAllowed: 6,
                seed: 1))
        guard case .save(let saved)? = step.writes.first else {
            Issue.record("\(step.writes)")
            return
        }
        #expect(saved.validator == nil && saved.bytesTotal == nil)
    }

    /// The disk was taken from under the part file, and its directory is that of another now.
    /// Nothing is given up; whether that is waited for is said as with a full disk.
    @Test(arguments: [false, true]) func aDiskThatIsNotMounted(fails: Bool) {
        var script = Script(held: 500, validator: Validator(etag: "\"v1\"")) {
            $0.options.failOnFullDisk = fails
        }
        script.event(.displaced(LocalFault(unmounted: "/mnt/usb"), isGone: false))
        script.ended(.stopped, through: 500, received: 0)
        #expect(script.machine.state.durable == ByteRanges(0..<500))
        #expect(script.machine.state.restarts == 0)
        switch script.outcome {
        case .queued(_, let readyAt, let reasons)? where !fails:
            #expect(readyAt == receivedAt + Limits.storageCheckSeconds)
            #expect(reasons.map(\.reason) == [.storage] && reasons[0].required == "its disk")
            #expect(reasons[0].current?.contains("/mnt/usb") == true)
        case .failed(_, let error, _)? where fails:
            #expect(error.code == .io && error.retryable && error.bytesKept == 500)
            #expect(error.message.contains("/mnt/usb") && error.message.contains("resume"))
        default: Issue.record("\(script.writes)")
        }
    }
}
