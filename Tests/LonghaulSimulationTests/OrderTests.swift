import LonghaulCore
import Testing

@testable import LonghaulEngine
@testable import LonghaulSimulation

/// When an engine is done that was started for something.
@Suite struct OrderTests {
    private func outcome(
        next seconds: Double?, now: Moment, isStorage: Bool = false
    ) -> TurnOutcome {
        let next = seconds.map { now.wall + $0 }
        return TurnOutcome(
            isQuiet: true, isDrained: true, nextReady: next,
            nextReadyBesidesStorage: isStorage ? nil : next, waitsForConditions: false,
            interest: ConditionNeeds(), runsWhileIdle: false, isWellAhead: false, isBehind: false,
            hosts: HostOutlook())
    }

    private func moment(_ seconds: Double) -> Moment {
        Moment(
            wall: Timestamp(milliseconds: Int64(seconds * 1000)),
            monotonic: Instant(nanoseconds: Int64(seconds * 1e9)))
    }

    /// There is always one that is to be asked again in three seconds.
    @Test func serversThatAreDownAreNotAskedForEver() {
        var patience = DrainTimeout(started: moment(0).monotonic)
        func isOver(_ seconds: Double, _ gain: DrainTimeout.Gain) -> Bool {
            patience.isOver(
                outcome(next: 3, now: moment(seconds)), gain, now: moment(seconds))
        }
        var gain = DrainTimeout.Gain()
        #expect(!isOver(1, gain))
        #expect(!isOver(100, gain))
        // Each of these is a reason to go on.
        gain.bytes += 1
        #expect(!isOver(118, gain))
        gain.ended += 1
        #expect(!isOver(230, gain))
        gain.changes += 1
        #expect(!isOver(340, gain))
        #expect(!isOver(456, gain))
        #expect(isOver(458, gain))
    }

    @Test func aMinuteIsWaitedOut() {
        for (seconds, isStorage, isOver) in [
            (59.0, false, false), (61, false, true), (59, true, false), (61, true, true),
        ] {
            var patience = DrainTimeout(started: moment(0).monotonic)
            let outcome = outcome(next: seconds, now: moment(5), isStorage: isStorage)
            let answer = patience.isOver(outcome, .init(), now: moment(5))
            #expect(answer == isOver)
        }
        var patience = DrainTimeout(started: moment(0).monotonic)
        let answer = patience.isOver(outcome(next: nil, now: moment(5)), .init(), now: moment(5))
        #expect(answer)
        // A disk stays full however often it is looked at.
        patience = DrainTimeout(started: moment(0).monotonic)
        let looks = [5.0, 35, 50].map { now in
            patience.isOver(
                outcome(next: 30, now: moment(now), isStorage: true), .init(), now: moment(now))
        }
        #expect(looks == [false, false, true])
    }

    /// Of thousands each is looked at once, however often something ends.
    @Test func endsAreFoundWithFewLooks() {
        let ids = (1...2000).map { TransferID(rawValue: $0) }
        var awaited = AwaitedEnds(ids)
        var looks = 0
        // They end in another order than they were asked for.
        var ended: Set<TransferID> = []
        for step in 0..<2000 {
            ended.insert(TransferID(rawValue: Int64(1 + step * 7 % 2000)))
            awaited.dropEnded {
                looks += 1
                return ended.contains($0)
            }
            #expect(awaited.areOver == (step == 1999))
        }
        #expect(looks <= 2 * ids.count)
        #expect(AwaitedEnds([]).areOver)
    }

    /// What waits to write finds a gap, and a backlog is not held up by more than a fifth.
    @Test func gapsFollowTheTurns() {
        #expect(WriterYield.seconds(afterTurnOf: 0.001) == 0.02)
        #expect(WriterYield.seconds(afterTurnOf: 0.4) == 0.05)
        #expect(WriterYield.seconds(afterTurnOf: 30) == 0.2)
    }
}
