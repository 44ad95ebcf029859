import Foundation
import LonghaulTestSupport
import Synchronization
import Testing

@testable import Longhaul

@Suite(.timeLimit(.minutes(60))) struct ForegroundTests {
    @Test func dataArrivesAndLeavesNothingBehind() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let name = "a?size=100K&etag=v1"
                let (data, response) = try await within {
                    try await session.data(for: server.request(name))
                }
                #expect(try [UInt8](data) == server.content(name))
                #expect(response.statusCode == 200)
                #expect(response.headers["Content-Length"] == "102400")
                #expect(try await session.tasks.isEmpty)
                #expect(try home.scratch.names(in: "state/foreground").isEmpty)
                let queue = try TransferQueue(directory: home.store)
                #expect(try queue.events(session: session.identifier, waitingOnly: true).isEmpty)
            }
        }
    }

    @Test func aFileIsTheCallersToMove() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let name = "a?size=100K"
                let (file, _) = try await within {
                    try await session.download(for: server.request(name))
                }
                try FileManager.default.moveItem(at: file, to: home.file("mine"))
                #expect(
                    try [UInt8](Data(contentsOf: home.file("mine"))) == server.content(name))
                #expect(try await session.tasks.isEmpty)
            }
        }
    }

    /// The call has thrown its error, and no other call asks for the transfer.
    @Test func aFailureIsThrownAndLeavesNothingBehind() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let calls: [@Sendable (TransferRequest) async throws -> Void] = [
                    { _ = try await session.data(for: $0) },
                    { _ = try await session.download(for: $0) },
                ]
                for call in calls {
                    let request = server.request("a?size=1K&status=403")
                    let error = await #expect(throws: LonghaulError.self) {
                        try await within { try await call(request) }
                    }
                    #expect(error?.code == .forbidden)
                }
                #expect(try await session.tasks.isEmpty)
                let queue = try TransferQueue(directory: home.store)
                #expect(try queue.status().counts.values.allSatisfy { $0 == 0 })
                #expect(try queue.events(session: session.identifier, waitingOnly: true).isEmpty)
                #expect(try home.scratch.names(in: "state/foreground").isEmpty)
            }
        }
    }

    /// Cancelled at half: the request that is under way goes on, and nothing is asked for again.
    @Test func cancellationPromotes() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let name = "a?size=6M&stall=3M&etag=v1"
                let foreground = Task { try await session.data(for: server.request(name)) }
                try await server.log.waitForBytes(3 << 20)
                foreground.cancel()
                await #expect(throws: CancellationError.self) { try await foreground.value }
                server.goOn()

                let task = try #require(try await session.tasks.first)
                let file = try await within { try await task.value }
                #expect(try [UInt8](Data(contentsOf: file.url)) == server.content(name))
                #expect(server.log.count == 1)
                #expect(file.metrics.bytesFetched == 6 << 20)
                let event = try await within {
                    for try await event in session.events where event.kind == .transferCompleted {
                        return event
                    }
                    throw CancellationError()
                }
                #expect(event.transfer?.id == task.id)
                #expect(event.file == file.url)
                try await session.acknowledge(event)
                #expect(try await session.tasks.isEmpty)
            }
        }
    }

    /// Its end was there when it was cancelled, and had not been told yet.
    @Test(arguments: [true, false])
    func aFailureThatACancellationMeetsIsToldToo(asData: Bool) async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession("com.example.test", .external) { session in
                let foreground = Task {
                    if asData {
                        _ = try await session.data(for: server.request("a?status=403"))
                    } else {
                        _ = try await session.download(for: server.request("a?status=403"))
                    }
                }
                let queue = try TransferQueue(directory: home.store)
                let id = TransferID(rawValue: 1)
                try await eventually { try queue.transfer(id) != nil }
                let gate = DispatchSemaphore(value: 0)
                let isHeld = Atomic(false)
                let held = Task {
                    try await session.executor.perform { _ in
                        isHeld.store(true, ordering: .relaxed)
                        gate.wait()
                    }
                }
                defer { gate.signal() }
                try await eventually { isHeld.load(ordering: .relaxed) }
                let engine = try CLIProcess(
                    BuiltBinary.named("LonghaulTestSession"), [home.store, "stay"])
                try await eventually { try queue.transfer(id)?.state == .failed }
                foreground.cancel()
                gate.signal()
                let error = await #expect(throws: LonghaulError.self) {
                    try await foreground.value
                }
                #expect(error?.code == .forbidden)
                try await held.value
                #expect(!session.sharedStore.isAwaited(id))
                #expect(try await session.tasks.isEmpty)
                #expect(try queue.events(session: session.identifier, waitingOnly: true).isEmpty)
                engine.send(SIGKILL)
                try await engine.wait()
            }
        }
    }

    /// Of a content without a transfer nobody will ask any more; of all else somebody may.
    @Test func whatAKilledProcessHadReadIsSweptAway() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                let name = "a?size=3M&stall=1M&etag=v1"
                let foreground = Task { try await session.data(for: server.request(name)) }
                try await server.log.waitForBytes(1 << 20)
                foreground.cancel()
                await #expect(throws: CancellationError.self) { try await foreground.value }
                server.goOn()
                let task = try #require(try await session.tasks.first)
                _ = try await within { try await task.value }
                _ = try await session.download(for: server.request("b?size=1K"))
            }
            let asked = try home.scratch.names(in: "state/foreground")
            #expect(asked.count == 2 && asked.count { $0.hasPrefix("data-") } == 1)
            let others = ["data-1a2b.longhaul-bad", "mine"]
            for name in others + ["data-1a2b"] {
                _ = try home.scratch.write(Data(), to: "state/foreground/\(name)")
            }
            try await home.withSession { _ in
                try await eventually {
                    try Set(home.scratch.names(in: "state/foreground")) == Set(asked + others)
                }
            }
        }
    }

    /// Killed at half: the next engine goes on from the bytes that are there.
    @Test func deathPromotes() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            // The first answer stops at half until its connection is gone.
            let name = "a?size=8M&stall=4M&stalls=1&etag=v1"
            let program = try CLIProcess(
                BuiltBinary.named("LonghaulTestSession"),
                [home.store, "data", server.url(name)])
            let queue = try TransferQueue(directory: home.store)
            try await eventually("half of it") {
                try queue.transfer(TransferID(rawValue: 1))?.bytesDone == 4 << 20
            }
            program.send(SIGKILL)
            try await program.wait()
            try await home.withSession { session in
                let task = try #require(try await session.tasks.first)
                let file = try await within { try await task.value }
                #expect(try [UInt8](Data(contentsOf: file.url)) == server.content(name))
                #expect(file.response.headers["ETag"] == "\"v1\"")
                #expect(server.log.all.map { $0["range"] } == [nil, "bytes=4194304-"])
                #expect(file.metrics.bytesFetched == 8 << 20)
            }
        }
    }

    @Test func smallBodiesAreCheap() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession { session in
                _ = try await session.data(for: server.request("first?size=1K"))
                let start = ContinuousClock.now
                for index in 0..<20 {
                    _ = try await session.data(for: server.request("\(index)?size=1K"))
                }
                let each = (ContinuousClock.now - start) / 20
                // A few syncs of the disk, however busy the machine; a missed notice would cost
                // more.
                #expect(each < .seconds(3), "\(each) each")
            }
        }
    }
}
