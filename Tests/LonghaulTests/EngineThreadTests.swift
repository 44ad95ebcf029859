import Foundation
import Longhaul
import LonghaulTestSupport
import Testing

/// Which process is the engine, and that nothing is left of it.
@Suite(.timeLimit(.minutes(60))) struct EngineThreadTests {
    @Test func externalNeverMovesAByte() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession("one", .external) { session in
                let task = try await session.download(
                    server.request("a?size=1K"), to: home.file("a"))
                try await Task.sleep(for: .milliseconds(300))
                #expect(try await task.transfer.state == .waiting)
                #expect(
                    try await task.explanation.waitingFor.map(\.reason).contains(.engine))
                #expect(server.log.count == 0)
                // Somebody else comes.
                try await home.withSession("two") { _ in
                    _ = try await within { try await task.value }
                }
            }
        }
    }

    @Test func inProcessInsists() async throws {
        let home = try SessionHome()
        let other = try CLIProcess(
            BuiltBinary.named("LonghaulTestSession"), [home.store, "stay"])
        try await other.waitForOutput("open")
        let queue = try TransferQueue(directory: home.store)
        try await eventually { queue.isEngineRunning }
        let error = await #expect(throws: LonghaulError.self) {
            _ = try await home.session("one", .inProcess)
        }
        #expect(error?.code == .conflict)
        other.send(SIGKILL)
        try await other.wait()
        try await home.withSession("one", .inProcess) { _ in
            let pid = try queue.status().engine?.pid
            #expect(pid == getpid())
        }
        #expect(!queue.isEngineRunning)
    }

    /// What a user allows holds for whoever is the engine; a file that says nothing stops nobody.
    @Test(arguments: [true, false]) func keepsToTheConfigurationFile(isWhole: Bool) async throws {
        let home = try SessionHome()
        let text = #"{"limits": {"rate": "200K"}"# + (isWhole ? "}" : "")
        var environment = ProcessInfo.processInfo.environment
        environment["LONGHAUL_CONFIG"] = try home.scratch.write(
            Data(text.utf8), to: "config.json")
        let inherited = environment
        try await LoopbackServer.run { server in
            let start = ContinuousClock.now
            let program = try CLIProcess(
                BuiltBinary.named("LonghaulTestSession"),
                [home.store, "data", server.url("a?size=500K")], environment: inherited)
            try await program.waitForOutput("data 512000 200")
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            if isWhole { #expect(seconds > 2, "500 KiB at 200 KiB/s took \(seconds) s") }
            try await program.wait()
        }
    }

    @Test func takesOverFromAKilledEngineWithinASecond() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            let other = try CLIProcess(
                BuiltBinary.named("LonghaulTestSession"), [home.store, "stay"])
            try await other.waitForOutput("open")
            let queue = try TransferQueue(directory: home.store)
            try await eventually { queue.isEngineRunning }
            try await home.withSession { session in
                let name = "a?size=8M&rate=1M&etag=v1"
                let task = try await session.download(
                    server.request(name), to: home.file("a"))
                try await server.log.waitForBytes(2 << 20)
                #expect(try queue.status().engine?.pid == other.pid)
                other.send(SIGKILL)
                try await other.wait()
                // A second, and one for a busy machine.
                try await eventually(within: .seconds(2), "the engine takes over") {
                    try queue.status().engine?.pid == getpid()
                }
                server.goOn()
                let file = try await within { try await task.value }
                #expect(try [UInt8](Data(contentsOf: file.url)) == server.content(name))
                #expect(file.metrics.bytesFetched < 9 << 20)
            }
        }
    }

    /// The engine goes from process to process, always by a kill, while files come.
    @Test func theEngineMovesFromProcessToProcess() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            func stand() throws -> CLIProcess {
                try CLIProcess(BuiltBinary.named("LonghaulTestSession"), [home.store, "stay"])
            }
            let queue = try TransferQueue(directory: home.store)
            try await home.withSession("com.example.test", .external) { session in
                let names = (0..<12).map { "\($0)?size=3M&rate=32K&etag=v1&seed=\($0)" }
                let tasks = try await session.download(
                    names.enumerated().map { (server.request($1), home.file("\($0)")) })
                var standing = [try stand(), try stand(), try stand()]
                for _ in 1...6 {
                    var index: Int?
                    try await eventually("an engine") {
                        let pid = try queue.status().engine?.pid
                        index = standing.firstIndex { $0.pid == pid }
                        return index != nil
                    }
                    let before = server.log.bodyBytesSent()
                    try await eventually("bytes") {
                        server.log.bodyBytesSent() > before + 256 << 10
                    }
                    let killed = standing.remove(at: try #require(index))
                    killed.send(SIGKILL)
                    try await killed.wait()
                    standing.append(try stand())
                }
                server.goOn()
                for (index, task) in tasks.enumerated() {
                    let file = try await within { try await task.value }
                    #expect(
                        try [UInt8](Data(contentsOf: file.url)) == server.content(names[index]))
                }
                let ends = try queue.events(session: session.identifier, limit: 100)
                    .filter { $0.type == "transferCompleted" }
                #expect(ends.count == names.count)
                #expect(Set(ends.compactMap(\.transferID)) == Set(tasks.map(\.id)))
                for process in standing { process.send(SIGKILL) }
            }
        }
    }

    /// A program that asks for a file and ends: what came is checkpointed, nothing crashes, and the
    /// next one goes on.
    @Test func anOrderlyExitHandsOver() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            let name = "a?size=8M&rate=1M&etag=v1"
            let program = try CLIProcess(
                BuiltBinary.named("LonghaulTestSession"),
                [home.store, "exit", server.url(name), home.file("a").path])
            let result = try await program.wait()
            #expect(result.status == 0, "\(result.errors)")
            let queue = try TransferQueue(directory: home.store)
            #expect(try queue.transfer(TransferID(rawValue: 1))?.state == .waiting)
            // The holder said good-bye.
            #expect(try queue.status().engine == nil)
            try await home.withSession { session in
                let task = try #require(try await session.tasks.first)
                let file = try await within { try await task.value }
                #expect(try [UInt8](Data(contentsOf: file.url)) == server.content(name))
                #expect(file.metrics.bytesFetched == 8 << 20)
            }
        }
    }

    @Test func aThousandTasks() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let requests = (0..<1000).map {
                    (request: server.request("\($0)?size=1K&seed=\($0)"), file: home.file("\($0)"))
                }
                let tasks = try await session.download(requests)
                try await within(.seconds(90), "a thousand files") {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for task in tasks { group.addTask { _ = try await task.value } }
                        try await group.waitForAll()
                    }
                }
                for index in [0, 500, 999] {
                    #expect(
                        try [UInt8](Data(contentsOf: home.file("\(index)")))
                            == server.content("\(index)?size=1K&seed=\(index)"))
                }
                #expect(try await session.tasks.count == 1000)
                try await session.acknowledge(through: .max)
                #expect(try await session.tasks.isEmpty)
            }
        }
    }

    /// In a program of its own: the counts are a process's.
    @Test func fiftySessionsLeaveNothing() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            let program = try CLIProcess(
                BuiltBinary.named("LonghaulTestSession"),
                [home.store, "leave", server.url("a?size=1K")])
            let result = try await program.wait(within: .seconds(90))
            let lines = result.output.split(separator: "\n").map { $0.split(separator: " ") }
            try #require(lines.count == 3, "\(result.output)\(result.errors)")
            // Sessions, their threads that are left, descriptors. The last five were let go of
            // without being invalidated.
            #expect(lines.map { $0[0] } == ["5", "55", "60"])
            #expect(lines.map { $0[1] } == ["0", "0", "0"])
            // Swift's own timers may come into being late; fifty leaks would be fifty.
            let descriptors = lines.compactMap { Int($0[2]) }
            #expect(descriptors.count == 3 && descriptors[1] - descriptors[0] < 5)
            #expect(descriptors[2] - descriptors[1] < 5)
        }
    }
}
