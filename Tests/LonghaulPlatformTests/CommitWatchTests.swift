import Foundation
import LonghaulPlatform
import LonghaulTestSupport
import Testing

@Suite(.timeLimit(.minutes(60))) struct CommitWatchTests {
    @Test func tellsOfWritesToOurFilesOnly() throws {
        let scratch = try LonghaulTestSupport.Scratch("watch")
        try scratch.write("a", to: "queue.sqlite-wal")
        let watch = try CommitWatch(of: "queue.sqlite", in: scratch.path)
        try scratch.write("b", to: "engine.log")
        #expect(!watch.wait(atMost: 0.05).isWritten)
        let log = try #require(FileHandle(forWritingAtPath: scratch("queue.sqlite-wal")))
        try log.write(contentsOf: Data("b".utf8))
        let woken = watch.wait(atMost: 10)
        #expect(woken.isWritten)
        #expect(!woken.isCalled)
        // Each write is told once.
        #expect(!watch.wait(atMost: 0.05).isWritten)
    }

    @Test func aCallEndsTheWaitOrTheNext() throws {
        let scratch = try LonghaulTestSupport.Scratch("watch")
        let watch = try CommitWatch(of: "queue.sqlite", in: scratch.path)
        watch.call()
        watch.call()
        let woken = watch.wait(atMost: nil)
        #expect(woken.isCalled)
        #expect(!woken.isWritten)
        #expect(!watch.wait(atMost: 0.01).isCalled)
        let thread = Thread { watch.call() }
        thread.start()
        #expect(watch.wait(atMost: nil).isCalled)
    }

    /// Where the kernel cannot tell, the caller is to look now and then, and not all the time.
    @Test func withoutNoticesItIsLookedNowAndThen() throws {
        let watch = try CommitWatch(of: "queue.sqlite", in: "/nonexistent")
        let start = ContinuousClock.now
        for _ in 1...3 { #expect(!watch.wait(atMost: 60).isWritten) }
        let each = (ContinuousClock.now - start) / 3
        #expect(each >= .milliseconds(90) && each < .seconds(10), "\(each)")
    }

    @Test func afterAWriteItIsLookedOftenAndThenLess() {
        var settling = WriteSettling()
        #expect(settling.pause == nil)
        settling.looked()
        #expect(settling.pause == nil)
        settling.written()
        var pauses: [Double] = []
        while let pause = settling.pause {
            pauses.append(pause)
            settling.looked()
        }
        #expect(pauses.first == 0.001)
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $1 == $0 * 2 })
        // Longer than a disk takes to sync a log.
        #expect(pauses.reduce(0, +) > 8)
        #expect(pauses.count < 16)
    }
}
