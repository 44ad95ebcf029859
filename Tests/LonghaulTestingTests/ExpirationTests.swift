import Foundation
import Longhaul
import LonghaulTesting
import Testing

/// How tasks of a simulated world learn that they are to stop, and how they end.
@Suite(.timeLimit(.minutes(60))) struct ExpirationTests {
    private let world: SimulatedWorld
    private let scheduler: BackgroundTaskScheduler
    private static let host = HostProgram(
        identifier: "com.example.films", command: ["/usr/local/bin/films"],
        permittedTaskIdentifiers: ["clean"])

    init() async throws {
        world = try await SimulatedWorld(startingAt: Date(timeIntervalSince1970: 1_790_000_000))
        scheduler = try await BackgroundTaskScheduler(
            host: Self.host, store: world.configuration.store)
    }

    private struct Told: Equatable {
        var reason: TaskDeferral.Reason
        /// Seconds that were left.
        var left: Int
    }

    /// The handler of the documents, and what it is told.
    private func follow() -> Box<[Told]> {
        let told = Box<[Told]>([])
        world.setProgram(ofHost: Self.host.identifier) {
            var host = BackgroundHost(identifier: Self.host.identifier)
            host.backgroundTask(.processing("clean")) { task in
                for await reason in task.shouldDefer {
                    told.value.append(
                        Told(reason: reason, left: Int(task.remainingTime.rounded())))
                    throw BackgroundTask.Deferred()
                }
            }
            _ = try await host.runIfLaunched()
        }
        return told
    }

    private var firstResult: TaskResult? { world.launches.first?.results["clean"] }

    // MARK: - Deferral

    @Test func theEndOfTheTimeIsTold() async throws {
        defer { world.end() }
        let told = follow()
        try await scheduler.submit(AppRefreshTaskRequest(identifier: "clean"))
        try await world.advance(by: 20)
        #expect(told.value.isEmpty && world.launches.count == 1)
        try await world.advance(by: 20)
        #expect(told.value == [Told(reason: .time, left: 5)])
        #expect(firstResult == .deferred)
    }

    @Test func aLostRequirementIsTold() async throws {
        defer { world.end() }
        let told = follow()
        var request = ProcessingTaskRequest(identifier: "clean")
        request.requiresExternalPower = true
        request.request.expiresWhenRequirementIsLost = false
        try await scheduler.submit(request)
        try await world.advance(by: 100)
        #expect(told.value.isEmpty)
        world.conditions.power = .battery(percent: 50)
        try await world.advance(by: 100)
        #expect(told.value.map(\.reason) == [.requirement])
        #expect(firstResult == .deferred)
        world.conditions.power = .external
        try await world.advance(by: 700)
        #expect(told.value.dropFirst() == [Told(reason: .time, left: 5)])
    }

    @Test(arguments: [true, false])
    func anExpirationIsNoSuccess(simulated: Bool) async throws {
        defer { world.end() }
        let told = follow()
        var request = ProcessingTaskRequest(identifier: "clean")
        request.requiresExternalPower = true
        try await scheduler.submit(request)
        try await world.advance(by: 10)
        if simulated {
            try await world.simulateExpiration(of: "clean")
        } else {
            world.conditions.power = .battery(percent: 50)
            try await world.advance(by: 1)
        }
        #expect(told.value.count == 1)
        #expect(firstResult == .deferred)
        #expect(try await scheduler.pendingTaskRequests.count == 1)
    }

    /// While a task runs, the engine may not ask for what it waits for: that is no change of it.
    @Test func whatIsDeferredWaitsLongerEachTime() async throws {
        defer { world.end() }
        world.setProgram(ofHost: Self.host.identifier) {
            var host = BackgroundHost(identifier: Self.host.identifier)
            host.backgroundTask(.processing("clean")) { _ in throw BackgroundTask.Deferred() }
            _ = try await host.runIfLaunched()
        }
        var request = ProcessingTaskRequest(identifier: "clean")
        request.requiresExternalPower = true
        try await scheduler.submit(request)
        try await world.advance(by: 60)
        // After 1, 2, 4, 8, 16 and 32 s.
        #expect((5...7).contains(world.launches.count), "\(world.launches.count)")
    }

    // MARK: - Handlers that are registered

    private func register(_ handler: @escaping @Sendable (BackgroundTask) -> Void) async throws {
        let scheduler = scheduler
        world.setProgram(ofHost: Self.host.identifier) {
            _ = try await scheduler.run()
        }
        #expect(scheduler.register(forTaskWithIdentifier: "clean", launchHandler: handler))
        try await scheduler.submit(ProcessingTaskRequest(identifier: "clean"))
    }

    @Test func aTaskThatIsCompletedLaterTakesItsTime() async throws {
        defer { world.end() }
        try await register { [unowned world] task in
            Task {
                try await world.sleep(for: 100)
                task.setTaskCompleted(success: true)
            }
        }
        try await world.advance(by: 90)
        let launch = try #require(world.launches.first)
        #expect(launch.end == nil)
        try await world.advance(by: 30)
        #expect(firstResult == .success)
        #expect(
            world.launches[0].end.map { Int($0.timeIntervalSince(launch.date).rounded()) } == 100)
    }

    /// Only its handler for the expiration completes it.
    @Test func aTaskThatWaitsForItsEndExpires() async throws {
        defer { world.end() }
        let left = Box<Double?>(nil)
        try await register { task in
            task.expirationHandler = {
                left.value = task.remainingTime
                task.setTaskCompleted(success: false)
            }
        }
        try await world.advance(by: 590)
        #expect(world.launches.first?.end == nil)
        try await world.advance(by: 20)
        #expect(left.value == 0)
        #expect(world.launches.first?.wasAskedToEnd == true)
        #expect(world.launches.first?.end != nil)
    }

    @Test func aTaskThatIsNeverCompletedIsKilled() async throws {
        defer { world.end() }
        try await register { $0.expirationHandler = {} }
        try await world.advance(by: 630)
        let launch = try #require(world.launches.first)
        #expect(launch.wasAskedToEnd && launch.end != nil && launch.exitStatus == nil)
    }

    // MARK: - Time

    @Test(arguments: [0, -1.0]) func noTimeHasPassedAtOnce(seconds: Double) async throws {
        defer { world.end() }
        try await world.sleep(for: seconds)
    }
}
