import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// When a source is left for its throughput.
@Suite struct SlowSourceTests {
    typealias Script = FetchMachineTests.Script

    private static let mib: Int64 = 1 << 20

    // MARK: The tables

    @Test(
        arguments: [
            (100, nil, [:], .keep), (100, 99, [:], .keep), (100, 100, [:], .keep),
            (100, 101, [:], .tooSlow), (0, 1, [:], .tooSlow),
            (100, nil, [1: 399], .keep), (100, nil, [1: 400], .leave(for: 1)),
            (100, 101, [1: 399], .tooSlow), (100, 101, [1: 400], .leave(for: 1)),
            (100, nil, [1: 400, 2: 500], .leave(for: 2)),
            (100, nil, [2: 400, 1: 400], .leave(for: 1)),
        ] as [(Double, Int64?, [Int: Double], SourceSpeed)])
    func whatIsDone(rate: Double, floor: Int64?, others: [Int: Double], expected: SourceSpeed) {
        #expect(SourceSpeed.judge(rate: rate, floor: floor, others: others) == expected)
    }

    /// Seconds, and the bytes received by then; each 30 s of them are measured.
    private func measure(_ marks: [(second: Double, received: Int64)]) -> [Double?] {
        var rate = RecentRate()
        return marks.map {
            rate.measure(received: $0.received, at: Instant(nanoseconds: 0) + $0.second)
        }
    }

    @Test func theLastThirtySecondsCount() {
        let steady = measure((0...40).map { (Double($0), Int64($0) * 10) })
        #expect(steady[..<30].allSatisfy { $0 == nil })
        #expect(steady[30...].allSatisfy { $0 == 10 })
        let burst = measure((0...60).map { (Double($0), $0 < 30 ? 0 : 300) })
        #expect(burst[29] == nil && burst[30] == 10 && burst[59] == 10 && burst[60] == 0)
    }

    @Test func aPauseBeginsAnew() {
        let marks = (0...25).map { (Double($0), Int64($0)) } + [(40, 30), (69, 31), (70, 32)]
        #expect(measure(marks).allSatisfy { $0 == nil })
        let fewer = (0...29).map { (Double($0), Int64($0)) } + [(30, 5)]
        #expect(measure(fewer).allSatisfy { $0 == nil })
    }

    // MARK: The machine

    private func download(_ change: (inout TransferRequest) -> Void) -> Script {
        var script = Script(
            held: Self.mib, validator: Validator(etag: "\"v1\"", length: 100 * Self.mib),
            total: 100 * Self.mib, askedURL: "http://h/f", change)
        script.origin = OriginMemory(origin: "http://h:80")
        script.answer(
            head(206, "Content-Range: bytes 1048576-104857599/104857600", "ETag: \"v1\""))
        return script
    }

    /// Moves bytes at a rate, a second at a time, until requests are stopped.
    private func move(_ script: inout Script, rate: Int64, seconds: Int) -> Int? {
        let start = script.machine.segments.first?.received ?? 0
        for second in 1...seconds {
            script.now.monotonic = script.now.monotonic + 1
            script.now.wall = script.now.wall + 1
            let received = start + Int64(second) * rate
            script.wrote(through: Self.mib + received, received: received)
            let effects = script.effects
            settle(&script)
            if effects.contains(where: { if case .stop = $0 { true } else { false } }) {
                script.ended(.stopped, through: Self.mib + received, received: received)
                settle(&script)
                return second
            }
        }
        return nil
    }

    private func settle(_ script: inout Script) {
        for case .sync(let token, _, _) in script.effects { script.event(.synced(token: token)) }
    }

    /// What is held back here says nothing about the server.
    @Test(arguments: ["limit", "yields", "discretionary"])
    func ownLimitsDoNotCount(how: String) {
        var script = download {
            $0.options.minRate = 1000
            if how == "yields" { $0.options.yields = true }
            $0.isDiscretionary = how == "discretionary"
        }
        script.isHeldBack = how == "limit"
        #expect(move(&script, rate: 100, seconds: 60) == nil)
        script.isHeldBack = false
        // The time before does not count either.
        if how == "limit" { #expect(move(&script, rate: 100, seconds: 60) ?? 0 >= 30) }
    }

    @Test func aSlowAttemptEndsAsAStalledOne() throws {
        var script = download { $0.options.minRate = 1000 }
        #expect(move(&script, rate: 2000, seconds: 40) == nil)
        #expect(move(&script, rate: 100, seconds: 100) == 16)
        guard case .queued? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(script.machine.have.count > Self.mib)
    }

    @Test func withMirrorsTheNextIsAsked() throws {
        var script = download {
            $0.options.minRate = 1000
            $0.options.mirrors = ["http://m/f"]
        }
        script.mirrors = ["http://m/f": OriginMemory(origin: "http://m:80")]
        #expect(move(&script, rate: 900, seconds: 100) == 31)
        #expect(script.asks.map(\.url) == ["http://h/f", "http://m/f"])
        #expect(script.outcome == nil)
    }

    @Test(arguments: [3_600.0, 3_500, nil]) func aMuchFasterMirrorTakesOver(rate: Double?) throws {
        var script = download { $0.options.mirrors = ["http://l/f", "http://m/f"] }
        var memory = OriginMemory(origin: "http://m:80")
        memory.bytesPerSecond = rate
        script.mirrors = [
            "http://l/f": OriginMemory(origin: "http://l:80"), "http://m/f": memory,
        ]
        let isLeft = (rate ?? 0) >= 3_600
        #expect(move(&script, rate: 900, seconds: 60) == (isLeft ? 31 : nil))
        #expect(script.asks.last?.url == (isLeft ? "http://m/f" : "http://h/f"))
        #expect(isLeft == script.machine.state.validator?.mirror?.hasPrefix("http://m/") ?? false)
    }

    /// Its own limit makes it slow, or the server would lose what it has sent.
    @Test(arguments: [true, false]) func itIsNotLeftForNothing(isLimited: Bool) {
        var script = download {
            $0.options.mirrors = ["http://m/f"]
            if isLimited { $0.options.limitRate = 1000 }
        }
        if !isLimited { script.origin.ignoresRanges = true }
        var memory = OriginMemory(origin: "http://m:80")
        memory.bytesPerSecond = 1e6
        script.mirrors = ["http://m/f": memory]
        #expect(move(&script, rate: 900, seconds: 60) == nil)
    }
}
