import LonghaulCore
import Testing

@Suite struct PreferenceExpiryTests {
    private let now = Timestamp(milliseconds: 1_790_000_000_000)
    private let day = 86_400.0

    private func decide(
        kept: Double = 0, left: Double, needs: Double, after: Double = 86_400
    ) -> PreferenceExpiry.Verdict {
        PreferenceExpiry.decide(
            waiveBy: now + (after - kept), deadline: now + left, needs: needs, now: now)
    }

    @Test func preferencesEndAfterADay() {
        #expect(decide(kept: day, left: 6 * day, needs: 300) == .waive)
        #expect(
            decide(kept: day - 100, left: 6 * day, needs: 300) == .look(at: now + 100))
    }

    @Test func preferencesEndWhereTheDeadlineComesNear() {
        #expect(decide(left: 300, needs: 300) == .waive)
        #expect(decide(left: 4300, needs: 300) == .look(at: now + 2000))
        #expect(decide(left: 400, needs: 300) == .look(at: now + 60))
        #expect(decide(left: 320, needs: 300) == .look(at: now + 20))
    }

    /// Looking again at half of the slack, it is in time although the origin became ten times
    /// slower.
    @Test func aSlowerOriginIsNoticed() {
        var time = now
        let deadline = now + 10_000
        var rate = 1000.0
        var looks = 0
        while true {
            let needs = PreferenceExpiry.seconds(bytes: 500_000, rate: rate, span: 10_000)
            let verdict = PreferenceExpiry.decide(
                waiveBy: now + day, deadline: deadline, needs: needs, now: time)
            guard case .look(let next) = verdict else { break }
            time = next
            looks += 1
            if looks == 1 { rate = 100 }
        }
        #expect(deadline - time >= 500_000 / rate)
        #expect(looks < 20)
    }

    @Test(
        arguments: [
            (1_000_000, 1000.0, 1e6, 2300.0), (0, 1000, 1e6, 300), (nil, 1000, 1e6, 3600),
            (nil, nil, 1000, 500), (1000, 1000, 100, 52), (262_144, nil, 1e6, 302),
        ] as [(Int64?, Double?, Double, Double)])
    func needs(bytes: Int64?, rate: Double?, span: Double, seconds: Double) {
        #expect(PreferenceExpiry.seconds(bytes: bytes, rate: rate, span: span) == seconds)
    }
}
