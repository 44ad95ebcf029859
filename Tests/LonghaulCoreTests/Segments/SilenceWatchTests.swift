import LonghaulCore
import Testing

@Suite struct SilenceWatchTests {
    @Test(
        arguments: [
            // The longest pause that others made, the silence, whether it is one too many.
            (0, 3.9, false), (0, 4, true), (1.9, 4, true), (3, 4, false), (3, 5.9, false),
            (3, 6, true),
            (40, 79, false),
        ] as [(Double, Double, Bool)])
    func goesByThePausesOfOthers(pause: Double, silent: Double, isOver: Bool) {
        var watch = SilenceWatch()
        watch.heard(after: pause)
        watch.heard(after: 0.1)
        #expect(watch.mayGiveUp(at: 0, silentFor: silent) == isOver)
    }

    /// Where a second one falls silent in the same place the server is the reason.
    @Test func aPlaceIsGivenUpOnce() {
        var watch = SilenceWatch()
        watch.places.add(1_000_000)
        let enough = 1_000_000 + Limits.silenceProgressBytes
        #expect(!watch.mayGiveUp(at: 1_000_000, silentFor: 100))
        #expect(!watch.mayGiveUp(at: enough - 1, silentFor: 100))
        #expect(watch.mayGiveUp(at: enough, silentFor: 100))
        #expect(watch.mayGiveUp(at: 0, silentFor: 100), "another place")
    }

    @Test func notWithoutEnd() {
        var watch = SilenceWatch()
        for place in 0..<Limits.silencesMax {
            let position = Int64(place) << 20
            #expect(watch.mayGiveUp(at: position, silentFor: 5))
            watch.places.add(position)
        }
        #expect(!watch.mayGiveUp(at: 1 << 40, silentFor: 100))
    }
}
