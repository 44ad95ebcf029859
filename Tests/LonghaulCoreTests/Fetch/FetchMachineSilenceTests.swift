import LonghaulCore
import Testing

/// The last part of a split file hangs on a connection that says nothing any more.
@Suite struct FetchMachineSilenceTests {
    private typealias Script = FetchMachineTests.Script

    private static let mib: Int64 = 1 << 20
    private let strong = "ETag: \"v1\""

    /// Two connections, of 20 MiB; the second has brought its part, the first has stopped at a
    /// place so far from its end.
    private func silent(short: Int64, connections: Int = 2) throws -> (Script, end: Int64) {
        var script = Script { $0.options.connections = .exactly(connections) }
        script.answer(head(200, "Content-Length: 20971520", strong, "Accept-Ranges: bytes"))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        try #require(script.asks.count == 2)
        let middle = script.asks[1].ask.position
        script.answer(head(206, "Content-Range: bytes \(middle)-20971519/20971520", strong))
        script.wrote(through: middle - short, received: middle - short, of: 0)
        script.ended(through: 20 * Self.mib, received: 20 * Self.mib - middle, of: 1)
        return (script, middle)
    }

    private func wait(_ script: inout Script, _ seconds: Double) {
        script.now.monotonic = script.now.monotonic + seconds
        script.now.wall = script.now.wall + seconds
        script.event(.tick)
    }

    private func stops(_ script: Script) -> [SegmentKey] {
        script.effects.flatMap { effect -> [SegmentKey] in
            if case .stop(let keys) = effect { return keys }
            return []
        }
    }

    @Test(arguments: [1, 1000, 900_000]) func theRestIsAskedForAnew(short: Int64) throws {
        var (script, end) = try silent(short: short)
        try #require(script.asks.count == 2, "too little to be split")
        wait(&script, 3.5)
        #expect(stops(script).isEmpty)
        wait(&script, 0.5)
        #expect(stops(script) == [script.asks[0].key])
        wait(&script, 0.5)
        #expect(stops(script).isEmpty, "once")
        // It wrote a little more before it heard of that: none of it is asked for again.
        let written = end - (short + 1) / 2
        script.ended(.stopped, through: written, received: written, of: 0)
        #expect(script.ranges.last == "bytes=\(written)-\(end - 1)")
        #expect(script.outcome == nil)
        #expect(!script.writes.contains { if case .originFailed = $0 { true } else { false } })
        script.answer(head(206, "Content-Range: bytes \(written)-\(end - 1)/20971520", strong))
        script.ended(through: end, received: end - written)
        #expect(script.machine.isWhole && script.machine.leaving == nil)
    }

    /// Not half of it: the other half would stay where it is.
    @Test func allOfALongRestIsTaken() throws {
        var (script, end) = try silent(short: 9 * Self.mib)
        let asked = script.asks.count
        wait(&script, 4)
        #expect(script.asks.count == asked, "nothing is split from one that is silent")
        let written = end - 9 * Self.mib
        script.ended(.stopped, through: written, received: written, of: 0)
        let rest = ByteRanges(written..<end)
        let taken = script.asks[asked...].reduce(into: ByteRanges()) { ranges, ask in
            ranges.insert(ask.ask.position..<(ask.ask.end ?? 20 * Self.mib))
        }
        #expect(taken == rest)
    }

    @Test func aServerThatIsSlowEverywhereIsLeftAlone() throws {
        var (script, end) = try silent(short: 900_000)
        // It pauses for three seconds, and goes on.
        wait(&script, 3)
        script.wrote(through: end - 800_000, received: end - 800_000, of: 0)
        wait(&script, 5.5)
        #expect(stops(script).isEmpty)
        wait(&script, 0.5)
        #expect(!stops(script).isEmpty)
    }

    /// Where the next one is silent, too, the stall timeout decides.
    @Test func aPlaceIsGivenUpOnce() throws {
        var (script, end) = try silent(short: 900_000)
        wait(&script, 4)
        let written = end - 900_000
        script.ended(.stopped, through: written, received: written, of: 0)
        script.answer(head(206, "Content-Range: bytes \(written)-\(end - 1)/20971520", strong))
        script.wrote(through: written + 1000, received: 1000)
        wait(&script, 25)
        #expect(stops(script).isEmpty)
    }

    /// One that is alone may be as slow as it likes, and no other connection may be had.
    @Test func noneIsGivenUpWhereNoneIsFree() throws {
        var alone = Script { $0.options.connections = .exactly(2) }
        alone.answer(head(200, "Content-Length: 2621440", strong, "Accept-Ranges: bytes"))
        alone.event(.reserved)
        alone.wrote(through: Self.mib, received: Self.mib)
        wait(&alone, 20)
        #expect(stops(alone).isEmpty && alone.asks.count == 1)

        var refused = Script { $0.options.connections = .exactly(2) }
        refused.answer(head(200, "Content-Length: 20971520", strong, "Accept-Ranges: bytes"))
        refused.event(.reserved)
        refused.wrote(through: Self.mib, received: Self.mib)
        refused.answer(head(503, "Retry-After: 60"))
        refused.ended(.refused, through: 0, received: 0)
        wait(&refused, 20)
        #expect(stops(refused).isEmpty && refused.asks.count == 2)
    }

    /// What one asked for has not been answered at all, and it was the last.
    @Test func oneThatHasNotAnsweredIsGivenUp() throws {
        var script = Script { $0.options.connections = .exactly(3) }
        let total = 64 * Self.mib
        script.answer(head(200, "Content-Length: \(total)", strong, "Accept-Ranges: bytes"))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        try #require(script.asks.count == 3)
        let middle = script.asks[1].ask.position
        let last = script.asks[2].ask.position
        script.answer(
            head(206, "Content-Range: bytes \(middle)-\(last - 1)/\(total)", strong), to: 1)
        script.ended(through: middle, received: middle, of: 0)
        script.ended(through: last, received: last - middle, of: 1)
        wait(&script, 4)
        #expect(stops(script) == [script.asks[2].key])
        script.ended(.stopped, through: last, received: 0, of: 2)
        #expect(script.asks[3...].contains { $0.ask.position == last })
        #expect(script.machine.leaving == nil)
    }

    // MARK: Slow, not silent

    /// The second has brought 10 MiB in a second; the first goes on with so many bytes a second,
    /// and is 1.9 MiB from its end, too little to be split.
    private func crawling(
        _ rate: Int64, _ change: (inout TransferRequest) -> Void = { _ in }
    ) throws -> Script {
        var script = Script {
            $0.options.connections = .exactly(2)
            change(&$0)
        }
        script.answer(head(200, "Content-Length: 20971520", strong, "Accept-Ranges: bytes"))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        try #require(script.asks.count == 2)
        let middle = script.asks[1].ask.position
        script.answer(head(206, "Content-Range: bytes \(middle)-20971519/20971520", strong))
        var written = middle - 1_900_000
        script.wrote(through: written, received: written, of: 0)
        wait(&script, 1)
        script.ended(through: 20 * Self.mib, received: 20 * Self.mib - middle, of: 1)
        for _ in 1...20 where stops(script).isEmpty {
            written += rate / 2
            script.wrote(through: written, received: written, of: 0)
            if stops(script).isEmpty { wait(&script, 0.5) }
        }
        return script
    }

    @Test func aCrawlingTailGoesToAnotherConnection() throws {
        var script = try crawling(4096)
        #expect(stops(script) == [script.asks[0].key])
        let written = try #require(script.machine.segments.first?.written)
        let end = script.asks[1].ask.position
        script.ended(.stopped, through: written, received: written, of: 0)
        #expect(script.ranges.last == "bytes=\(written)-\(end - 1)")
        #expect(!script.writes.contains { if case .originFailed = $0 { true } else { false } })
        script.answer(head(206, "Content-Range: bytes \(written)-\(end - 1)/20971520", strong))
        script.ended(through: end, received: end - written)
        #expect(script.machine.isWhole && script.machine.leaving == nil)
    }

    /// Slow, and not much slower than others; or held back.
    @Test func aTailThatIsSlowIsLeft() throws {
        #expect(stops(try crawling(1 << 20)).isEmpty)
        #expect(stops(try crawling(4096) { $0.options.yields = true }).isEmpty)
    }
}
