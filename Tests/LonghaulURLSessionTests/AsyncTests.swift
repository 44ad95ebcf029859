import Foundation
import Longhaul
import LonghaulTestSupport
import LonghaulTesting
import LonghaulURLSession
import Synchronization
import Testing

/// Requests whose result a Swift task awaits.
@Suite(.timeLimit(.minutes(60))) struct AsyncTests {
    private let start = Date(timeIntervalSince1970: 1_790_000_000)
    private let url = URL(string: "https://example.com/forecast.json")!
    private let content = Data(repeating: UInt8(ascii: "s"), count: 4_000)

    /// Lets time pass until the request went out.
    private func send(_ world: SimulatedWorld, _ count: Int = 1) async throws {
        try await eventually("\(count) requests") {
            try await world.advance(by: 0.01)
            return world.requests.count == count
        }
    }

    /// Lets time pass until the task is over.
    private func wait<Value: Sendable>(
        for task: Task<Value, any Error>, in world: SimulatedWorld
    ) async throws -> Value {
        let hasEnded = Atomic(false)
        let end = Task {
            defer { hasEnded.store(true, ordering: .relaxed) }
            return try await task.value
        }
        try await eventually("the end of the request") {
            try await world.advance(by: 1)
            return hasEnded.load(ordering: .relaxed)
        }
        return try await end.value
    }

    @Test func resultsAreReturnedAndNotDelivered() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content)
        let upload = URL(string: "https://example.com/up")!
        world.network.acceptUploads(upload)
        let recorder = Recorder()
        let session = world.urlSession(recorder)
        let (url, body) = (url, content)
        let all = Task {
            let (data, response) = try await session.data(from: url)
            #expect(data == body && (response as? HTTPURLResponse)?.statusCode == 200)
            let (file, _) = try await session.download(from: url)
            #expect(try Data(contentsOf: file) == body)
            try FileManager.default.removeItem(at: file)
            var request = URLRequest(url: upload)
            request.httpMethod = "PUT"
            let (_, created) = try await session.upload(for: request, from: body)
            #expect((created as? HTTPURLResponse)?.statusCode == 201)
            let (_, missing) = try await session.data(
                from: URL(string: "https://example.com/none")!)
            #expect((missing as? HTTPURLResponse)?.statusCode == 404)
            #expect(await session.allTasks.isEmpty)
        }
        try await wait(for: all, in: world)
        #expect(world.requests.count { $0.method == "GET" && $0.url != upload } == 3)
        #expect(world.requests.first { $0.method == "PUT" }?.body == content)
        session.finishTasksAndInvalidate()
        try await recorder.heard("invalid")
        #expect(!recorder.now.calls.contains { $0 == "file" || $0.hasPrefix("end") })
    }

    @Test func aCancelledRequestEnds() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content)
        world.network.bytesPerSecond = 10
        let recorder = Recorder()
        let session = world.urlSession(recorder)
        let url = url
        let task = Task { try await session.data(from: url) }
        try await send(world)
        task.cancel()
        let error = await #expect(throws: URLError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        session.finishTasksAndInvalidate()
        try await eventually {
            try await world.advance(by: 1)
            return recorder.now.calls.contains("invalid")
        }
        #expect(recorder.now.calls.filter { $0 != "events" } == ["invalid"])
        #expect(world.requests.count == 1)
    }

    /// A task that is cancelled before its request is sent sends none.
    @Test func anEarlyCancelSendsNothing() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        let session = world.urlSession(nil)
        let url = url
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await session.data(from: url)
        }
        await #expect(throws: URLError.self) { try await task.value }
        #expect(await session.allTasks.isEmpty)
        try await world.advance(by: 60)
        #expect(world.requests.isEmpty)
        session.invalidateAndCancel()
    }

    /// The cancelled request goes on as the download that the handler resumes.
    @Test func aResumedTaskContinuesTheRequest() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content)
        world.network.bytesPerSecond = 100
        let recorder = Recorder()
        let session = world.urlSession(recorder)
        let url = url
        let task = Task {
            try await withTaskCancellationHandler {
                try await session.data(from: url)
            } onCancel: {
                let task = session.downloadTask(with: URLRequest(url: url))
                task.taskDescription = "forecast"
                task.resume()
            }
        }
        try await send(world)
        task.cancel()
        await #expect(throws: URLError.self) { try await task.value }
        #expect(await session.allTasks.map(\.taskDescription) == ["forecast"])
        try await world.advance(by: 60)
        try await recorder.heard("events")
        #expect(recorder.now.calls == ["file", "end", "events"])
        #expect(recorder.now.contents == [content])
        #expect(recorder.now.descriptions == ["forecast"])
        #expect(world.requests.count == 1)
        session.finishTasksAndInvalidate()
        try await recorder.heard("invalid")
    }

    /// The talk's app: its refresh task expires while the forecast comes, and a launch brings it.
    @Test func aRefreshThatExpiresIsLaunchedWithItsAnswer() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        defer { world.end() }
        world.network.serve(url, Data(repeating: 32, count: 4_000) + Data("storm".utf8))
        world.network.bytesPerSecond = 100
        let host = HostProgram(
            identifier: "com.example.stormynoon", command: ["/usr/bin/stormynoon"],
            permittedTaskIdentifiers: ["StormyNoon"])
        let configuration = world.configuration
        let app = StormyNoon(weather: url) { settings in
            settings.store = configuration.store
            settings.engine = configuration.engine
            settings.host = host
        }
        let seen = Mutex<[Bool?]>([])
        world.setProgram(ofHost: host.identifier) {
            var program = BackgroundHost(identifier: host.identifier)
            program.backgroundTask(.appRefresh("StormyNoon")) { _ in
                let answer = await app.isStormy()
                seen.withLock { $0.append(answer) }
            }
            program.backgroundTask(.urlSession(StormyNoon.session)) { _, events in
                for file in events.compactMap(\.file) {
                    let answer = StormyNoon.isStormy(try Data(contentsOf: file))
                    seen.withLock { $0.append(answer) }
                }
            }
            _ = try await program.runIfLaunched()
        }
        let scheduler = try await BackgroundTaskScheduler(
            host: host, store: configuration.store)
        try await scheduler.submit(AppRefreshTaskRequest(identifier: "StormyNoon"))
        try await send(world)
        try await world.simulateExpiration(of: "StormyNoon")
        try await eventually("the launch with the forecast") {
            try await world.advance(by: 5)
            return seen.withLock { $0.count } == 2
        }
        #expect(seen.withLock { $0 } == [nil, true])
        #expect(world.requests.count == 1)
        #expect(world.launches.map(\.session) == [nil, StormyNoon.session])
    }
}
