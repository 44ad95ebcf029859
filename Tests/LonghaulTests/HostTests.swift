import Foundation
import Longhaul
import LonghaulTestSupport
import Testing

@Suite(.timeLimit(.minutes(60))) struct SessionHostTests {
    private func configuration(_ home: SessionHome) -> BackgroundSession.Configuration {
        var configuration = home.configuration()
        configuration.host = HostProgram(identifier: "com.example.photos", command: ["/bin/false"])
        return configuration
    }

    @Test func theSessionsHostIsMadeKnown() async throws {
        let home = try SessionHome()
        var configuration = home.configuration(.external)
        configuration.host = HostProgram(
            identifier: "com.example.photos", command: ["/bin/photosync", "--background"])
        configuration.sessionSendsLaunchEvents = false
        let session = try await BackgroundSession(
            identifier: "com.example.test", configuration: configuration)
        let queue = try TransferQueue(directory: home.store)
        let known = try #require(try queue.session("com.example.test"))
        #expect(known.settings.host == "com.example.photos")
        #expect(!known.settings.launchEvents)
        try await session.invalidate()

        configuration.host?.identifier = "com.example.other"
        #expect(await refusal(of: configuration) == .conflict)
        configuration.host = HostProgram(identifier: "com.example.photos", command: ["photosync"])
        #expect(await refusal(of: configuration) == .invalidRequest)
        configuration.host = HostProgram(identifier: "a/b", command: ["/bin/photosync"])
        #expect(await refusal(of: configuration) != nil)
    }

    /// A program that says nothing of notices leaves the setting to its user.
    @Test func aHostAsksForNotices() async throws {
        let home = try SessionHome()
        let queue = try TransferQueue(directory: home.store)
        var configuration = home.configuration(.external)
        let hosts: [(HostProgram, Bool)] = [
            (HostProgram(identifier: "h", command: ["/bin/true"]), false),
            (HostProgram(identifier: "h", command: ["/bin/true"], notifies: true), true),
            (HostProgram(identifier: "h", command: ["/bin/true"]), true),
            (HostProgram(identifier: "h", command: ["/bin/true"], notifies: false), false),
        ]
        for (host, notifies) in hosts {
            configuration.host = host
            let session = try await BackgroundSession(
                identifier: "com.example.test", configuration: configuration)
            try await session.invalidate()
            #expect(try queue.host("h")?.settings.notifies == notifies)
        }
    }

    /// Two copies of a program would take turns at being started: it is told.
    @Test func anotherCommandOfTheHostIsTold() async throws {
        let home = try SessionHome()
        let queue = try TransferQueue(directory: home.store)
        var configuration = home.configuration(.external)
        func open(_ command: String...) async throws -> [EventRecord] {
            configuration.host = HostProgram(identifier: "com.example.photos", command: command)
            let session = try await BackgroundSession(
                identifier: "com.example.test", configuration: configuration)
            try await session.invalidate()
            return try queue.events(session: "com.example.test").filter {
                $0.type == SessionEvent.Kind.hostChanged.rawValue
            }
        }
        #expect(try await open("/bin/false").isEmpty)
        #expect(try await open("/bin/false").isEmpty)
        let told = try await open("/bin/true", "--background")
        #expect(told.count == 1)
        #expect(
            told.first?.detail
                == #"{"host":"com.example.photos","from":["/bin/false"],"#
                + #""to":["/bin/true","--background"]}"#)
        #expect(
            try queue.host("com.example.photos")?.settings.argv == ["/bin/true", "--background"])
        #expect(try await open("/bin/true", "--background").count == 1)
    }

    private func refusal(
        of configuration: BackgroundSession.Configuration
    ) async -> LonghaulError.Code? {
        do {
            _ = try await BackgroundSession(
                identifier: "com.example.test", configuration: configuration)
            return nil
        } catch {
            return error.code
        }
    }

    /// The link expires at half; the program gives another one, and nothing is fetched again.
    @Test func anExpiredLinkIsReplaced() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            let session = try await BackgroundSession(
                identifier: "com.example.test", configuration: configuration(home))
            let fresh = server.request("fresh?size=4M&etag=v1")
            let asked = AskedNeeds()
            session.onInputNeeded { need in
                await asked.note(need)
                return .use(fresh)
            }
            let stale = "stale?size=4M&etag=v1&cut=2M&cuts=1&status=403&statusafter=1"
            var request = server.request(stale)
            request.checksum = .sha256(try server.expected("fresh?size=4M").sha256)
            let task = try await session.download(request, to: home.file("a"))
            let file = try await within { try await task.value }
            #expect(file.metrics.bytesFetched < 5 << 20)
            let needs = await asked.needs
            #expect(needs.map(\.reason) == [.expired])
            #expect(needs.first?.transfer.id == task.id)
            #expect(server.log.requests(for: "fresh").count == 1)
            try await session.invalidate()
        }
    }

    private actor AskedNeeds {
        private(set) var needs: [InputNeed] = []
        func note(_ need: InputNeed) { needs.append(need) }
    }

    /// Somebody waits, and nobody is there to give another link: the error is told at once.
    @Test func aForegroundRequestDoesNotWaitForAWordThatNobodyGives() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            let session = try await BackgroundSession(
                identifier: "com.example.test", configuration: configuration(home))
            let request = server.request("a?status=403")
            let error = await #expect(throws: LonghaulError.self) {
                try await within { _ = try await session.data(for: request) }
            }
            #expect(error?.code == .forbidden)
            let tasks = try await session.tasks
            #expect(tasks.isEmpty)
            try await session.invalidate()
        }
    }

    @Test func aDelayedRequestIsAskedAbout() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            var configuration = configuration(home)
            configuration.asksBeforeDelayedRequests = true
            let session = try await BackgroundSession(
                identifier: "com.example.test", configuration: configuration)
            session.onInputNeeded { need in
                need.reason == .delayedRequest ? .cancel : .continue
            }
            var request = server.request("a?size=1K")
            request.earliestBeginDate = .now + 0.5
            let task = try await session.download(request, to: home.file("a"))
            let error = await #expect(throws: LonghaulError.self) {
                _ = try await within { try await task.value }
            }
            #expect(error?.code == .cancelled)
            #expect(server.log.count == 0)
            try await session.invalidate()
        }
    }
}

/// The sample: asks for photos, is gone, is started when they are there, and moves them.
@Suite(.timeLimit(.minutes(60))) struct PhotoSyncTests {
    @Test func photosComeWhileItDoesNotRun() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let daemon = try home.start("daemon")
            let library = try home.scratch.directory("library")
            let names = (1...5).map { "\($0).jpg" }
            let urls = names.map { server.url("\($0)?size=200K&stall=100K") }
            let add = try await CLIProcess(
                BuiltBinary.named("photosync"), ["add", library] + urls,
                environment: home.environment
            ).wait()
            #expect(add.status == 0, "\(add.errors)")
            #expect(try home.scratch.names(in: "library").contains("photos") == false)
            server.goOn()
            try await eventually("\(daemon.errors)") {
                (try? home.scratch.names(in: "library/photos")) == names
            }
            for name in names {
                #expect(home.scratch.size(of: "library/photos/\(name)") == 200 << 10)
            }
            try await eventually {
                try await home.run("events", "--unacknowledged").output.isEmpty
            }
            daemon.send(SIGTERM)
            try await daemon.wait()
        }
    }
}
