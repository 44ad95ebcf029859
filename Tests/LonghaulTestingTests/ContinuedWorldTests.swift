import Foundation
import Longhaul
import LonghaulTesting
import Testing

/// Continued tasks of a simulated world: what reports runs on, what is silent is expired, and what
/// a person stops has ended.
@Suite(.timeLimit(.minutes(60))) struct ContinuedWorldTests {
    private let world: SimulatedWorld
    private let scheduler: BackgroundTaskScheduler
    private static let host = HostProgram(
        identifier: "com.example.films", command: ["/usr/local/bin/films"],
        permittedTaskIdentifiers: ["export.*", "refresh"])

    init() async throws {
        world = try await SimulatedWorld(startingAt: Date(timeIntervalSince1970: 1_790_000_000))
        scheduler = try await BackgroundTaskScheduler(
            host: Self.host, store: world.configuration.store)
    }

    /// - Parameter work: Of each continued task.
    private func setProgram(
        _ work: @escaping @Sendable (BackgroundTask) async throws -> Void
    ) {
        world.setProgram(ofHost: Self.host.identifier) {
            var host = BackgroundHost(identifier: Self.host.identifier)
            host.backgroundTask(.continued("export.*"), action: work)
            host.backgroundTask(.appRefresh("refresh")) { _ in }
            _ = try await host.runIfLaunched()
        }
    }

    private func submit(_ strategy: SubmissionStrategy = .queue) async throws {
        try await scheduler.submit(
            ContinuedTaskRequest(
                identifier: "export.7", title: "Export", subtitle: "one", strategy: strategy))
    }

    private func record() throws -> TaskRecord? {
        try TransferQueue(directory: world.configuration.store).tasks.find("export.7")
    }

    @Test func workThatReportsRunsOn() async throws {
        defer { world.end() }
        setProgram { [unowned world] task in
            #expect(task.kind == .continued && task.title == "Export" && task.subtitle == "one")
            #expect(task.remainingTime == .infinity)
            task.progress.totalUnitCount = 40
            for _ in 0..<40 {
                try await world.sleep(for: 50)
                task.progress.completedUnitCount += 1
                task.updateTitle("Exporting", subtitle: nil)
            }
        }
        try await submit()
        try await world.advance(by: 120)
        let running = try #require(try record())
        #expect(running.state == .running)
        #expect(running.progress == TaskProgress(completedUnitCount: 2, totalUnitCount: 40))
        #expect(running.continued?.title == "Exporting" && running.continued?.subtitle == nil)
        // The other work of the host waits for it.
        try await scheduler.submit(AppRefreshTaskRequest(identifier: "refresh"))
        try await world.advance(by: 1800)
        #expect(world.launches.map(\.tasks) == [["export.7"]] && world.launches[0].end == nil)
        try await world.advance(by: 200)
        #expect(world.launches.map(\.tasks) == [["export.7"], ["refresh"]])
        #expect(world.launches[0].results == ["export.7": .success])
        #expect(!world.launches[0].wasAskedToEnd)
        #expect(try record()?.state == .done)
    }

    /// A title alone is no progress.
    @Test func silenceIsExpired() async throws {
        defer { world.end() }
        setProgram { [unowned world] task in
            try await world.sleep(for: 30)
            task.progress = TaskProgress(completedUnitCount: 1, totalUnitCount: 2)
            while true {
                try await world.sleep(for: 20)
                task.updateTitle("Still there")
            }
        }
        try await submit()
        try await world.advance(by: 89)
        #expect(world.launches.count == 1 && !world.launches[0].wasAskedToEnd)
        try await world.advance(by: 3)
        #expect(world.launches[0].wasAskedToEnd && world.launches[0].results.isEmpty)
        try await world.advance(by: 3600)
        #expect(world.launches.count == 1)
        let done = try #require(try record())
        #expect(done.state == .done && done.runs.map(\.expiration) == [.progress])
        #expect(done.runs.map(\.result) == [nil])
    }

    /// A process that ignores the request to end is killed.
    @Test func silenceIsKilled() async throws {
        defer { world.end() }
        world.setProgram(ofHost: Self.host.identifier) { [unowned world] in
            while true { try await world.sleep(for: 1000) }
        }
        try await submit()
        try await world.advance(by: 70)
        #expect(world.launches.count == 1 && world.launches[0].end != nil)
        #expect(try record()?.runs.map(\.expiration) == [.progress])
    }

    @Test func aPersonStopsIt() async throws {
        defer { world.end() }
        setProgram { [unowned world] task in
            while true {
                task.progress = TaskProgress(completedUnitCount: 1, totalUnitCount: 2)
                try await world.sleep(for: 5)
            }
        }
        try await submit()
        try await world.advance(by: 200)
        #expect(!world.launches[0].wasAskedToEnd)
        try await scheduler.cancel(taskRequestWithIdentifier: "export.7")
        try await world.advance(by: 10)
        #expect(world.launches[0].wasAskedToEnd && world.launches[0].end != nil)
        #expect(try record()?.runs.map(\.expiration) == [.cancelled])
        // That is no failure of the host, and it does not come again.
        try await scheduler.submit(AppRefreshTaskRequest(identifier: "refresh"))
        try await world.advance(by: 10)
        #expect(world.launches.map(\.tasks) == [["export.7"], ["refresh"]])
    }

    @Test func whatCannotBeginIsRefused() async throws {
        defer { world.end() }
        setProgram { [unowned world] task in
            for _ in 0..<10 {
                task.progress = TaskProgress(completedUnitCount: 1, totalUnitCount: 2)
                try await world.sleep(for: 30)
            }
        }
        try await submit(.fail)
        try await world.advance(by: 10)
        #expect(world.launches.count == 1)
        let error = await #expect(throws: LonghaulError.self) { try await submit(.fail) }
        #expect(error?.code == .immediateRunIneligible)
        #expect(try await scheduler.pendingTaskRequests.isEmpty)
        let second = ContinuedTaskRequest(identifier: "export.8", title: "Export")
        try await scheduler.submit(second)
        let pending = try await scheduler.pendingTaskRequests
        let waiting = try #require(pending.first as? ContinuedTaskRequest)
        #expect(waiting.identifier == second.identifier && waiting.title == second.title)
        try await world.advance(by: 600)
        #expect(world.launches.map(\.tasks) == [["export.7"], ["export.8"]])
    }

    @Test func aWildcardPermitsContinuedTasksAlone() async throws {
        defer { world.end() }
        let error = await #expect(throws: LonghaulError.self) {
            try await scheduler.submit(ProcessingTaskRequest(identifier: "export.7"))
        }
        #expect(error?.code == .notPermitted)
    }

    /// The program goes on, and the next engine watches it.
    @Test func anEngineIsKilled() async throws {
        defer { world.end() }
        setProgram { [unowned world] task in
            for _ in 0..<10 {
                try await world.sleep(for: 30)
                task.progress = TaskProgress(completedUnitCount: 1, totalUnitCount: 2)
            }
        }
        try await submit()
        try await world.advance(by: 40)
        try await world.crashEngine()
        try await world.advance(by: 400)
        #expect(world.launches.map(\.tasks) == [["export.7"]])
        #expect(world.launches[0].results == ["export.7": .success])
        #expect(try record()?.runs.map(\.result) == [.success])
    }
}
