import LonghaulCore
import Testing

/// What is learned from whom, and who may cost what is held.
@Suite struct FetchMachineSourcesTests {
    typealias Script = FetchMachineTests.Script

    private static let mib: Int64 = 1 << 20
    private let pinned = Validator(etag: "\"v1\"", length: 10 << 20)
    private let tag = "ETag: \"v1\""

    private func holding(
        emptyAnswers: Int = 0, _ change: (inout TransferRequest) -> Void = { _ in }
    ) -> Script {
        Script(
            held: 4 * Self.mib, validator: pinned, total: 10 * Self.mib, askedURL: "http://h/f",
            emptyAnswers: emptyAnswers, change)
    }

    private func lessons(_ script: Script) -> [OriginLesson] {
        script.writes.compactMap { if case .learn(_, let lesson) = $0 { lesson } else { nil } }
    }

    private func isBlamed(_ script: Script) -> Bool {
        script.writes.contains {
            if case .originFailed(_, let failure, _) = $0 { failure.blamesOrigin } else { false }
        }
    }

    // MARK: Mirrors

    /// Another length, another page, a part that differs: each is a source that has failed, and
    /// the file's own URL goes on with what is held.
    @Test(arguments: [
        head(200, "Content-Length: 5"), head(206, "Content-Range: bytes 4128768-5/6"),
        head(416, "Content-Range: bytes */7"), head(206, "Content-Range: bytes 4128768-9999999/*"),
    ]) func noMirrorCostsWhatIsHeld(answer: ResponseHead) throws {
        var script = holding { $0.options.mirrors = ["http://m/f"] }
        script.answer(head(503))
        script.ended(.refused, through: 0, received: 0)
        try #require(script.asks.last?.url == "http://m/f")
        script.answer(answer)
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.have.count == 4 * Self.mib && script.machine.state.restarts == 0)
        guard case .queued? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
    }

    @Test func aMirrorWhoseBytesDifferIsPassedOver() throws {
        var script = holding { $0.options.mirrors = ["http://m/f", "http://n/f"] }
        script.answer(head(404))
        script.ended(.refused, through: 0, received: 0)
        script.answer(head(206, "Content-Range: bytes 4128768-10485759/10485760"))
        script.ended(.overlapDiffers, through: 0, received: 65536)
        #expect(script.asks.map(\.url) == ["http://h/f", "http://m/f", "http://n/f"])
        #expect(script.ranges.last == "bytes=4128768-")
        script.answer(head(200, "Content-Length: 5"))
        script.ended(.refused, through: 0, received: 0)
        // What the file's own URL said is what has become of the transfer.
        guard case .needsInput(_, let error, _)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(error.code == .notFound && error.bytesKept == 4 * Self.mib)
    }

    /// Its own URL wants to begin anew and then fails: that is nothing to a mirror.
    @Test func aMirrorIsNotAskedFromZero() throws {
        var script = holding { $0.options.mirrors = ["http://m/f"] }
        script.answer(head(206, tag))
        script.ended(.refused, through: 0, received: 0)
        script.answer(head(503))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.asks.map(\.url) == ["http://h/f", "http://h/f", "http://m/f"])
        #expect(script.ranges == ["bytes=4194304-", nil, "bytes=4128768-"])
    }

    /// A mirror has brought some of a file with the wrong digest: once, its own URL brings it all.
    @Test(arguments: [true, false]) func aWrongDigestOfAMirror(hasMirror: Bool) {
        var script = holding {
            if hasMirror { $0.options.mirrors = ["http://m/f"] }
            $0.options.checksum = Checksum(
                algorithm: .sha256, hex: String(repeating: "0", count: 64))
        }
        if hasMirror {
            script.answer(head(503))
            script.ended(.refused, through: 0, received: 0)
        }
        let start = hasMirror ? 4_128_768 : 4_194_304
        script.answer(head(206, "Content-Range: bytes \(start)-10485759/10485760", tag))
        script.ended(through: 10 * Self.mib, received: 10 * Self.mib - Int64(start))
        let wanted = Checksum(algorithm: .sha256, hex: String(repeating: "0", count: 64))
        script.event(.mismatched(wanted, actual: "1", keptAt: "/d/f.longhaul-bad"))
        switch script.outcome {
        case .queued?: #expect(hasMirror && script.machine.state.source == 0)
        case .failed?: #expect(!hasMirror)
        default: Issue.record("\(script.writes)")
        }
        #expect(script.machine.have.isEmpty && script.machine.state.isPartMovedAside)
        #expect(script.machine.state.restarts == (hasMirror ? 1 : 0))
    }

    /// Who wants the most time is not waited for: the own URL is asked again soon.
    @Test(arguments: [true, false]) func aMirrorsWishIsItsOwn(isMirrorLast: Bool) throws {
        var script = holding { $0.options.mirrors = ["http://m/f"] }
        script.mirrors = ["http://m/f": OriginMemory(origin: "http://m:80")]
        let wish = head(429, "Retry-After: 3600")
        script.answer(isMirrorLast ? head(500) : wish)
        script.ended(.refused, through: 0, received: 0)
        #expect(blamed(script) == ["http://h:80"])
        script.answer(isMirrorLast ? wish : head(500))
        script.ended(.refused, through: 0, received: 0)
        #expect(blamed(script).first == "http://m:80")
        guard case .queued(_, let at?, let waiting)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(at - script.now.wall <= 2 && waiting.first?.required == nil)
    }

    /// It has asked for time, of this transfer or another.
    @Test func aMirrorThatRestsIsPassedOver() throws {
        var script = holding { $0.options.mirrors = ["http://m/f", "http://n/f"] }
        var resting = OriginMemory(origin: "http://m:80")
        resting.coolDownUntil = script.now.wall + 3600
        resting.pauseUntil = resting.coolDownUntil
        script.mirrors = ["http://m/f": resting, "http://n/f": OriginMemory(origin: "http://n:80")]
        script.answer(head(404))
        script.ended(.refused, through: 0, received: 0)
        script.answer(head(404))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.asks.map(\.url) == ["http://h/f", "http://n/f"])
        // It may have the file.
        guard case .queued(_, let at?, _)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(at - script.now.wall >= 3600)
    }

    private func blamed(_ script: Script) -> [String] {
        script.writes.compactMap {
            if case .originFailed(let origin, let failure, _) = $0, failure.blamesOrigin {
                origin
            } else {
                nil
            }
        }
    }

    /// Only the user's word is for the user to check.
    @Test(arguments: [true, false]) func aWrongDigestSaysWhoseItIs(isExpected: Bool) {
        let wanted = Checksum(algorithm: .sha256, hex: String(repeating: "0", count: 64))
        var script = holding { if isExpected { $0.options.checksum = wanted } }
        script.answer(
            head(
                206, tag, "Content-Range: bytes 4194304-10485759/10485760",
                "Repr-Digest: \(DigestField.stored(wanted) ?? "")"))
        script.ended(through: 10 * Self.mib, received: 6 * Self.mib)
        script.event(.mismatched(wanted, actual: "1", keptAt: "/d/f.longhaul-bad"))
        guard case .failed(_, let error, _)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(error.message.contains("the expected") == isExpected)
        #expect(error.message.contains("that the server announced") != isExpected)
    }

    // MARK: Pages

    @Test func aLoginPageCostsNothing() {
        var script = holding()
        script.answer(head(200, "Content-Type: text/html", "Content-Length: 39"))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.have.count == 4 * Self.mib && script.machine.state.restarts == 0)
        guard case .queued(_, .some, let waiting)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(waiting.first?.current?.contains("login page") == true)
        #expect(!isBlamed(script))
    }

    // MARK: Lessons

    @Test(arguments: [true, false]) func lessonsAreUnlearned(isConditional: Bool) {
        var script = holding(emptyAnswers: isConditional ? 0 : 1)
        script.origin.ignoresRanges = true
        script.origin.mishandlesIfRange = true
        let start = isConditional ? 4_194_304 : 4_128_768
        script.answer(head(206, "Content-Range: bytes \(start)-10485759/10485760", tag))
        #expect(lessons(script) == [isConditional ? .honoursIfRange : .honoursRanges])
        for lesson in lessons(script) { script.origin.learn(lesson) }
        #expect(!script.origin.ignoresRanges)
        #expect(script.origin.mishandlesIfRange == !isConditional)
    }

    /// Nothing is written for each good answer of a good server.
    @Test func whatIsKnownIsNotLearned() {
        var script = holding()
        script.answer(head(206, "Content-Range: bytes 4194304-10485759/10485760", tag))
        #expect(lessons(script).isEmpty)
    }

    @Test(arguments: [true, false]) func aProxysWaysAreNotItsOrigins(isProxied: Bool) {
        var script = holding()
        var answer = head(206, "Content-Range: bytes 4194304-10485759/10485760")
        answer.isProxied = isProxied
        script.answer(answer)
        #expect(lessons(script) == (isProxied ? [] : [.mishandlesIfRange]))
        // The next request takes another way all the same.
        let again = holding(emptyAnswers: 1)
        #expect(again.ranges == ["bytes=4128768-"])
        #expect(again.asks.last?.ask.headers["If-Range"] == nil)
    }

    // MARK: Proxies

    /// Whoever of the origin's is next would go the same way: three in a row cool it down. One that
    /// is well ends that.
    @Test(arguments: [true, false], [5, 7, 28, 35, 97] as [Int32])
    func aDeadProxyCoolsItsOriginDown(isProxied: Bool, code: Int32) {
        var memory = OriginMemory(origin: "http://h:80")
        var random = SeededGenerator(seed: 1)
        func fail() {
            var script = holding()
            script.ended(
                .curl(code: code, text: "x", osError: 111), through: 0, received: 0,
                isProxied: isProxied)
            #expect(isBlamed(script) && lessons(script).isEmpty)
            for case .originFailed(_, let failure, let gained) in script.writes {
                memory.afterFailure(failure, gained: gained, now: receivedAt, using: &random)
            }
        }
        fail()
        fail()
        #expect(memory.health(at: receivedAt) == .well)
        memory.afterSuccess(now: receivedAt)
        fail()
        fail()
        #expect(memory.health(at: receivedAt) == .well)
        fail()
        #expect(memory.health(at: receivedAt) != .well)
    }

    /// By a tunnel nobody but the server can have answered.
    @Test(
        arguments: [
            ("http://h/f", nil, 403, "the server or the proxy refuses access"),
            ("https://h/f", nil, 403, "the server refuses access"),
            ("http://h/f", "http://p:1", 407, "the proxy asks for credentials"),
            ("http://h/f", "http://me:pw@p:1", 407, "the proxy refuses the credentials"),
            ("http://h/f", "http://me:pw@p:1", 401, "the server asks for credentials"),
        ] as [(String, String?, Int, String)])
    func whoRefusesOnTheWayThroughAProxy(
        url: String, proxy: String?, status: Int, says: String
    ) {
        var script = Script {
            $0.url = url
            $0.options.proxy = proxy
        }
        script.answer(head(status))
        script.ended(.refused, through: 0, received: 0, isProxied: true)
        guard case .needsInput(_, let error, _)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(error.message.hasPrefix(says) && !error.message.contains("pw"))
    }

    @Test(arguments: [true, false]) func credentialsThatATunnelIsRefusedFor(isNamed: Bool) {
        let proxy = "http://me:pw@p:1"
        var script = Script {
            $0.url = "https://h/f"
            if isNamed {
                $0.options.proxy = proxy
            } else {
                $0.options.proxyVariables = ProxyVariables { ["https_proxy": proxy][$0] }
            }
        }
        script.ended(.proxyRefused(status: 407), through: 0, received: 0, isProxied: true)
        guard case .needsInput(_, let error, _)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(error.message.hasPrefix("the proxy refuses the credentials (407)"))
    }

    // MARK: Caches

    /// Nothing is held, and the answer is of somebody's request for a part: it is asked for past
    /// the cache, once.
    @Test(arguments: [true, false]) func aStoredPartIsAskedForPastTheCache(isMended: Bool) {
        var script = Script()
        let stored = head(200, "Content-Length: 5", "Content-Range: bytes 5-9/10")
        script.answer(stored)
        script.ended(.refused, through: 0, received: 0)
        #expect(script.ranges == [nil, nil])
        #expect(script.asks.map { $0.ask.headers["Cache-Control"] } == [nil, "no-cache"])
        script.answer(isMended ? head(200, "Content-Length: 10", tag) : stored)
        if isMended {
            script.ended(through: 10, received: 10)
            #expect(script.machine.stage == .securing)
        } else {
            script.ended(.refused, through: 0, received: 0)
            guard case .queued(_, .some, _)? = script.outcome else {
                Issue.record("\(script.writes)")
                return
            }
        }
    }

    // MARK: Empty answers

    /// They say nothing against what is held: of the whole file it is passed over.
    @Test func afterEmptyAnswersThePinnedVersionIsSkipped() {
        var script = holding(emptyAnswers: 1)
        script.answer(head(204))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.ranges == ["bytes=4128768-", nil])
        #expect(script.asks.last?.ask.headers["Cache-Control"] == "no-cache")
        script.answer(head(200, "Content-Length: 10485760", tag))
        script.ended(through: 10 * Self.mib, received: 10 * Self.mib)
        #expect(script.machine.state.restarts == 0)
        #expect(script.machine.stage == .securing)
    }

    @Test func afterEmptyAnswersAnotherVersionBeginsAnew() {
        var script = holding(emptyAnswers: 1)
        script.answer(head(204))
        script.ended(.refused, through: 0, received: 0)
        script.answer(head(200, "Content-Length: 10485760", "ETag: \"v2\""))
        #expect(script.machine.state.restarts == 1)
    }

    // MARK: Credentials

    @Test(arguments: [nil, "me:secret"]) func refusedCredentialsAreSaidToBe(user: String?) {
        var script = Script { $0.options.user = user }
        script.answer(head(401))
        script.ended(.refused, through: 0, received: 0)
        guard case .needsInput(_, let error, _)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(error.message.contains(user == nil ? "asks for" : "refuses the") == true)
    }
}
