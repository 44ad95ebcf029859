import Foundation
import LonghaulCore
import Synchronization
import Testing

@testable import LonghaulStore

/// Waiting for another connection that writes.
@Suite(.timeLimit(.minutes(60))) struct BusyTests {
    /// Somebody writes nearly all the time, a transaction after the other: whoever waits finds one
    /// of the gaps soon.
    @Test func aShortGapIsFound() async throws {
        let scratch = try ScratchStore()
        let isOver = Atomic(false)
        let began = Atomic(false)
        let path = scratch.location.database
        Thread.detachNewThread {
            let hog = try? Connection(path: path)
            while !isOver.load(ordering: .relaxed) {
                try? hog?.execute("BEGIN IMMEDIATE")
                began.store(true, ordering: .relaxed)
                usleep(300_000)
                try? hog?.execute("COMMIT")
                usleep(20_000)
            }
        }
        while !began.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(1)) }
        let clock = ContinuousClock()
        let taken = try clock.measure {
            for number in 0..<3 { try scratch.add("/d/\(number)") }
        }
        isOver.store(true, ordering: .relaxed)
        #expect(taken < .seconds(6), "\(taken)")
    }

    @Test func patienceEnds() {
        let patience = BusyHandler(seconds: 0.05)
        let begun = ContinuousClock.now
        var tries = 0
        while patience.goesOn(after: tries) { tries += 1 }
        let waited = begun.duration(to: .now)
        #expect(waited >= .milliseconds(50) && waited < .seconds(5))
        // Another wait has its own time.
        #expect(patience.goesOn(after: 0))
    }
}
