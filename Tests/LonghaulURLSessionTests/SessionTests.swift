import Foundation
import Longhaul
import LonghaulTestSupport
import LonghaulTesting
import LonghaulURLSession
import Testing

/// URLSession's names do what they do on Apple's systems.
@Suite(.timeLimit(.minutes(60))) struct SessionTests {
    private let start = Date(timeIntervalSince1970: 1_790_000_000)
    private let url = URL(string: "https://example.com/film.bin")!
    private let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })

    @Test func aDownloadIsHandedOverOnceAndItsFileGoes() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content)
        let recorder = Recorder()
        let session = world.urlSession(recorder) { $0.httpAdditionalHeaders = ["X-App": "films"] }
        let task = session.downloadTask(with: url)
        task.taskDescription = "a \"film\""
        #expect(task.state == .suspended)
        #expect(await session.allTasks == [task])
        try await world.advance(by: 60)
        #expect(world.requests.isEmpty)

        task.resume()
        #expect(await session.allTasks == [task])
        try await world.advance(by: 60)
        try await recorder.heard("events")
        let told = recorder.now
        #expect(told.calls == ["file", "end", "events"])
        #expect(told.contents == [content])
        #expect(told.descriptions == ["a \"film\""])
        #expect(told.written.reduce(0) { $0 + $1.more } == 300_000)
        #expect(told.written.last?.total == 300_000 && told.written.last?.expected == 300_000)
        #expect(world.requests.first?.headers["X-App"] == "films")
        #expect(task.state == .completed && task.error == nil)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(task.countOfBytesReceived == 300_000)
        #expect(task.countOfBytesExpectedToReceive == 300_000)
        #expect(await session.allTasks.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: try #require(told.locations.first).path))
        session.finishTasksAndInvalidate()
        try await recorder.heard("invalid")
        #expect(await session.allTasks.isEmpty)
    }

    @Test func anUploadIsSentAsTheRequestSays() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        world.network.acceptUploads(url)
        let scratch = try Scratch("uploads")
        let file = URL(fileURLWithPath: try scratch.write(content, to: "film"))
        let recorder = Recorder()
        let session = world.urlSession(recorder)
        var request = URLRequest(url: url)
        session.uploadTask(with: request, fromFile: file).resume()
        try await recorder.heard("end \(URLError.unsupportedURL.rawValue)")

        request.httpMethod = "PUT"
        request.setValue("video/mp4", forHTTPHeaderField: "Content-Type")
        let task = session.uploadTask(with: request, fromFile: file)
        task.resume()
        #expect(await session.allTasks == [task])
        try await world.advance(by: 60)
        try await recorder.heard("events")
        #expect(recorder.now.calls.contains("end"))
        #expect(recorder.now.sent.last?.total == 300_000)
        #expect(task.countOfBytesSent == 300_000 && task.countOfBytesExpectedToSend == 300_000)
        let sent = world.requests.first { $0.method == "PUT" }
        #expect(sent?.body == content)
        #expect(sent?.headers["Content-Type"] == "video/mp4")
        session.invalidateAndCancel()
        try await recorder.heard("invalid")
    }

    /// What happens between two sessions of a name is told to the second one.
    @Test func aSessionMadeAgainGetsWhatHasHappened() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content)
        // Without a delegate for downloads nothing is handed over.
        let first = world.urlSession(nil)
        let task = first.downloadTask(with: url)
        task.taskDescription = "film"
        task.earliestBeginDate = start + 3600
        task.priority = URLSessionTask.highPriority
        task.resume()
        #expect(await first.allTasks.count == 1)
        try await world.advance(by: 3599)
        #expect(world.requests.isEmpty)

        let recorder = Recorder()
        let second = world.urlSession(recorder)
        let found = try #require(await second.allTasks.first)
        #expect(found.taskIdentifier == task.taskIdentifier)
        #expect(found.taskDescription == "film" && found.state == .running)
        #expect(found.earliestBeginDate == start + 3600)
        #expect(found.priority == URLSessionTask.highPriority)
        #expect(found.originalRequest?.url == url)
        found.taskDescription = "renamed"
        #expect(await second.allTasks == [found])
        try await world.advance(by: 60)
        try await recorder.heard("events")
        #expect(recorder.now.calls == ["file", "end", "events"])
        #expect(recorder.now.contents == [content])

        second.finishTasksAndInvalidate()
        try await recorder.heard("invalid")
        let third = Recorder()
        let again = world.urlSession(third)
        #expect(await again.allTasks.isEmpty)
        again.finishTasksAndInvalidate()
        try await third.heard("invalid")
        #expect(third.now.calls == ["invalid"])
        first.invalidateAndCancel()
    }

    @Test func endsWithoutAFileHaveURLErrors() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        world.network.serve(url, content)
        let recorder = Recorder()
        let session = world.urlSession(recorder) { $0.deliversErrorPages = false }
        session.downloadTask(with: url).cancel()
        let cancelled = "end \(URLError.cancelled.rawValue)"
        try await recorder.heard(cancelled)

        let missing = session.downloadTask(with: URL(string: "https://example.com/none")!)
        missing.resume()
        #expect(await session.allTasks.count == 1)
        try await world.advance(by: 60)
        try await recorder.heard("end \(URLError.fileDoesNotExist.rawValue)")
        #expect((missing.response as? HTTPURLResponse)?.statusCode == 404)
        let error = try #require(missing.error as? URLError)
        #expect((error.userInfo[NSUnderlyingErrorKey] as? LonghaulError)?.code == .notFound)

        let paused = session.downloadTask(with: url)
        paused.earliestBeginDate = start + 3600
        paused.resume()
        paused.suspend()
        #expect(await session.allTasks == [paused])
        #expect(paused.state == .suspended)
        try await world.advance(by: 7200)
        #expect(!world.requests.contains { $0.url == url })
        session.invalidateAndCancel()
        // The engine of this world takes the cancel up only while time passes.
        try await eventually("invalid, after \(recorder.now.calls)") {
            try await world.advance(by: 1)
            return recorder.now.calls.contains("invalid")
        }
        #expect(recorder.now.calls.filter { $0 == cancelled }.count == 2)
        #expect(paused.state == .completed)
    }

    /// As in Foundation, a status is no error.
    @Test func thePageOfAnErrorIsTheFile() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        let recorder = Recorder()
        let session = world.urlSession(recorder)
        let missing = session.downloadTask(with: url)
        missing.resume()
        #expect(await session.allTasks == [missing])
        try await world.advance(by: 60)
        try await recorder.heard("events")
        #expect(recorder.now.calls == ["file", "end", "events"])
        #expect((missing.response as? HTTPURLResponse)?.statusCode == 404)
        #expect(missing.error == nil)
        session.finishTasksAndInvalidate()
        try await recorder.heard("invalid")
    }

    /// The program is asked before a task begins that was put off.
    @Test func aDelayedRequestIsReplaced() async throws {
        let world = try await SimulatedWorld(startingAt: start)
        let other = URL(string: "https://example.com/fresh.bin")!
        world.network.serve(other, content)
        var fresh = URLRequest(url: other)
        fresh.setValue("key", forHTTPHeaderField: "X-Key")
        let recorder = Recorder(answering: (.useNewRequest, fresh))
        let session = world.urlSession(recorder) {
            $0.host = HostProgram(identifier: "com.example.test", command: ["/bin/false"])
        }
        let task = session.downloadTask(with: url)
        task.earliestBeginDate = start + 3600
        task.resume()
        #expect(await session.allTasks == [task])
        try await world.advance(by: 3610)
        try await eventually { recorder.now.delayed.count == 1 }
        #expect(recorder.now.delayed.first?.url == url)
        try await eventually {
            try await world.advance(by: 1)
            return recorder.now.calls.contains("end")
        }
        #expect(recorder.now.contents == [content])
        #expect(world.requests.map(\.url) == [other])
        #expect(world.requests.first?.headers["X-Key"] == "key")
        session.invalidateAndCancel()
        try await recorder.heard("invalid")
    }

    @Test func aSessionThatCannotBeOpenedSaysWhy() async throws {
        let recorder = Recorder()
        let settings = BackgroundURLSessionConfiguration.background(withIdentifier: "a\nb")
        let session = BackgroundURLSession(
            configuration: settings, delegate: recorder, delegateQueue: nil)
        try await eventually { recorder.now.calls.last?.hasPrefix("invalid ") == true }
        #expect(await session.allTasks.isEmpty)
    }

    /// The sample is killed at half of its file; the next process gets the whole.
    @Test func anotherProcessGetsTheFile() async throws {
        let scratch = try Scratch("photofetch")
        let program = try BuiltBinary.named("photofetch")
        let environment = ["PATH": "/usr/bin:/bin", "LONGHAUL_HOME": scratch("state")]
        try await LoopbackServer.run { server in
            let name = "a.bin?size=300K&etag=v1&stall=100K"
            let first = try CLIProcess(
                program, [scratch("photos"), server.url(name)], environment: environment)
            try await eventually { server.log.requests(for: "a.bin").count == 1 }
            first.send(SIGKILL)
            _ = try await first.wait()
            #expect(!scratch.exists("photos/a.bin"))
            server.goOn()
            let second = try CLIProcess(program, [scratch("photos")], environment: environment)
            let result = try await second.wait()
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.output == "waiting for 1\narrived a.bin\n")
            let file = try Data(contentsOf: URL(fileURLWithPath: scratch("photos/a.bin")))
            #expect(try [UInt8](file) == server.expected(name).bytes)
            let third = try await CLIProcess(
                program, [scratch("photos")], environment: environment
            ).wait()
            #expect(third.output == "waiting for 0\n")
        }
    }
}
