import LonghaulCore
import Testing

/// Turns of sessions where places are few.
@Suite struct TurnTests {
    private let now = Timestamp(milliseconds: 10_000_000_000)

    private func candidate(
        _ session: String, placeTime: Double = 0, priority: Priority = .normal, origin: String = "o"
    ) -> Candidate {
        var candidate = Candidate(
            id: TransferID(rawValue: 1), session: session, origin: OriginID(rawValue: origin),
            priority: priority, waitingSince: now + -10)
        candidate.placeTime = placeTime
        return candidate
    }

    private func running(
        _ id: Int64, session: String, origin: String = "o", placeTime: Double = 200,
        turnEnds: Double? = 0
    ) -> Running {
        var running = Running(
            id: TransferID(rawValue: id), session: session, origin: OriginID(rawValue: origin))
        running.placeTime = placeTime
        running.turnEndsAt = turnEnds.map { now + $0 }
        return running
    }

    private func stops(
        _ candidate: Candidate, _ running: [Running], total: Int = 1, perOrigin: Int = 6
    ) -> [Int64] {
        var limits = SchedulerLimits()
        limits.running = total
        limits.perOrigin = perOrigin
        let plan = SchedulerPolicy(limits: limits).plan(
            head: [candidate], running: running, origins: [:], now: now)
        return plan.stops.map(\.id.rawValue)
    }

    @Test func aTurnEndsForAnotherSession() {
        #expect(stops(candidate("b"), [running(9, session: "a")]) == [9])
        #expect(stops(candidate("a"), [running(9, session: "a")]).isEmpty)
        #expect(stops(candidate("b"), [running(9, session: "a")], total: 2).isEmpty)
    }

    @Test func aTurnLasts() {
        #expect(stops(candidate("b"), [running(9, session: "a", turnEnds: 1)]).isEmpty)
        #expect(stops(candidate("b"), [running(9, session: "a", turnEnds: nil)]).isEmpty)
        // The other session has had more.
        #expect(stops(candidate("b", placeTime: 201), [running(9, session: "a")]).isEmpty)
        // The other session has as many places.
        let both = [running(8, session: "a"), running(9, session: "b")]
        #expect(stops(candidate("b"), both, total: 2).isEmpty)
    }

    @Test func noTurnEndsForALowerPriority() {
        #expect(stops(candidate("b", priority: .low), [running(9, session: "a")]).isEmpty)
        #expect(stops(candidate("b", priority: .high), [running(9, session: "a")]) == [9])
    }

    @Test func oneAtATime() {
        var two = [running(8, session: "a"), running(9, session: "a")]
        #expect(stops(candidate("b"), two, total: 2) == [8])
        two[0].isLeaving = true
        #expect(stops(candidate("b"), two, total: 2).isEmpty)
    }

    /// A place at another server does not help.
    @Test func aFullServerNeedsAPlaceOfItsOwn() {
        let elsewhere = [running(8, session: "a", origin: "p"), running(9, session: "a")]
        #expect(stops(candidate("b"), elsewhere, total: 16, perOrigin: 1) == [9])
        #expect(
            stops(candidate("b", origin: "q"), elsewhere, total: 2, perOrigin: 1) == [8])
    }

    @Test func whoHasHadLessGoesFirst() {
        var first = candidate("a", placeTime: 180)
        first.waitingSince = now + -1000
        var second = candidate("b", placeTime: 5)
        second.id = TransferID(rawValue: 2)
        var limits = SchedulerLimits()
        limits.running = 1
        let plan = SchedulerPolicy(limits: limits).plan(
            head: [first, second], running: [], origins: [:], now: now)
        #expect(plan.starts == [second.id])
    }

    @Test func placeTimeIsForgotten() {
        var time = PlaceTime()
        let start = Instant(nanoseconds: 0)
        time.halve(at: start)
        time.add(8, to: "a")
        time.add(1, to: "b")
        time.halve(at: start + (Limits.placeTimeSeconds - 1))
        #expect(time["a"] == 8 && time["b"] == 1 && time["c"] == 0)
        time.halve(at: start + (Limits.placeTimeSeconds + 1))
        #expect(time["a"] == 4 && time["b"] == 0)
        time.halve(at: start + 3 * Limits.placeTimeSeconds)
        #expect(time["a"] == 1)
        time.add(1e9, to: "a")
        time.halve(at: start + 1000 * Limits.placeTimeSeconds)
        #expect(time["a"] == 0)
    }
}
