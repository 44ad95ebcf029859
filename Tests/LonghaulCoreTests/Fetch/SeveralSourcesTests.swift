import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Several sources at once for one file.
@Suite struct SeveralSourcesTests {
    typealias Script = FetchMachineTests.Script

    private static let mib: Int64 = 1 << 20
    private static let total = 256 * mib
    private static let digest = Checksum(
        algorithm: .sha256, hex: String(repeating: "0", count: 64))
    private let mirror = "http://m/f"

    /// The own URL has answered, and others are asked beside it.
    private func begun(
        connections: Int = 2, isDigestKnown: Bool = false, _ memory: OriginMemory? = nil,
        validator: String = "ETag: \"v1\""
    ) -> Script {
        var script = Script {
            $0.options.connections = .exactly(connections)
            $0.options.mirrors = [mirror]
            if isDigestKnown { $0.options.checksum = Self.digest }
        }
        script.mirrors = [mirror: memory ?? OriginMemory(origin: "http://m:80")]
        script.answer(
            head(200, "Content-Length: \(Self.total)", "Accept-Ranges: bytes", validator))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        return script
    }

    private func part(_ ask: RangeRequest, total: Int64 = total, _ tag: String) -> ResponseHead {
        let end = ask.end ?? Self.total
        return head(206, "Content-Range: bytes \(ask.start)-\(end - 1)/\(total)", "ETag: \(tag)")
    }

    private func isHeld(_ position: Int64, _ script: Script) -> Bool {
        script.machine.have.contains(position..<position + 1)
    }

    private func settle(_ script: inout Script) {
        for case .sync(let token, _, _) in script.effects { script.event(.synced(token: token)) }
    }

    // MARK: Who is asked

    @Test func theLeastBusyIsAsked() {
        var script = begun(connections: 4)
        #expect(script.asks.map(\.url) == ["http://h/f", mirror, "http://h/f", mirror])
        // The piece of a mirror does not hide what it is for.
        #expect(script.asks[1].isForMirror && script.asks[1].ask.isAside)
        #expect(!script.asks[2].isForMirror && !script.asks[2].ask.isAside)
        script.answer(part(script.asks[1].ask, "\"v1\""), to: 1)
        #expect(script.effects.contains { if case .proceed = $0 { true } else { false } })
    }

    /// Not one that rests, has refused ranges, or is of another protocol.
    @Test(arguments: 0..<3) func whoIsLeftAlone(why: Int) {
        var memory = OriginMemory(origin: "http://m:80")
        if why == 0 { memory.ignoresRanges = true }
        if why == 1 { memory.coolDownUntil = receivedAt + 3600 }
        var script = Script {
            $0.options.connections = .exactly(2)
            $0.options.mirrors = [why == 2 ? "ftp://m/f" : mirror]
        }
        script.mirrors = ["ftp://m/f": memory, mirror: memory]
        script.answer(
            head(200, "Content-Length: \(Self.total)", "Accept-Ranges: bytes", "ETag: \"v1\""))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        #expect(script.asks.map(\.url) == ["http://h/f", "http://h/f"])
    }

    // MARK: What proves its bytes

    @Test func theSameTag() throws {
        var script = begun()
        let ask = script.asks[1].ask
        #expect(ask.proof == .entityTag("\"v1\"") && ask.overlap == 0)
        script.answer(part(ask, "\"v1\""), to: 1)
        script.wrote(through: ask.position + Self.mib, received: Self.mib, of: 1)
        #expect(isHeld(ask.position, script))
        #expect(script.machine.state.validator?.isOfSeveral == true)
        #expect(script.machine.state.validator?.mirror == nil)
    }

    /// A digest proves what two sources give other names.
    @Test func theDigest() throws {
        var script = begun(isDigestKnown: true)
        let ask = script.asks[1].ask
        #expect(ask.proof == .digest && ask.headers["If-Range"] == nil)
        script.answer(part(ask, "\"other\""), to: 1)
        script.wrote(through: ask.position + Self.mib, received: Self.mib, of: 1)
        #expect(isHeld(ask.position, script))
        #expect(script.machine.state.validator?.etag == "\"v1\"")
        #expect(script.machine.state.validator?.isOfSeveral == true)
    }

    /// Another version, another length, a page, nothing: the own URL brings the rest, and nothing
    /// of what it has brought is given up.
    @Test(arguments: 0..<5) func whoProvesNothingIsNotAskedAgain(answer: Int) throws {
        var script = begun(isDigestKnown: answer == 1)
        let ask = script.asks[1].ask
        let answers = [
            head(200, "Content-Length: \(Self.total)", "ETag: \"v2\""),
            part(ask, total: Self.total + 1, "\"v1\""), head(404),
            head(200, "Content-Type: text/html", "Content-Length: 90"),
        ]
        if answer < answers.count { script.answer(answers[answer], to: 1) }
        let failure = answer < 4 ? WireFailure.refused : .curl(code: 7, text: "", osError: 0)
        script.ended(failure, through: ask.position, received: 0, of: 1)
        #expect(script.asks.last?.url == "http://h/f" && script.asks.count == 3)
        #expect(isHeld(0, script) && script.machine.state.restarts == 0)
        #expect(script.machine.stage == .moving)
        script.answer(part(script.asks[2].ask, "\"v1\""), to: 2)
        script.event(.tick)
        #expect(script.asks.count == 3)
    }

    /// The mirror goes on alone, and the own URL is asked for what is left.
    @Test func theOneInUseBreaksOff() throws {
        var script = begun()
        let ask = script.asks[1].ask
        script.answer(part(ask, "\"v1\""), to: 1)
        script.wrote(through: ask.position + 2 * Self.mib, received: 2 * Self.mib, of: 1)
        script.ended(
            .curl(code: 18, text: "", osError: 0), through: 3 * Self.mib, received: 3 * Self.mib,
            of: 0)
        #expect(script.outcome == nil && script.machine.stage == .moving)
        script.ended(through: Self.total, received: Self.total - ask.position, of: 1)
        #expect(script.asks.last?.url == "http://h/f")
        #expect(script.asks.last?.ask.position == 3 * Self.mib)
    }

    /// One of them has brought what is wrong: the own URL brings the whole alone.
    @Test func aWrongDigestBeginsAnewWithOne() throws {
        var script = begun(isDigestKnown: true)
        let ask = script.asks[1].ask
        script.answer(part(ask, "\"other\""), to: 1)
        script.ended(through: Self.total, received: Self.total - ask.position, of: 1)
        settle(&script)
        // What is left of the first half was halved again.
        try #require(script.asks.count == 3)
        script.ended(through: ask.position, received: ask.position, of: 0)
        settle(&script)
        script.ended(.stopped, through: script.asks[2].ask.position, received: 0, of: 2)
        settle(&script)
        script.event(.mismatched(Self.digest, actual: "1", keptAt: "/d/f.longhaul-bad"))
        guard case .queued? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(script.machine.state.isDigestRefuted && script.machine.have.isEmpty)
        let frame = script.machine.frame
        var context = FetchContext(
            now: script.now, origin: script.origin, connectionsAllowed: 6, seed: 1)
        context.mirrors = script.mirrors
        #expect(DownloadSources(frame).leastBusy([frame.url], context) == frame.url)
    }
}
