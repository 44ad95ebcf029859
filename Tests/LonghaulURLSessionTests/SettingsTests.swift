import Foundation
import Longhaul
import LonghaulTestSupport
import LonghaulTesting
import LonghaulURLSession
import Testing

/// Settings of a configuration, and how tasks show themselves.
@Suite(.timeLimit(.minutes(60))) struct SettingsTests {
    private let start = Date(timeIntervalSince1970: 1_790_000_000)
    private let url = URL(string: "https://example.com/a/film.bin")!

    /// The only transfer of the world.
    private func transfer(in world: SimulatedWorld) throws -> Transfer {
        let queue = try TransferQueue(directory: world.configuration.store)
        return try #require(queue.transfers(TransferFilter()).first)
    }

    @Test func settingsAreRecordedWithEachTask() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        let session = world.urlSession(nil) {
            $0.allowsCellularAccess = false
            $0.allowsConstrainedNetworkAccess = false
            $0.networkServiceType = .background
            $0.requestCachePolicy = .reloadIgnoringLocalAndRemoteCacheData
            $0.connectionProxyDictionary = [
                "HTTPSEnable": 1, "HTTPSProxy": "proxy.example", "HTTPSPort": 3128,
            ]
            $0.httpAdditionalHeaders = ["X-App": "films"]
            $0.sharedContainerIdentifier = "group.films"
            $0.multipathServiceType = .handover
        }
        #expect(session.configuration.sharedContainerIdentifier == "group.films")
        #expect(session.configuration.connectionProxyDictionary?["HTTPSPort"] as? Int == 3128)
        session.downloadTask(with: url).resume()
        #expect(await session.allTasks.count == 1)
        let transfer = try transfer(in: world)
        #expect(transfer.schedule.requires == ConditionNeeds(unmetered: true, fullPower: true))
        #expect(transfer.priority == .low)
        #expect(transfer.options.headers["Cache-Control"] == "no-cache")
        #expect(transfer.options.headers["X-App"] == "films")
        #expect(transfer.options.proxy == "http://proxy.example:3128")
        session.invalidateAndCancel()
    }

    @Test func cookiesOfTheURLAreSent() async throws {
        let storage = HTTPCookieStorage.sharedCookieStorage(
            forGroupContainerIdentifier: "longhaul-test-\(UUID().uuidString)")
        func add(_ name: String, path: String, secure: Bool = false, host: String = "example.com") {
            var properties: [HTTPCookiePropertyKey: Any] = [
                .name: name, .value: "1", .path: path, .domain: host,
            ]
            if secure { properties[.secure] = "TRUE" }
            HTTPCookie(properties: properties).map { storage.setCookie($0) }
        }
        add("root", path: "/")
        add("own", path: "/a", secure: true)
        add("other", path: "/b")
        add("foreign", path: "/", host: "example.org")
        let world = try await SimulatedWorld(startingAt: start)
        let session = world.urlSession(nil) {
            $0.httpCookieStorage = storage
            // The reset below would empty the shared one.
            $0.urlCredentialStorage = nil
        }
        session.downloadTask(with: url).resume()
        #expect(await session.allTasks.count == 1)
        #expect(try transfer(in: world).options.headers["Cookie"] == "own=1; root=1")
        await withCheckedContinuation { continuation in
            session.reset { continuation.resume() }
        }
        #expect(storage.cookies?.isEmpty == true)
        session.invalidateAndCancel()
    }

    /// What cannot be demanded is not passed over.
    @Test func anUnknownDemandOfTLSEndsTheTask() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        let recorder = Recorder()
        let session = world.urlSession(recorder) {
            $0.tlsMinimumSupportedProtocolVersion = .TLSv13
        }
        session.downloadTask(with: url).resume()
        try await recorder.heard("end \(URLError.unsupportedURL.rawValue)")
        session.invalidateAndCancel()
    }

    @Test func aTaskShowsItsProgressAndItsWaits() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, Data(count: 20_000_000))
        world.network.bytesPerSecond = 10_000
        world.conditions.network = .offline
        try await world.advance(by: 1)
        let (recorder, own) = (Recorder(), Recorder())
        let session = world.urlSession(recorder)
        session.sessionDescription = "films"
        let task = session.downloadTask(with: url)
        task.delegate = own
        let progress = task.progress
        #expect(progress.totalUnitCount == -1 && !progress.isPaused)
        task.resume()
        let (data, uploads, downloads) = await session.tasks
        #expect(data.isEmpty && uploads.isEmpty && downloads == [task])
        try await eventually("the wait for a network") {
            try await world.advance(by: 10)
            return own.now.waiting == [task.taskIdentifier]
        }
        world.conditions.network = .unmetered
        try await eventually("bytes") {
            try await world.advance(by: 1)
            return progress.completedUnitCount > 0
        }
        progress.pause()
        try await eventually("the pause") { task.state == .suspended }
        progress.resume()
        try await eventually("the resumption") { task.state == .running }
        world.network.bytesPerSecond = 10_000_000
        try await eventually("the end, after \(own.now.calls)") {
            try await world.advance(by: 10)
            return own.now.calls.contains("end")
        }
        #expect(own.now.calls == ["file", "end"] && own.now.created == [])
        #expect(recorder.now.created == [task.taskIdentifier])
        #expect(!recorder.now.calls.contains("file"))
        #expect(progress.fractionCompleted == 1)
        #expect(task.currentRequest?.url == url)
        #expect(session.sessionDescription == "films")

        let other = session.downloadTask(with: url)
        other.progress.cancel()
        try await recorder.heard("end \(URLError.cancelled.rawValue)")
        await withCheckedContinuation { continuation in
            session.flush { continuation.resume() }
        }
        session.finishTasksAndInvalidate()
        try await recorder.heard("invalid")
    }

    /// The answer to an upload is its result, whatever the status.
    @Test func anUploaderShowsItsProgressAndTheServersAnswer() async throws {
        let scratch = try Scratch("uploader")
        let file = URL(fileURLWithPath: try scratch.write(Data(count: 200_000), to: "film"))
        let world = try await SimulatedWorld(startingAt: start)
        world.network.acceptUploads(url, faults: [.status(409)])
        let recorder = Recorder()
        let session = world.urlSession(recorder)
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let refused = session.uploadTask(with: request, fromFile: file)
        refused.resume()
        #expect(await session.allTasks == [refused])
        try await world.advance(by: 10)
        try await recorder.heard("end")
        #expect((refused.response as? HTTPURLResponse)?.statusCode == 409)
        #expect(refused.error == nil)

        let task = session.uploadTask(with: request, fromFile: file)
        let progress = task.progress
        task.resume()
        #expect(await session.allTasks == [task])
        try await eventually("the second upload") {
            try await world.advance(by: 10)
            return task.state == .completed
        }
        #expect((task.response as? HTTPURLResponse)?.statusCode == 201)
        #expect(recorder.now.sent.last?.total == 200_000)
        #expect(progress.completedUnitCount == 200_000 && progress.totalUnitCount == 200_000)
        session.invalidateAndCancel()
        try await recorder.heard("invalid")
    }
}
