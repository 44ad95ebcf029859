import LonghaulCore
import Testing

@testable import LonghaulStore

/// The event log: who is told what, in which order, and what is forgotten when.
@Suite struct EventLogTests {
    private let scratch: ScratchStore
    private let epoch: Epoch

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
    }

    private func complete(_ ids: TransferID..., at now: Timestamp = .start) throws {
        try scratch.turn(epoch) { tx in
            for id in ids {
                guard try tx.transfers.claim(id, now: now) != nil else { continue }
                try tx.transfers.complete(
                    id, finalPath: "/d/\(id)", numbers: TransferTotals(), now: now)
            }
        }
    }

    private func types(_ session: String? = nil, waiting: Bool = false) throws -> [String] {
        try scratch.store.events.list(session: session, isWaiting: waiting, limit: 100).map {
            $0.type.rawValue
        }
    }

    @Test func aSessionIsFinishedWithItsLastTransfer() throws {
        let first = try scratch.add("/d/1", session: "s")
        let second = try scratch.add("/d/2", session: "s")
        try complete(first)
        #expect(try types("s") == ["transferCompleted"])
        try complete(second)
        #expect(try types("s") == ["transferCompleted", "transferCompleted", "sessionFinished"])
        let finished = try #require(try scratch.store.events.list(session: "s", limit: 10).last)
        #expect(finished.transfer == nil)
        #expect(finished.detail == #"{"completed":2,"failed":0,"cancelled":0}"#)
    }

    @Test func severalSessionsOfOneTransaction() throws {
        let ids = try ["a", "b", "default"].map { try scratch.add("/d/\($0)", session: $0) }
        _ = try scratch.add("/d/more", session: "b")
        try complete(ids[0], ids[1], ids[2])
        #expect(try types("a").last == "sessionFinished")
        #expect(try types("b") == ["transferCompleted"])
        // Where unrelated transfers meet, nobody asks.
        #expect(try types("default") == ["transferCompleted"])
    }

    @Test func theDefaultSessionCountsOnceItHasAHost() throws {
        try scratch.store.hosts.add("h", HostSettings(argv: ["/bin/true"]), now: .start)
        let id = try scratch.add("/d/1") { $0.host = "h" }
        try complete(id)
        #expect(try types() == ["transferCompleted", "sessionFinished"])
    }

    @Test func aCancelSaysWhoAsked() throws {
        let cancellers: [Canceller] = [.command, .library, .session, .host]
        for canceller in cancellers {
            let id = try scratch.add("/d/\(canceller)")
            _ = try scratch.store.wants.change(
                .ids([id]), to: .cancel(keepBytes: false), by: canceller)
            try scratch.turn(epoch) { tx in
                try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start)
            }
        }
        let details = try scratch.store.events.list(limit: 10).map(\.detail)
        #expect(details == cancellers.map { "{\"by\":\"\($0.rawValue)\"}" })
    }

    @Test func aRearmThatIsPendingKeepsTheSessionOpen() throws {
        let first = try scratch.add("/d/1", session: "s")
        let second = try scratch.add("/d/2", session: "s")
        try scratch.turn(epoch) { tx in
            try tx.transfers.fail(
                first, error: LonghaulError(.network, "x"), numbers: TransferTotals(), now: .start)
        }
        _ = try scratch.store.wants.change(.ids([first]), to: .retry)
        try complete(second)
        #expect(try types("s") == ["transferFailed", "transferCompleted"])
        try scratch.turn(epoch) { tx in _ = try tx.transfers.rearm(first, now: .start) }
        try complete(first)
        #expect(try types("s").last == "sessionFinished")
    }

    @Test func acknowledging() throws {
        let ids = try (1...3).map { try scratch.add("/d/\($0)", session: "s") }
        let other = try scratch.add("/d/o", session: "o")
        try complete(ids[0], ids[1], ids[2], other)
        let waiting = { try self.scratch.store.events.list(isWaiting: true, limit: 9).map(\.seq) }
        #expect(try waiting() == [1, 2, 3, 4, 5, 6])
        #expect(try scratch.store.events.acknowledge([2], now: .start) == 1)
        #expect(try waiting() == [1, 3, 4, 5, 6])
        #expect(try scratch.store.sessions.find("s")?.acknowledgedThrough == 0)
        // The other session's fourth stays.
        #expect(try scratch.store.events.acknowledge(through: 4, session: "s", now: .start) == 2)
        #expect(try waiting() == [4, 5, 6])
        #expect(try scratch.store.sessions.find("s")?.acknowledgedThrough == 3)
        // Of what comes before its first event, a session has acknowledged nothing.
        #expect(try scratch.store.sessions.find("o")?.acknowledgedThrough == 0)
        #expect(try scratch.store.events.acknowledge(through: 6, now: .start) == 3)
        #expect(try waiting() == [])
        // Still listed.
        #expect(try scratch.store.events.list(limit: 9).count == 6)
        let refused = try refusal { _ = try scratch.store.events.acknowledge([7], now: .start) }
        #expect(refused.code == .noSuchEvent)
        let beyond = try refusal {
            _ = try scratch.store.events.acknowledge(through: 7, now: .start)
        }
        #expect(beyond.code == .invalidRequest)
        #expect(beyond.message == "there is no event 7 yet; the last one is 6")
    }

    @Test func pages() throws {
        let ids = try (1...5).map { try scratch.add("/d/\($0)", session: "s") }
        for id in ids { try complete(id) }
        var cursor: Int64 = 0
        var seen: [Int64] = []
        while true {
            let page = try scratch.store.events.listWithTransfers(
                after: cursor, session: "s", isWaiting: true, limit: 2, now: .start)
            guard let last = page.last else { break }
            seen += page.map(\.event.seq)
            cursor = last.event.seq
        }
        #expect(seen == [1, 2, 3, 4, 5, 6])
    }

    @Test func whatWaitsIsNeverForgotten() throws {
        let ids = try (1...2).map { try scratch.add("/d/\($0)", session: "s") }
        try complete(ids[0], ids[1])
        _ = try scratch.store.events.acknowledge([1], now: .start)
        var went = 0
        try scratch.turn(epoch) { tx in
            went = try tx.retention.forgetEvents(acknowledgedBefore: .start, limit: 10)
        }
        #expect(went == 0)
        try scratch.turn(epoch) { tx in
            went = try tx.retention.forgetEvents(acknowledgedBefore: .start + 1, limit: 10)
        }
        #expect(went == 1)
        #expect(try scratch.store.events.list(limit: 9).map(\.seq) == [2, 3])
        // A transfer that is removed takes along what was acknowledged.
        _ = try scratch.store.events.acknowledge([2], now: .start)
        _ = try scratch.store.wants.remove([ids[1]], now: .start)
        #expect(try scratch.store.events.list(limit: 9).map(\.seq) == [3])
    }

    @Test func sessionsAndTheirDefaults() throws {
        var change = SessionChange()
        change.isDiscretionary = true
        change.launchDelay = 60
        try scratch.store.sessions.change("s", change, now: .start)
        let id = try scratch.add("/d/1", session: "s")
        #expect(try scratch.store.transfers.find(id, now: .start)?.isDiscretionary == true)
        change = SessionChange()
        change.host = .some("nobody")
        #expect(
            try refusal { try scratch.store.sessions.change("s", change, now: .start) }.code
                == .noSuchHost)
        try scratch.store.hosts.add("h", HostSettings(argv: ["/bin/true"]), now: .start)
        try scratch.store.hosts.add("i", HostSettings(argv: ["/bin/true"]), now: .start)
        let second = try scratch.add("/d/2", session: "s") { $0.host = "h" }
        #expect(try scratch.store.transfers.find(second, now: .start)?.host == "h")
        #expect(
            try refusal { _ = try scratch.add("/d/3", session: "s") { $0.host = "i" } }.code
                == .conflict)
        let remove = {
            try self.scratch.store.sessions.remove("s", discardingEvents: false, now: .start)
        }
        #expect(try refusal { _ = try remove() }.code == .conflict)
        try complete(id, second)
        #expect(try refusal { _ = try remove() }.code == .conflict)
        _ = try scratch.store.events.acknowledge(through: 3, session: "s", now: .start)
        _ = try remove()
        #expect(try scratch.store.sessions.find("s") == nil)
        #expect(try scratch.store.transfers.find(id, now: .start) == nil)
        #expect(try scratch.store.events.list(limit: 9).isEmpty)
    }
}
