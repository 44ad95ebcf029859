import Foundation
import Longhaul
import LonghaulTestSupport
import Testing

@Suite(.timeLimit(.minutes(60))) struct EventTests {
    /// The first `count` events of the session, counting those alone of that kind.
    private func events(
        _ count: Int, _ kind: SessionEvent.Kind? = nil, of session: BackgroundSession
    ) async throws -> [SessionEvent] {
        try await within(Patience.usual, "\(count) events") {
            var seen: [SessionEvent] = []
            for try await event in session.events {
                seen.append(event)
                if seen.count(where: { $0.kind == kind ?? $0.kind }) == count { break }
            }
            return seen
        }
    }

    @Test func eventsComeLiveAndAgainUntilTheyAreAcknowledged() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            let first = try await home.withSession { session in
                // The first may end the session before the second begins.
                async let live = events(2, .transferCompleted, of: session)
                for name in ["a", "b"] {
                    _ = try await session.download(
                        server.request("\(name)?size=1K"), to: home.file(name))
                }
                return try await live
            }
            try await home.withSession { session in
                let again = try await events(first.count, of: session)
                #expect(again.map(\.sequence) == first.map(\.sequence))
                #expect(
                    again.first?.file?.deletingLastPathComponent()
                        == home.file("a")
                        .deletingLastPathComponent())
                try await session.acknowledge(again[0])
                let rest = try await events(1, of: session)
                #expect(rest[0].sequence == again[1].sequence)
                try await session.acknowledge(through: .max)
                let left = try await session.tasks
                #expect(left.isEmpty, "\(left.map(\.id)); \(first.map(\.kind))")
            }
        }
    }

    /// Others' changes are no reason to return with nothing.
    @Test func aFollowerWaitsForItsOwn() throws {
        let home = try SessionHome()
        let queue = try TransferQueue(directory: home.store)
        func add(_ session: String) throws {
            var request = TransferRequest(
                url: "http://127.0.0.1:1/a", destination: .file(home.file(session).path))
            request.session = session
            _ = try queue.enqueue([request])
        }
        try add("mine")
        let follower = try queue.followEvents(session: "mine")
        try add("others")
        let start = ContinuousClock.now
        #expect(try follower.next(timeout: 0.3).isEmpty)
        #expect(ContinuousClock.now - start >= .seconds(0.3))
        _ = try queue.cancel(.all)
        try queue.settle()
        #expect(try follower.next(timeout: 60).first?.type == "transferCancelled")
        follower.cancel()
        while try !follower.next(timeout: 60).isEmpty {}
    }

    @Test func aSessionFindsItsTasksAndEventsAfterARestart() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            let ids = try await home.withSession("com.example.test", .external) { session in
                var ids: [TransferID] = []
                for index in 0..<10 {
                    let request = server.request("\(index)?size=1K")
                    ids.append(
                        try await session.download(request, to: home.file("\(index)")).id)
                }
                return ids
            }
            try await home.withSession { session in
                #expect(try await session.tasks.map(\.id) == ids)
                for task in try await session.tasks {
                    _ = try await within { try await task.value }
                }
                // Ended, and nobody has acknowledged it.
                #expect(try await session.tasks.map(\.id) == ids)
                let ends = try await events(10, of: session)
                #expect(Set(ends.compactMap(\.transfer?.id)) == Set(ids))
                #expect(ends.map(\.sequence) == ends.map(\.sequence).sorted())
            }
        }
    }

    @Test func twoSessionsOfOneProcessKeepTheirEventsApart() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            try await home.withSession("one") { one in
                try await home.withSession("two") { two in
                    let first = try await one.download(
                        server.request("a?size=1K"), to: home.file("a"))
                    let second = try await two.download(
                        server.request("b?size=1K"), to: home.file("b"))
                    #expect(try await events(1, of: one)[0].transfer?.id == first.id)
                    #expect(try await events(1, of: two)[0].transfer?.id == second.id)
                    #expect(try await two.task(first.id) == nil)
                }
                // The engine stays for who is left.
                let third = try await one.download(
                    server.request("c?size=1K"), to: home.file("c"))
                _ = try await within { try await third.value }
            }
        }
    }

    @Test func cancellingEndsTheWaitAndNothingElse() async throws {
        let home = try SessionHome()
        try await home.withSession("one", .external) { session in
            let task = try await session.download(
                TransferRequest(url: URL(string: "http://127.0.0.1:1/a")!), to: home.file("a"))
            let waits = [
                Task { _ = try await task.value },
                Task { for try await _ in task.progress {} },
                Task { for try await _ in session.events {} },
            ]
            try await Task.sleep(for: .milliseconds(50))
            for wait in waits { wait.cancel() }
            for wait in waits {
                await #expect(throws: CancellationError.self) { try await wait.value }
            }
            #expect(try await task.transfer.state == .waiting)
        }
    }

    @Test func whatWaitsIsToldOfTheInvalidation() async throws {
        let home = try SessionHome()
        let session = try await home.session("one", .external)
        let task = try await session.download(
            TransferRequest(url: URL(string: "http://127.0.0.1:1/a")!), to: home.file("a"))
        let wait = Task { _ = try await task.value }
        try await Task.sleep(for: .milliseconds(50))
        try await session.invalidate(cancelling: true)
        let error = await #expect(throws: LonghaulError.self) { try await wait.value }
        #expect(error?.code == .sessionInvalidated || error?.code == .cancelled)
        await #expect(throws: LonghaulError.self) { try await session.tasks }
    }
}
