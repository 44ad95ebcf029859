import Foundation
import Logging
import Longhaul
import LonghaulServiceLifecycle
import LonghaulStore
import LonghaulTestSupport
import ServiceLifecycle
import Testing

/// The engine as a service of a real group.
@Suite(.timeLimit(.minutes(60))) struct EngineServiceTests {
    private let scratch: Scratch
    private let queue: TransferQueue
    private let service: EngineService

    init() throws {
        scratch = try Scratch("service")
        queue = try TransferQueue(directory: scratch("state"))
        service = EngineService(store: scratch("state"))
    }

    /// A graceful shutdown in the middle of a download: the next run of the service goes on from
    /// the bytes that are there.
    @Test func aDownloadGoesOnAfterAGracefulShutdown() async throws {
        try await LoopbackServer.run { server in
            let name = "a?size=8M&stall=4M&stalls=1&etag=v1"
            let session = try await session()
            let task = try await download(name, from: server, session)
            try await running(service) {
                try await eventually("half of the file") {
                    try await task.transfer.bytesDone >= 4 << 20
                }
                #expect(try queue.status().engine?.pid == getpid())
            }
            #expect(!queue.isEngineRunning)
            let kept = try await task.transfer
            #expect(kept.state == .waiting && kept.bytesDone >= 4 << 20)
            #expect(server.log.count == 1)

            let file = try await running(service) { try await ended(task) }
            let content = try Data(contentsOf: file.url)
            #expect(try [UInt8](content) == server.expected(name).bytes)
            #expect(file.metrics.bytesFetched == 8 << 20)
            #expect(server.log.all.last?["range"] == "bytes=\(kept.bytesDone)-")
            try await session.invalidate()
        }
    }

    /// A cancelled group ends the engine in the same order.
    @Test func cancellationCheckpoints() async throws {
        try await LoopbackServer.run { server in
            let session = try await session()
            let task = try await download(
                "a?size=8M&stall=4M&stalls=1&etag=v1", from: server, session)
            let group = group(service)
            let run = Task { try await group.run() }
            try await eventually("half of the file") {
                try await task.transfer.bytesDone >= 4 << 20
            }
            run.cancel()
            try await run.value
            #expect(!queue.isEngineRunning)
            let kept = try await task.transfer
            #expect(kept.state == .waiting && kept.bytesDone >= 4 << 20)
            try await session.invalidate()
        }
    }

    /// The service stands by while another process is the engine, and takes over when that one is
    /// killed.
    @Test func takesOverFromAnotherProcess() async throws {
        try await LoopbackServer.run { server in
            let other = try CLIProcess(
                BuiltBinary.named("LonghaulTestSession"), [scratch("state"), "stay"])
            try await eventually("the other engine") {
                try queue.status().engine?.pid == other.pid
            }
            // Shut down while it stands by.
            try await running(service) {}
            #expect(try queue.status().engine?.pid == other.pid)

            let name = "a?size=8M&stall=4M&stalls=1&etag=v1"
            let session = try await session()
            let task = try await download(name, from: server, session)
            let file = try await running(service) {
                try await eventually("half of the file") {
                    try await task.transfer.bytesDone >= 4 << 20
                }
                other.send(SIGKILL)
                return try await ended(task)
            }
            let content = try Data(contentsOf: file.url)
            #expect(try [UInt8](content) == server.expected(name).bytes)
            try await session.invalidate()
        }
    }

    @Test func aStoreThatCannotBeOpenedFailsTheGroup() async throws {
        let store = try scratch.write("no directory", to: "file")
        let group = group(EngineService(store: store))
        let error = await #expect(throws: LonghaulError.self) { try await group.run() }
        #expect(error?.code == .storeUnavailable)
    }

    /// A program that has raised the epoch of the lease is the engine: the one before may not write
    /// any more.
    @Test func anEngineThatLosesItsPlaceFailsTheGroup() async throws {
        let group = group(service)
        let run = Task { try await group.run() }
        try await eventually("the engine") { try queue.status().engine?.pid == getpid() }
        let other = try Store.open(directory: queue.directory)
        _ = try other.lease.raiseEpoch(
            EngineHolder(pid: 1, pidStart: 1, bootID: "b", mode: "daemon"),
            now: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)))
        let session = try await session()
        let url = try #require(URL(string: "http://127.0.0.1:1/a"))
        let file = URL(filePath: scratch("a"))
        _ = try await session.download(TransferRequest(url: url), to: file)
        let error = await #expect(throws: LonghaulError.self) { try await run.value }
        #expect(error?.code == .internal)
        try await session.invalidate()
    }

    /// Limits of the service go before those of the configuration file.
    @Test func keepsToItsLimits() async throws {
        var limits = EngineLimits()
        limits.running = 1
        let service = EngineService(store: scratch("state"), limits: limits)
        try await LoopbackServer.run { server in
            let session = try await session()
            let tasks = [
                try await download("a?size=8M&stall=4M&etag=v1", from: server, session),
                try await download("b?size=1K", from: server, session),
            ]
            try await running(service) {
                try await eventually("a wait for a place") {
                    let reasons = try await tasks[1].explanation.waitingFor.map(\.reason)
                    return reasons.contains(.concurrency)
                }
                server.goOn()
                for task in tasks { _ = try await ended(task) }
            }
            #expect(server.log.all.map(\.head.pathAndQuery.path) == ["/f/a", "/f/b"])
            try await session.invalidate()
        }
    }

    // MARK: -

    private func group(_ service: EngineService) -> ServiceGroup {
        ServiceGroup(services: [service], logger: Logger(label: "test"))
    }

    /// Runs the service in a group while the body runs, and shuts the group down gracefully.
    private func running<Value: Sendable>(
        _ service: EngineService, _ body: () async throws -> Value
    ) async throws -> Value {
        let group = group(service)
        async let ended: Void = group.run()
        let value = try await body()
        await group.triggerGracefulShutdown()
        try await ended
        return value
    }

    private func session() async throws -> BackgroundSession {
        var configuration = BackgroundSession.Configuration()
        configuration.store = queue.directory
        configuration.engine = .external
        return try await BackgroundSession(
            identifier: "com.example.test", configuration: configuration)
    }

    private func download(
        _ name: String, from server: LoopbackServer, _ session: BackgroundSession
    ) async throws -> DownloadTask {
        let url = try #require(URL(string: server.url(name)))
        var request = TransferRequest(url: url)
        request.options.connections = .exactly(1)
        let file = URL(filePath: scratch(url.lastPathComponent))
        return try await session.download(request, to: file)
    }

    /// The file of a download that ends within the patience of a test.
    private func ended(_ task: DownloadTask) async throws -> DownloadedFile {
        try await eventually("the end of the download") {
            try await task.transfer.state.hasEnded
        }
        return try await task.value
    }
}
