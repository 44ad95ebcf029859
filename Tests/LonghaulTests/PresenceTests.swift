import Foundation
import LonghaulCore
import LonghaulStore
import LonghaulTestSupport
import Synchronization
import Testing

@testable import Longhaul

/// What a process has of a store, when threads are short and when the store is not what it was.
@Suite(.timeLimit(.minutes(60))) struct PresenceTests {
    // MARK: - No thread

    @Test func aDeskWithoutAThreadIsNone() throws {
        let home = try SessionHome()
        let error = #expect(throws: LonghaulError.self) {
            _ = try StoreExecutor.open(home.store) { _, _ in false }
        }
        #expect(error?.code == .io)
        #expect(error?.message.contains("no thread") == true)
    }

    @Test func anEngineWithoutAThreadIsOverAtOnce() async throws {
        let home = try SessionHome()
        let stay = EngineThread(home.store)
        stay.start { _, _ in false }
        #expect(stay.hasEnded)
        #expect(stay.failure?.code == .io)
        try await within { await stay.leave() }
        let queue = try TransferQueue(directory: home.store)
        #expect(!queue.isEngineRunning)
    }

    /// A thread that takes its time is not blocked.
    @Test func anotherEngineOrAFailureBlocksAnEngine() async throws {
        let home = try SessionHome()
        let late = EngineThread(home.store)
        late.start { _, _ in true }
        #expect(!late.isBlocked)
        let failed = EngineThread(home.store)
        failed.start { _, _ in false }
        #expect(failed.isBlocked)
        try await home.withSession("one", .inProcess) { _ in
            let second = EngineThread(home.store)
            #expect(second.start())
            try await eventually { second.isBlocked }
            try await within { await second.leave() }
        }
    }

    // MARK: - Another session

    /// The process has another session of the same store, and that goes on.
    @Test func anInvalidatedSessionIsOverBesideAnother() async throws {
        let home = try SessionHome()
        let request = TransferRequest(url: try #require(URL(string: "http://127.0.0.1:9/a")))
        try await home.withSession("com.example.other", .external) { other in
            let session = try await home.session("com.example.test", .external)
            let task = try await session.download(request, to: home.file("a"))
            let waits: [Task<Void, any Error>] = [
                Task { _ = try await task.value },
                Task { for try await _ in task.progress {} },
                Task { for try await _ in session.events {} },
                Task { _ = try await session.data(for: request) },
            ]
            let queue = try TransferQueue(directory: home.store)
            try await eventually { try queue.transfer(TransferID(rawValue: 2)) != nil }
            try await session.invalidate()
            for wait in waits {
                #expect(await refusal { try await within { try await wait.value } })
            }
            let calls: [@Sendable () async throws -> Void] = [
                { _ = try await session.tasks }, { _ = try await session.uploadTasks },
                { _ = try await session.task(task.id) }, { _ = try await task.value },
                { _ = try await session.uploadTask(task.id) }, { _ = try await task.transfer },
                { _ = try await task.explanation }, { for try await _ in task.progress {} },
                { try await task.pause() }, { try await task.resume() },
                { try await task.cancel() }, { try await task.retry() },
                { try await task.replaceURL(URL(filePath: "/")) },
                { _ = try await session.download(request, to: home.file("b")) },
                { try await session.acknowledge(through: .max) },
            ]
            for (number, call) in calls.enumerated() {
                #expect(await refusal { try await within { try await call() } }, "\(number)")
            }
            try await session.invalidate()
            #expect(try queue.transfer(task.id)?.state == .waiting)
            #expect(try await other.tasks.isEmpty)
        }
    }

    private func refusal(_ call: () async throws -> Void) async -> Bool {
        do {
            try await call()
            return false
        } catch {
            return (error as? LonghaulError)?.code == .sessionInvalidated
        }
    }

    // MARK: - Another file

    /// Waits that began before go on after it, as does everything else.
    @Test func aRepairIsFollowed() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession("com.example.test", .external) { session in
                let task = try await session.download(
                    server.request("a?size=1K"), to: home.file("a"))
                let value = Task { try await task.value }
                let states = Task {
                    var states: [TransferState] = []
                    for try await progress in task.progress { states.append(progress.state) }
                    return states
                }
                defer {
                    value.cancel()
                    states.cancel()
                }
                try StoreCopy.make(
                    directory: home.store, now: Timestamp(milliseconds: 1_000)
                ) { true }
                let store = try #require(
                    FileHandle(forWritingAtPath: home.store + "/queue.sqlite"))
                try store.write(contentsOf: Data(repeating: 0, count: 16))
                try store.close()
                var findings: [DoctorFinding] = []
                TransferQueue.doctor(directory: home.store, repair: true) { findings.append($0) }
                let repair = try #require(findings.first { $0.check == "repair" })
                #expect(repair.detail.contains("moved to"), "\(findings)")

                let second = try await session.download(
                    server.request("b?size=1K"), to: home.file("b"))
                let engine = try CLIProcess(
                    BuiltBinary.named("LonghaulTestSession"), [home.store, "stay"])
                #expect(try await within { try await value.value }.metrics.bytes == 1024)
                #expect(try await within { try await states.value }.last == .completed)
                _ = try await within { try await second.value }
                engine.send(SIGKILL)
                try await engine.wait()
            }
        }
    }

    /// Nobody is asked again because of a moment in which the store could not be read.
    @Test func aNeedIsAskedOnce() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            var configuration = home.configuration()
            configuration.host = HostProgram(
                identifier: "com.example.host", command: ["/bin/false"])
            let first = try await BackgroundSession(
                identifier: "com.example.test", configuration: configuration)
            let stale = "stale?size=4M&etag=v1&cut=2M&cuts=1&status=403&statusafter=1"
            let task = try await first.download(server.request(stale), to: home.file("a"))
            try await eventually("it waits for a word") {
                try await task.transfer.waitingFor.contains { $0.reason == .input }
            }
            try await first.invalidate()
        }
        let asked = Atomic(0)
        try await home.withSession("com.example.test", .external) { session in
            session.onInputNeeded { _ in
                asked.add(1, ordering: .relaxed)
                throw CancellationError()
            }
            try await eventually("it is asked") { asked.load(ordering: .relaxed) > 0 }
            let (store, aside) = (home.store + "/queue.sqlite", home.store + "/queue.sqlite-aside")
            for _ in 1...10 {
                for (from, to) in [(store, aside), (aside, store)] {
                    #expect(rename(from, to) == 0)
                    // As after any change; then what is asked of the executor meanwhile has its
                    // turn.
                    try await session.executor.change { _ in }
                    for _ in 1...5 {
                        let tasks = try? await session.tasks
                        #expect(tasks?.count == (from == store ? nil : 1))
                    }
                }
            }
            #expect(asked.load(ordering: .relaxed) == 1)
        }
    }
}
