import Foundation
import Glibc
import LonghaulPlatform
import LonghaulTestSupport
import Synchronization
import Testing

@testable import Longhaul

/// What the engine's process looks for by itself in watched folders, in virtual time.
@Suite struct FolderStepsTests {
    private let scratch: Scratch
    private let clock: ManualClock
    private let queue: TransferQueue
    private let directory: String

    init() throws {
        scratch = try Scratch("folder")
        directory = try scratch.directory("above/in")
        let clock = ManualClock()
        self.clock = clock
        let state = scratch("state")
        let machine = Machine(bootID: nil, now: { clock.now }, obstacle: { _ in nil })
        Machine.simulate(machine, in: state)
        defer { Machine.simulate(nil, in: state) }
        queue = try TransferQueue(directory: state)
        let url = "http://127.0.0.1:9/d/"
        var folder = Folders.New(
            "f", directory: directory, url: url, TransferRequest(url: url, destination: .file("")))
        folder.settings.settle = 2
        try Folders(queue).add(folder)
    }

    private func findings() throws -> FolderRecord { try Folders(queue).find("f") }

    private func sent() throws -> Int {
        var filter = TransferFilter()
        filter.session = "folder:f"
        return try queue.transfers(filter).count
    }

    /// Runs the steps at each moment that they ask for, until the condition holds.
    ///
    /// - Returns: Seconds from the first moment to that one.
    private func live(_ steps: inout FolderSteps, until isDone: () throws -> Bool) throws -> Double
    {
        let start = clock.now.wall
        while true {
            let next = try #require(try steps.run())
            let passed = clock.now.wall - start
            if try isDone() { return passed }
            try #require(passed < 3_600)
            clock.advance(to: next)
        }
    }

    /// No watch is left for it.
    @Test func withoutNoticesTheFolderIsScannedEachTenMinutes() throws {
        var steps = FolderSteps(queue, FolderWatches(limit: 0))
        _ = try steps.run()
        #expect(try findings().scansBecause?.contains("more than 0") == true)
        try scratch.write("a", to: "above/in/a")
        let seconds = try live(&steps) { try sent() == 1 }
        #expect((600...613).contains(seconds), "\(seconds)")
        // And again.
        try scratch.write("b", to: "above/in/b")
        let more = try live(&steps) { try sent() == 2 }
        #expect((580...613).contains(more), "\(more)")
    }

    @Test func whereTheKernelNotifiesNothingIsScanned() throws {
        var steps = FolderSteps(queue)
        _ = try steps.run()
        let scan = try findings().lastScan
        try scratch.write("a", to: "above/in/a")
        let seconds = try live(&steps) { try sent() == 1 }
        #expect((2...3).contains(seconds), "\(seconds)")
        clock.advance(to: clock.now.wall + 601)
        _ = try steps.run()
        #expect(try findings().lastScan == scan)
    }

    /// The kernel does not tell of directories above the folder's own.
    @Test func aFolderWhoseParentHasMovedIsFoundToBeGone() throws {
        var steps = FolderSteps(queue)
        _ = try steps.run()
        #expect(rename(scratch("above"), scratch("away")) == 0)
        let seconds = try live(&steps) { try findings().state == .failed }
        #expect(seconds <= 20, "\(seconds)")
        #expect(rename(scratch("away"), scratch("above")) == 0)
        let more = try live(&steps) { try findings().state == .watching }
        #expect(more <= 10, "\(more)")
    }
}

private final class ManualClock: Sendable {
    private let time = Mutex(SystemClock.now())

    var now: Moment { time.withLock { $0 } }

    func advance(to wall: Timestamp) {
        time.withLock {
            let seconds = max(0.001, wall - $0.wall)
            $0 = Moment(wall: $0.wall + seconds, monotonic: $0.monotonic + seconds)
        }
    }
}
