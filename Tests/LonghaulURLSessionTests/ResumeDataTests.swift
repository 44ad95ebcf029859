import Foundation
import Longhaul
import LonghaulTestSupport
import LonghaulTesting
import LonghaulURLSession
import Testing

/// A download manager with resume data.
@Suite(.timeLimit(.minutes(60))) struct ResumeDataTests {
    private let start = Date(timeIntervalSince1970: 1_790_000_000)
    private let url = URL(string: "https://example.com/film.bin")!
    private let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    private let cancelled = "end \(URLError.cancelled.rawValue)"
    private let unavailable = "end \(URLError.resourceUnavailable.rawValue)"

    /// Downloads a part, and cancels.
    private func cancel(
        _ session: URLSession, in world: SimulatedWorld
    ) async throws -> (URLSessionDownloadTask, Data) {
        world.network.serve(url, content, entityTag: "v1")
        world.network.bytesPerSecond = 100_000
        let task = session.downloadTask(with: url)
        task.resume()
        #expect(await session.allTasks == [task])
        try await world.advance(by: 20)
        return (task, try #require(await task.cancelByProducingResumeData()))
    }

    @Test func aCancelledDownloadIsResumedByAnotherProcess() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        let first = Recorder()
        let session = world.urlSession(first) { $0.httpMaximumConnectionsPerHost = 1 }
        let (task, data) = try await cancel(session, in: world)
        try await first.heard(cancelled)
        let error = try #require(task.error as? URLError)
        #expect(error.downloadTaskResumeData == data && error.uploadTaskResumeData == nil)
        #expect(await task.cancelByProducingResumeData() == nil)
        try await world.advance(by: 60)
        session.finishTasksAndInvalidate()
        try await first.heard("invalid")

        let second = Recorder()
        let other = world.urlSession(second)
        let resumed = other.downloadTask(withResumeData: data)
        #expect(resumed.originalRequest?.url == url)
        resumed.resume()
        #expect(await other.allTasks == [resumed])
        try await world.advance(by: 60)
        try await second.heard("events")
        #expect(second.now.calls == ["file", "end", "events"])
        #expect(second.now.contents == [content])
        let offset = try #require(second.now.resumed.first)
        #expect(offset.at > 1_000_000 && offset.of == 3_000_000)
        #expect(second.now.written.first.map { $0.total > offset.at } == true)
        #expect(world.requests.map { $0.headers["Range"] } == [nil, "bytes=\(offset.at)-"])

        // The data are used up.
        let again = other.downloadTask(withResumeData: data)
        again.resume()
        try await second.heard(unavailable)
        other.invalidateAndCancel()
        try await second.heard("invalid")
    }

    @Test func dataOfNoTransferOfTheStoreAreRefused() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        let session = world.urlSession(nil) { $0.httpMaximumConnectionsPerHost = 1 }
        let (task, data) = try await cancel(session, in: world)
        let elsewhere = try await SimulatedWorld(startingAt: start)
        let recorder = Recorder()
        let other = elsewhere.urlSession(recorder)
        other.downloadTask(withResumeData: data).resume()
        other.downloadTask(withResumeData: Data("damaged".utf8)).resume()
        try await eventually { recorder.now.calls == [unavailable, unavailable] }
        other.invalidateAndCancel()

        // Forgotten: the transfer was removed.
        try await world.advance(by: 60)
        let queue = try TransferQueue(directory: world.configuration.store)
        let ids = try queue.transfers(TransferFilter()).map(\.id)
        _ = try queue.remove(ids)
        let late = session.downloadTask(withResumeData: data)
        late.resume()
        try await eventually { late.state == .completed }
        #expect((late.error as? URLError)?.code == .resourceUnavailable)
        #expect(task.state == .completed)
        session.invalidateAndCancel()
    }

    /// Resumed before the engine has carried the cancel out.
    @Test func aDownloadIsResumedAtOnce() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        let recorder = Recorder()
        let session = world.urlSession(recorder) { $0.httpMaximumConnectionsPerHost = 1 }
        let (_, data) = try await cancel(session, in: world)
        session.downloadTask(withResumeData: data).resume()
        #expect(await session.allTasks.count == 1)
        try await world.advance(by: 60)
        try await recorder.heard("file")
        try await recorder.heard("end")
        #expect(recorder.now.calls.filter { $0 == cancelled }.count == 1)
        #expect(recorder.now.contents == [content])
        session.finishTasksAndInvalidate()
        try await recorder.heard("invalid")
    }

    /// A failed download has resume data, too.
    @Test func aFailedDownloadIsResumed() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(
            url, content, entityTag: "v1", faults: [.cut(after: 2_000_000), .status(404)])
        let recorder = Recorder()
        let session = world.urlSession(recorder) { $0.deliversErrorPages = false }
        let task = session.downloadTask(with: url)
        task.resume()
        #expect(await session.allTasks == [task])
        try await eventually("an end, after \(recorder.now.calls)") {
            try await world.advance(by: 10)
            return recorder.now.calls.contains("end \(URLError.fileDoesNotExist.rawValue)")
        }
        let data = try #require((task.error as? URLError)?.downloadTaskResumeData)
        session.downloadTask(withResumeData: data).resume()
        #expect(await session.allTasks.count == 1)
        try await world.advance(by: 60)
        try await recorder.heard("end")
        #expect(recorder.now.contents == [content])
        #expect(world.requests.last?.headers["Range"] == "bytes=2000000-")
        session.invalidateAndCancel()
    }
}
