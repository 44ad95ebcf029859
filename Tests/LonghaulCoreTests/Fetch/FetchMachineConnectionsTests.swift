import LonghaulCore
import Testing

/// One of several connections is cut, or refused: what that costs the others.
@Suite struct FetchMachineConnectionsTests {
    private typealias Script = FetchMachineTests.Script

    private static let mib: Int64 = 1 << 20
    private static let total = 256 * mib
    private let strong = "ETag: \"v1\""
    private let cut = WireFailure.curl(code: 18, text: "", osError: 0)

    /// So many, of which those that have been answered are writing.
    private func several(_ count: Int, answered: Int) throws -> Script {
        var script = Script { $0.options.connections = .exactly(count) }
        script.answer(head(200, "Content-Length: \(Self.total)", "Accept-Ranges: bytes", strong))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        try #require(script.asks.count == count)
        for index in 1..<answered { answer(&script, index) }
        return script
    }

    private func answer(_ script: inout Script, _ index: Int) {
        let ask = script.asks[index].ask
        let end = ask.end ?? Self.total
        script.answer(
            head(206, "Content-Range: bytes \(ask.start)-\(end - 1)/\(Self.total)", strong),
            to: index)
        let through = ask.position + 2 * Self.mib
        script.wrote(through: through, received: 2 * Self.mib, of: index)
    }

    private func end(_ script: inout Script, _ index: Int, _ failure: WireFailure? = nil) {
        let key = script.asks[index].key
        let segment = script.machine.segments.first { $0.key == key }
        let start = segment?.start ?? 0
        let through = failure == nil ? segment?.end ?? Self.total : start + 2 * Self.mib
        script.ended(failure, through: through, received: through - start, of: index)
    }

    private func wait(_ script: inout Script, _ seconds: Double) {
        script.now.monotonic = script.now.monotonic + seconds
        script.now.wall = script.now.wall + seconds
        // Something has come meanwhile.
        let segment = script.machine.segments.first { $0.head != nil }
        if let segment, let index = script.asks.firstIndex(where: { $0.key == segment.key }) {
            script.wrote(
                through: segment.written + 1, received: segment.received + 1, of: index)
        }
    }

    /// It had brought bytes: nobody has refused it, whether it was the first of them or another.
    @Test(arguments: 0..<3) func aCutOneIsReplaced(index: Int) throws {
        var script = try several(3, answered: 3)
        end(&script, index, cut)
        script.event(.tick)
        #expect(script.asks.count == 4)
        #expect(script.machine.segments.count == 3)
        #expect(script.machine.stage == .moving)
    }

    /// The first answer after that shows that the server is there; then it is as before.
    @Test func whenAllAreCutAsManyComeBack() throws {
        var script = try several(4, answered: 4)
        for index in 0..<4 { end(&script, index, cut) }
        #expect(script.asks.count == 5, "one at first")
        answer(&script, 4)
        #expect(script.asks.count == 8)
        #expect(script.machine.segments.count == 4)
    }

    /// Two of three are served: two it is, and what one leaves is taken by the next.
    @Test(arguments: [403, 429, 503]) func aRefusedOneLeavesWhatHasWorked(status: Int) throws {
        var script = try several(3, answered: 2)
        script.answer(head(status), to: 2)
        script.ended(.refused, through: 0, received: 0, of: 2)
        script.event(.tick)
        #expect(script.asks.count == 3, "not at once")
        end(&script, 1)
        try #require(script.asks.count == 4)
        #expect(script.asks[3].isParallel)
    }

    /// The answer of one that is served comes after those that refuse others.
    @Test func whatIsServedLaterCountsAsWell() throws {
        var script = try several(3, answered: 1)
        script.answer(head(503), to: 1)
        script.ended(.refused, through: 0, received: 0, of: 1)
        answer(&script, 2)
        #expect(script.asks.count == 3)
        end(&script, 0)
        #expect(script.asks.count == 4)
    }

    /// A refusal may pass; each further one is given twice the time.
    @Test func oneMoreIsTriedInTime() throws {
        var script = try several(2, answered: 1)
        var waits: [Double] = []
        for index in 1...3 {
            script.answer(head(503), to: index)
            script.ended(.refused, through: 0, received: 0, of: index)
            var seconds = 0.0
            while script.asks.count == index + 1, seconds < 100 {
                wait(&script, 1)
                seconds += 1
            }
            waits.append(seconds)
            if seconds == 100 { break }
        }
        #expect(waits == [10, 20, 40])
    }

    /// Who stops each one as soon as another is there has brought no piece of the file with it.
    @Test func oneThatIsCutAtOnceIsRefused() throws {
        var script = try several(2, answered: 2)
        script.ended(cut, through: Self.mib, received: Self.mib, of: 0)
        script.event(.tick)
        try #require(script.asks.count == 3)
        let start = script.asks[2].ask.start
        script.answer(
            head(
                206,
                "Content-Range: bytes \(start)-\((script.asks[2].ask.end ?? 0) - 1)"
                    + "/\(Self.total)", strong), to: 2)
        script.ended(cut, through: start + 1000, received: 1000, of: 2)
        script.event(.tick)
        #expect(script.asks.count == 3)
    }

    /// What one has left is not asked for either before the time is over that the server wants.
    @Test func aPauseHoldsForAll() throws {
        var script = try several(3, answered: 2)
        script.answer(head(429, "Retry-After: 5"), to: 2)
        script.ended(.refused, through: 0, received: 0, of: 2)
        end(&script, 1)
        wait(&script, 4)
        #expect(script.asks.count == 3)
        wait(&script, 2)
        #expect(script.asks.count == 4)
        #expect(script.machine.segments.count == 2)
    }

    /// How fast one is says the clock that nobody sets.
    @Test(arguments: [-3600.0, 0, 3600]) func aClockThatIsSetSplitsNothing(step: Double) {
        var script = Script { $0.options.connections = .exactly(2) }
        script.answer(
            head(200, "Content-Length: \(12 * Self.mib)", "Accept-Ranges: bytes", strong))
        script.event(.reserved)
        script.now.monotonic = script.now.monotonic + 1
        script.now.wall = script.now.wall + 1 + step
        // The rest takes half a second.
        script.wrote(through: 8 * Self.mib, received: 8 * Self.mib)
        script.event(.tick)
        #expect(script.asks.count == 1)
        // Now it is to take long.
        script.now.monotonic = script.now.monotonic + 9
        script.event(.tick)
        #expect(script.asks.count == 2)
    }

    /// Another file, or all of it where a part had been asked for: never again.
    @Test(arguments: [
        head(200, "Content-Length: \(total)", "ETag: \"v1\""),
        head(200, "Content-Length: \(total)", "ETag: \"v2\""), head(416), head(204),
    ]) func whoHasNoPartsIsAskedAlone(answer: ResponseHead) throws {
        var script = try several(3, answered: 2)
        script.answer(answer, to: 2)
        script.ended(.refused, through: 0, received: 0, of: 2)
        end(&script, 1)
        for _ in 0..<100 { wait(&script, 10) }
        #expect(script.asks.count == 3)
    }
}
