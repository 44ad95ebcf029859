import LonghaulCore
import Testing

@Suite struct ConnectionCeilingTests {
    private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: 0) + seconds }

    @Test func thereIsNoneUntilOneIsRefused() {
        var ceiling = ConnectionCeiling()
        ceiling.worked(5)
        ceiling.look(held: 1, now: at(1000))
        #expect(ceiling.allowed == nil)
        ceiling.refused(beside: 0, held: 1, now: at(1000))
        #expect(ceiling.allowed == 1)
    }

    /// Of several that are sent together some are refused before the others are let in.
    @Test func whatWorksIsAllowed() {
        var ceiling = ConnectionCeiling()
        ceiling.refused(beside: 1, held: 0, now: at(0))
        ceiling.refused(beside: 1, held: 0, now: at(0))
        ceiling.worked(3)
        #expect(ceiling.allowed == 3)
        ceiling.worked(2)
        #expect(ceiling.allowed == 3)
    }

    @Test func oneMoreWhileBytesCome() {
        var ceiling = ConnectionCeiling()
        ceiling.refused(beside: 2, held: 0, now: at(0))
        ceiling.look(held: 100, now: at(9.9))
        #expect(ceiling.allowed == 2)
        ceiling.look(held: 0, now: at(100))
        #expect(ceiling.allowed == 2, "nothing has come")
        ceiling.look(held: 100, now: at(100))
        #expect(ceiling.allowed == 3)
        ceiling.look(held: 200, now: at(1000))
        #expect(ceiling.allowed == 3, "that one has not been had yet")
        ceiling.worked(3)
        ceiling.look(held: 300, now: at(1000))
        #expect(ceiling.allowed == 4)
    }

    /// Several refusals of one burst are one; what is refused again and again is tried ever more
    /// seldom, until it is granted.
    @Test func patienceGrows() {
        var ceiling = ConnectionCeiling()
        var (now, held): (Double, Int64) = (0, 0)
        func wait() -> Double {
            let allowed = ceiling.allowed
            let begun = now
            while ceiling.allowed == allowed {
                now += 1
                held += 1
                ceiling.look(held: held, now: at(now))
            }
            return now - begun
        }
        var waits: [Double] = []
        for _ in 0..<8 {
            for _ in 0..<3 { ceiling.refused(beside: 2, held: held, now: at(now)) }
            waits.append(wait())
        }
        #expect(waits == [10, 20, 40, 80, 160, 320, 600, 600])
        ceiling.worked(3)
        ceiling.refused(beside: 3, held: held, now: at(now))
        #expect(wait() == 10)
    }
}
