import Foundation
import LonghaulCore
import LonghaulStore
import LonghaulPlatform
import LonghaulTestSupport
import Testing

@testable import Longhaul

/// Engines that are wanted while somebody holds the lease who leaves at once.
@Suite(.timeLimit(.minutes(60))) struct WantedEngineTests {
    /// Stands for the engine that is started: notes that it was.
    private func program(_ home: SessionHome) throws -> String {
        let path = try home.scratch.write(
            Data("#!/bin/sh\necho \"$*\" >> '\(home.scratch("started"))'\n".utf8), to: "engine")
        chmod(path, 0o700)
        return path
    }

    private func queue(_ home: SessionHome, transfers: Int) throws -> TransferQueue {
        let queue = try TransferQueue(directory: home.store)
        for number in 0..<transfers {
            _ = try queue.enqueue([
                TransferRequest(
                    url: "http://127.0.0.1:1/\(number)",
                    destination: .file(home.file("\(number)").path))
            ])
        }
        return queue
    }

    private func started(_ home: SessionHome) -> Int {
        let text = try? String(contentsOfFile: home.scratch("started"), encoding: .utf8)
        return text?.split(separator: "\n").count ?? 0
    }

    @Test func whoHoldsTheLeaseForAMomentStartsIt() async throws {
        let home = try SessionHome()
        let queue = try queue(home, transfers: 1)
        let program = try program(home)
        try withLease(home) {
            try EngineStarter(queue).start(program, found: program)
        }
        #expect(started(home) == 0)
        try queue.settle()
        try await eventually { started(home) == 1 }
        // Not taken up yet: an engine that finds the lease taken is not the last that is tried.
        try queue.settle()
        try await eventually { started(home) == 2 }
        #expect(
            try String(contentsOfFile: home.scratch("started"), encoding: .utf8)
                .hasPrefix("daemon --exit-when-idle 10s --background\n"))
    }

    @Test func nobodyIsStartedForNothing() async throws {
        let home = try SessionHome()
        let queue = try queue(home, transfers: 2)
        let program = try program(home)
        try withLease(home) {
            try EngineStarter(queue).start(program, found: program)
        }
        _ = try queue.pause(.ids([TransferID(rawValue: 1)]))
        _ = try queue.cancel(.ids([TransferID(rawValue: 2)]))
        try queue.settle()
        #expect(try queue.store.settings.withdrawEngine() == nil)
        _ = try queue.resume(.all)
        try queue.settle()
        #expect(started(home) == 0)
    }

    /// One that stays has taken up all that was wanted before, and leaves nothing of it behind.
    @Test func anEngineThatStaysFulfilsTheWish() throws {
        let home = try SessionHome()
        let queue = try queue(home, transfers: 1)
        try queue.store.settings.requestEngine("/a")
        _ = try queue.store.lease.raiseEpoch(queue.holder(.run), now: queue.now)
        #expect(try queue.store.settings.withdrawEngine() == "/a")
        try queue.store.settings.requestEngine("/b")
        _ = try queue.store.lease.raiseEpoch(queue.holder(.background), now: queue.now)
        #expect(try queue.store.settings.withdrawEngine() == nil)
    }

    /// It has come, been looked at and has nothing to do any more.
    @Test func anIdleEngineForgetsTheWish() async throws {
        let home = try SessionHome()
        // Nobody listens there: tried again and again.
        let queue = try queue(home, transfers: 1)
        var options = EngineOptions(mode: .background)
        options.exitWhenIdle = 0.5
        let run = EngineRun(queue: queue, options: options)
        async let summary = Task.detached { try run.run() }.value
        try await eventually { queue.isEngineRunning }
        try queue.store.settings.requestEngine("/nowhere")
        _ = try queue.pause(.all)
        #expect(try await summary.stoppedBy == .drained)
        #expect(try queue.store.settings.withdrawEngine() == nil)
    }

    private func withLease(_ home: SessionHome, _ body: () throws -> Void) throws {
        let lock = try #require(try EngineLock.tryAcquire(in: home.store))
        try body()
        withExtendedLifetime(lock) {}
    }
}
