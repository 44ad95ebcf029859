import Foundation
import Longhaul
import LonghaulTesting
import Testing

/// What embedders rely on in a simulated world.
@Suite(.timeLimit(.minutes(60))) struct WorldTests {
    private let start = Date(timeIntervalSince1970: 1_790_000_000)
    private let url = URL(string: "https://example.com/film.bin")!
    private let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    private let home: URL

    init() throws {
        home = FileManager.default.temporaryDirectory.appending(
            path: "world-\(UUID().uuidString)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    }

    private var file: URL { home.appending(path: "film.bin") }

    private func session(
        _ world: SimulatedWorld, _ edit: (inout BackgroundSession.Configuration) -> Void = { _ in }
    ) async throws -> BackgroundSession {
        var configuration = world.configuration
        edit(&configuration)
        return try await BackgroundSession(identifier: "films", configuration: configuration)
    }

    // MARK: - Transfers

    @Test func aDownloadThatBreaksOffGoesOnWhereItWas() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content, entityTag: "v1", faults: [.cut(after: 1_000_000)])
        let session = try await session(world)
        let task = try await session.download(TransferRequest(url: url), to: file)
        try await world.advance(by: 60)
        _ = try await task.value
        #expect(try Data(contentsOf: file) == content)
        #expect(world.requests.count == 2)
        #expect(world.requests.last?.headers["If-Range"] == "\"v1\"")
        #expect(world.requests.last?.headers["Range"] == "bytes=1000000-")
        #expect(world.now == start + 60)
    }

    @Test func whatIsAskedForLaterComesLater() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content)
        let session = try await session(world)
        var request = TransferRequest(url: url)
        request.earliestBeginDate = start + 3600
        let task = try await session.download(request, to: file)
        try await world.advance(by: 3599)
        #expect(world.requests.isEmpty)
        try await world.advance(by: 10)
        _ = try await task.value
        let date = try #require(world.requests.first?.date)
        #expect(date >= start + 3600 && date < start + 3602)
    }

    @Test func conditionsHoldDiscretionaryOnesBack() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content)
        world.conditions.power = .battery(percent: 80)
        let session = try await session(world)
        var request = TransferRequest(url: url)
        request.schedule.requires.power = true
        let task = try await session.download(request, to: file)
        try await world.advance(by: 4 * 3600)
        #expect(world.requests.isEmpty)
        #expect(try await task.explanation.waitingFor.contains { $0.reason == .power })
        world.conditions.power = .external
        try await world.advance(by: 60)
        _ = try await task.value
    }

    @Test func aNetworkThatComesBackIsUsed() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content, entityTag: "v1")
        world.network.bytesPerSecond = 100_000
        let session = try await session(world)
        let task = try await session.download(TransferRequest(url: url), to: file)
        try await world.advance(by: 10)
        world.conditions.network = .offline
        try await world.advance(by: 3600)
        let before = world.requests.count
        world.conditions.network = .metered
        try await world.advance(by: 120)
        _ = try await task.value
        #expect(world.requests.count > before)
        #expect(try Data(contentsOf: file) == content)
    }

    @Test func anEngineThatIsKilledLosesNothing() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content, entityTag: "v1")
        world.network.bytesPerSecond = 200_000
        let session = try await session(world)
        let task = try await session.download(TransferRequest(url: url), to: file)
        for _ in 0..<5 {
            try await world.advance(by: 2)
            try await world.crashEngine()
        }
        try await world.advance(by: 60)
        _ = try await task.value
        #expect(try Data(contentsOf: file) == content)
        var completed = 0
        for try await event in session.events {
            if event.kind == .transferCompleted { completed += 1 }
            if event.kind == .sessionFinished { break }
        }
        #expect(completed == 1)
    }

    @Test func failuresAreTold() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content, faults: [.status(503, retryAfter: 600), .refuse])
        let session = try await session(world)
        let busy = try await session.download(TransferRequest(url: url), to: file)
        let missing = try await session.download(
            TransferRequest(url: URL(string: "https://example.com/none")!),
            to: home.appending(path: "none"))
        try await world.advance(by: 500)
        #expect(world.requests.filter { $0.url == url }.count == 1)
        await #expect(throws: LonghaulError.self) { try await missing.value }
        try await world.advance(by: 3600)
        _ = try await busy.value
    }

    @Test func whatNobodyTakesUpGoesInTime() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let day: Double = 86_400
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(
            url, content, entityTag: "v1",
            faults: [.cut(after: 2_000_000)]
                + Array(repeating: .status(404), count: 20))
        let session = try await session(world)
        let task = try await session.download(TransferRequest(url: url), to: file)
        try await world.advance(by: 60)
        await #expect(throws: LonghaulError.self) { try await task.value }
        func files() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: home.path).sorted()
        }
        #expect(try files().count == 1)
        // An engine at work finds what is due; an idle one does so when it is needed next.
        func work(after days: Double) async throws {
            try await world.advance(by: days * day)
            try await world.resume()
            try await world.advance(by: 60)
        }
        try await work(after: 35)
        var kinds: [SessionEvent.Kind] = []
        for try await event in session.events {
            kinds.append(event.kind)
            if event.kind == .transferBytesExpire { break }
        }
        #expect(kinds == [.transferFailed, .sessionFinished, .transferBytesExpire])
        #expect(try files().count == 1)
        try await work(after: 3.1)
        #expect(try files() == [])
        #expect(try await session.tasks.count == 1)
        try await work(after: 60)
        #expect(try await session.tasks.count == 0)
    }

    @Test(arguments: [false, true]) func anUploadArrives(_ snapshot: Bool) async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        world.network.acceptUploads(url, faults: [.status(500)])
        try content.write(to: file)
        let session = try await session(world)
        var request = TransferRequest(url: url)
        request.uploadProtocol = .put
        request.snapshot = snapshot
        let task = try await session.upload(file, with: request)
        if snapshot { try Data("other".utf8).write(to: file) }
        try await world.advance(by: 600)
        let result = try await task.value
        #expect(result.response.statusCode == 201)
        #expect(world.requests.last?.method == "PUT" && world.requests.last?.body == content)
    }

    // MARK: - Hosts

    private let host = HostProgram(
        identifier: "com.example.films", command: ["/usr/local/bin/films", "--background"],
        permittedTaskIdentifiers: ["refresh", "clean"])

    @Test func aHostIsLaunchedForEventsUnlessItRuns() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content)
        let handled = Box<[String]>([])
        let (name, file) = (host.identifier, file)
        world.setProgram(ofHost: name) {
            var program = BackgroundHost(identifier: name)
            program.backgroundTask(.urlSession("films")) { session, events in
                #expect(session.identifier == "films")
                handled.value += events.map(\.kind.rawValue)
            }
            let wasLaunched = try await program.runIfLaunched()
            #expect(wasLaunched)
        }
        let session = try await session(world) { $0.host = host }
        _ = try await session.download(TransferRequest(url: url), to: file)
        try await world.advance(by: 60)
        #expect(world.launches.isEmpty)
        try await session.invalidate()
        try await world.advance(by: 60)
        #expect(world.launches.count == 1)
        #expect(world.launches.first?.reason == .sessionEvents)
        #expect(world.launches.first?.exitStatus == 0)
        #expect(handled.value == ["transferCompleted", "sessionFinished"])
        try await world.advance(by: 86_400)
        #expect(world.launches.count == 1)
    }

    private func scheduler(_ world: SimulatedWorld) async throws -> BackgroundTaskScheduler {
        try await BackgroundTaskScheduler(host: host, store: world.configuration.store)
    }

    private func setProgram(
        _ world: SimulatedWorld, refresh: @escaping @Sendable (BackgroundTask) async throws -> Void
    ) {
        let name = host.identifier
        world.setProgram(ofHost: name) {
            var program = BackgroundHost(identifier: name)
            program.backgroundTask(.appRefresh("refresh"), action: refresh)
            _ = try await program.runIfLaunched()
        }
    }

    @Test func whatRepeatsKeepsItsInterval() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        setProgram(world) { _ in }
        let scheduler = try await scheduler(world)
        var request = AppRefreshTaskRequest(identifier: "refresh")
        request.repeats = .every(900, tolerance: 300)
        try await scheduler.submit(request)
        try await world.advance(by: 86_400)
        #expect((94...98).contains(world.launches.count))
        for (one, next) in zip(world.launches, world.launches.dropFirst()) {
            #expect(next.date.timeIntervalSince(one.date) >= 600)
        }
        #expect(world.launches.allSatisfy { $0.results == ["refresh": .success] })
    }

    @Test func aTaskThatTakesTooLongExpires() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        defer { world.end() }
        let left = Box<[Double]>([])
        setProgram(world) { [unowned world] task in
            try await world.sleep(for: 20)
            left.value.append(task.remainingTime)
            try await world.sleep(for: 3600)
        }
        try await scheduler(world).submit(AppRefreshTaskRequest(identifier: "refresh"))
        try await world.advance(by: 50)
        let launch = try #require(world.launches.first)
        #expect(launch.wasAskedToEnd && launch.exitStatus == 1)
        #expect(abs(left.value[0] - 10) < 0.1)
        // It has failed, and comes again a minute later.
        try await world.advance(by: 60)
        #expect(world.launches.count == 2)
    }

    @Test func testsLaunchAndEndTasks() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        defer { world.end() }
        let isCancelled = Box(false)
        setProgram(world) { [unowned world] _ in
            do {
                try await world.sleep(for: 20)
            } catch {
                isCancelled.value = true
                throw error
            }
        }
        world.conditions.network = .offline
        var request = AppRefreshTaskRequest(
            identifier: "refresh", earliestBeginDate: start + 86_400)
        request.requiresNetworkConnectivity = true
        try await scheduler(world).submit(request)
        try await world.advance(by: 60)
        #expect(world.launches.isEmpty)
        try await world.simulateLaunch(of: "refresh")
        #expect(world.launches.count == 1 && world.launches[0].end == nil)
        try await world.simulateExpiration(of: "refresh")
        #expect(isCancelled.value && world.launches[0].end == world.now)
        await #expect(throws: LonghaulError.self) {
            try await world.simulateLaunch(of: "clean")
        }
    }

    @Test func aHostFetchesInItsLaunch() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content)
        let fetched = Box(Data())
        setProgram(world) { _ in
            var configuration = BackgroundSession.Configuration()
            configuration.engine = .external
            configuration.store = BackgroundLaunch.current?.store
            let session = try await BackgroundSession(
                identifier: "films", configuration: configuration)
            fetched.value = try await session.data(for: TransferRequest(url: url)).0
            try await session.invalidate()
        }
        try await scheduler(world).submit(AppRefreshTaskRequest(identifier: "refresh"))
        try await world.advance(by: 20)
        #expect(fetched.value == content)
        #expect(world.launches.first?.results == ["refresh": .success])
    }

    @Test func triggersFire() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        setProgram(world) { _ in }
        try await scheduler(world).submit(
            TriggerRequest(identifier: "refresh", on: [.resume, .mount, .online]))
        try await world.advance(by: 60)
        #expect(world.launches.isEmpty)
        try await world.resume()
        try await world.advance(by: 120)
        #expect(world.launches.count == 1)
        try await world.mount()
        try await world.advance(by: 120)
        #expect(world.launches.count == 2)
        world.conditions.network = .offline
        try await world.advance(by: 120)
        world.conditions.network = .unmetered
        try await world.advance(by: 120)
        #expect(world.launches.count == 3)
    }

    @Test func aHostSurvivesItsEngine() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        let runs = Box(0)
        setProgram(world) { [unowned world] _ in
            try await world.sleep(for: 10)
            runs.value += 1
        }
        try await scheduler(world).submit(AppRefreshTaskRequest(identifier: "refresh"))
        try await world.advance(by: 2)
        try await world.crashEngine()
        try await world.advance(by: 600)
        #expect(runs.value == 1 && world.launches.count == 1)
    }

    @Test func aHostWithoutAProgramIsSaidToFail() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: start)
        try await scheduler(world).submit(AppRefreshTaskRequest(identifier: "refresh"))
        try await world.advance(by: 30)
        #expect(world.launches.isEmpty)
        setProgram(world) { _ in }
        try await world.advance(by: 120)
        #expect(world.launches.count == 1)
    }
}

/// A value that several tasks share.
final class Box<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var held: Value

    init(_ value: Value) { held = value }

    var value: Value {
        get { lock.withLock { held } }
        set { lock.withLock { held = newValue } }
    }
}
