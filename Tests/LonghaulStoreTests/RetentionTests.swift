import LonghaulCore
import Testing

@testable import LonghaulStore

/// What the queue keeps no longer, and what it announces before.
@Suite struct RetentionTests {
    private let scratch: ScratchStore
    private let epoch: Epoch
    private let day: Double = 86_400

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
    }

    private func complete(_ id: TransferID, at now: Timestamp = .start) throws {
        try scratch.turn(epoch) { tx in
            _ = try tx.transfers.claim(id, now: now)
            try tx.transfers.complete(
                id, finalPath: "/d/\(id)", numbers: TransferTotals(), now: now)
        }
    }

    private func fail(_ id: TransferID, at now: Timestamp = .start) throws {
        try scratch.turn(epoch) { tx in
            _ = try tx.transfers.claim(id, now: now)
            try tx.transfers.fail(
                id, error: LonghaulError(.notFound, "gone"), numbers: TransferTotals(), now: now)
        }
    }

    private func ended(before moment: Timestamp) throws -> [TransferID] {
        try scratch.turn(epoch) { tx in
            try tx.retention.endedTransfers(before: moment, limit: 10).sorted()
        }
    }

    private func types() throws -> [String] {
        try scratch.store.events.list(limit: 100).map(\.type.rawValue)
    }

    @Test func endedTransfersGoUnlessTheirHostWaits() throws {
        try scratch.store.hosts.add("h", HostSettings(argv: ["/bin/true"]), now: .start)
        let plain = try scratch.add("/d/1")
        let hosted = try scratch.add("/d/2", session: "s") { $0.host = "h" }
        let kept = try scratch.add("/d/3")
        _ = try scratch.add("/d/4")
        try complete(plain)
        try complete(hosted)
        try fail(kept)
        #expect(try ended(before: .start) == [])
        #expect(try ended(before: .start + 1) == [plain])
        _ = try scratch.store.events.acknowledge(through: .max, session: "s", now: .start)
        #expect(try ended(before: .start + 1) == [plain, hosted])
        try scratch.turn(epoch) { tx in _ = try tx.fetches.drop(of: kept, now: .start) }
        #expect(try ended(before: .start + 1) == [plain, hosted, kept])
    }

    @Test func theEndOfKeptBytesIsAnnouncedOnce() throws {
        let id = try scratch.add("/d/1") { $0.deadline = .at(.start + 10 * day) }
        try fail(id)
        func pass(at now: Timestamp) throws -> [TransferID] {
            try scratch.turn(epoch) { tx in
                try tx.retention.announceEndOfBytes(27 * day, tx.log, limit: 10, now: now)
            }
            return try scratch.turn(epoch) { tx in
                try tx.retention.bytesToDrop(
                    30 * day, announcedFor: 3 * day, limit: 10, now: now)
            }
        }
        // Its deadline counts, where that is later than its end.
        #expect(try pass(at: .start + 36 * day) == [])
        #expect(try types() == ["transferFailed"])
        // The machine was off: the notice comes first, however late.
        for days in [60.0, 61, 62.9] { #expect(try pass(at: .start + days * day) == []) }
        #expect(try types() == ["transferFailed", "transferBytesExpire"])
        #expect(try scratch.store.events.list(limit: 9).last?.detail?.contains("at") == true)
        #expect(try pass(at: .start + 63.1 * day) == [id])
        // What was taken up again is not dropped.
        _ = try scratch.store.wants.change(.ids([id]), to: .retry)
        #expect(try pass(at: .start + 63.3 * day) == [])
    }

    @Test func unreadEventsGoWhereThereIsNoHost() throws {
        try scratch.store.hosts.add("h", HostSettings(argv: ["/bin/true"]), now: .start)
        try complete(try scratch.add("/d/1", session: "s") { $0.host = "h" })
        try complete(try scratch.add("/d/2"))
        try complete(try scratch.add("/d/3"), at: .start + 10)
        let count = try scratch.turn(epoch) { tx in
            try tx.retention.forgetUnreadEvents(before: .start + 5, limit: 10)
        }
        #expect(count == 1)
        #expect(
            try scratch.store.events.list(limit: 9).map { $0.transfer?.rawValue } == [1, nil, 3])
    }

    @Test func anEventKeepsThePathOfARemovedTransfer() throws {
        let id = try scratch.add("/d/1")
        try complete(id)
        _ = try scratch.store.wants.remove([id], now: .start)
        let event = try #require(
            try scratch.store.events.listWithTransfers(limit: 9, now: .start).first)
        #expect(event.transfer == nil)
        #expect(event.event.path == "/d/\(id)")
    }
}
