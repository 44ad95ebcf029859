import LonghaulCore
import Testing

@testable import LonghaulStore

/// Equal requests at the moment of enqueueing, and the key by which they are found.
@Suite struct DuplicateTests {
    private static let url = "https://a.example/file"

    @Test func failNamesTheLiveOne() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let first = try scratch.add("/d/1")
        let other = try scratch.add("/d/2") { $0.options.headers["Accept"] = "x" }
        let error = try refusal {
            try scratch.add("/d/3") {
                $0.url = "HTTPS://A.example:443/x/../file#top"
                $0.options.onDuplicate = .fail
            }
        }
        #expect(error.code == .conflict && error.transferID == first)
        // Paused is live; ended, or about to be, is not.
        _ = try scratch.store.wants.change(.ids([first]), to: .pause)
        #expect(
            try refusal { try scratch.add("/d/3") { $0.options.onDuplicate = .fail } }.transferID
                == first)
        _ = try scratch.store.wants.change(.ids([first]), to: .cancel(keepBytes: false))
        let third = try scratch.add("/d/3") { $0.options.onDuplicate = .fail }
        try scratch.turn(epoch) { tx in
            for id in [first, third] {
                try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start)
            }
        }
        try scratch.add("/d/4") { $0.options.onDuplicate = .fail }
        #expect(try scratch.state(other) == .waiting)
    }

    @Test func failSeesEarlierItemsOfItsBatch() throws {
        let scratch = try ScratchStore()
        let batch = (1...3).map { number in
            NewTransfer.sample("/d/\(number)") {
                $0.url = Self.url + (number == 2 ? "?2" : "")
                $0.options.onDuplicate = .fail
            }
        }
        let outcomes = try scratch.store.wants.enqueue(batch, now: .start, keepGoing: true)
        guard case .refused(let error) = outcomes[2] else {
            Issue.record("\(outcomes)")
            return
        }
        // Had it been for all or nothing, there would be no transfer 1.
        #expect(error.transferID == nil && error.message.contains("earlier in the same batch"))
        #expect(throws: LonghaulError.self) { try scratch.store.wants.enqueue(batch, now: .start) }
    }

    @Test func replaceCancelsTheOlderAndMayTakeItsName() throws {
        let scratch = try ScratchStore()
        let old = try scratch.add("/d/1")
        let other = try scratch.add("/d/2") { $0.url = Self.url + "?2" }
        let new = try scratch.add("/d/1") { $0.options.onDuplicate = .replace }
        #expect(try scratch.state(old) == .cancelled)
        #expect(try scratch.state(new) == .waiting && scratch.state(other) == .waiting)
        // The name of one that is not replaced stays taken, and nothing is cancelled for nothing.
        let error = try refusal {
            try scratch.add("/d/2") { $0.options.onDuplicate = .replace }
        }
        #expect(error.code == .conflict && error.transferID == other)
        #expect(try scratch.state(new) == .waiting)
    }

    @Test func replaceSparesWhatIsNotItsOwn() throws {
        let scratch = try ScratchStore()
        let separate = try scratch.add("/d/1") { $0.options.onDuplicate = .separate }
        let others = try scratch.add("/d/2") { $0.session = "other" }
        let own = try scratch.add("/d/3")
        let batch = (4...5).map { number in
            NewTransfer.sample("/d/\(number)") { $0.options.onDuplicate = .replace }
        }
        _ = try scratch.store.wants.enqueue(batch, now: .start)
        let states = try (1...5).map { try scratch.state(TransferID(rawValue: $0)) }
        #expect(states == [.waiting, .waiting, .cancelled, .waiting, .waiting])
        #expect([separate, others, own].map(\.rawValue) == [1, 2, 3])
    }

    @Test func keysFollowTheRequest() throws {
        func key(_ url: String) -> Int64 { IdentityKey.of(url, origin: 7) }
        #expect(key("https://a/f") == key("HTTPS://u:p@A:443/x/../%66#y"))
        #expect(key("https://a") == key("https://a/"))
        #expect(key("https://a/f") != key("https://a/f?"))
        #expect(IdentityKey.of("https://a/f", origin: 8) != key("https://a/f"))
        #expect(key("https://a/f2") - key("https://a/f1") == 1)

        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let first = try scratch.add("/d/1")
        let second = try scratch.add("/d/2") { $0.url = Self.url + "?2" }
        func equals(_ id: TransferID) throws -> [TransferID] {
            try scratch.turn(epoch) { tx in
                let key = try tx.transfers.work(id)?.identityKey ?? 0
                return try tx.sharing.queued(key, .run, limit: 10).map(\.id)
            }
        }
        #expect(try equals(first) == [first])
        var change = RequestChange()
        change.url = (Self.url, "https://a.example:443")
        try scratch.store.wants.change(second, change, now: .start)
        #expect(try equals(first) == [second, first])
    }

    /// Who leaves, and who has the fetch then.
    @Test func aFetchIsHandedOver() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let ids = try (1...3).map { try scratch.add("/d/\($0)") }
        let fetch = try scratch.turn(epoch) { tx in
            var fetch: FetchState?
            for id in ids {
                let work = try #require(try tx.transfers.work(id))
                fetch = try tx.sharing.start(work, into: fetch, now: .start).fetch
            }
            let shared = try #require(fetch).id
            try tx.sharing.share(shared, among: ids)
            return shared
        }
        let shown = try #require(try scratch.store.transfers.find(ids[1], now: .start))
        #expect(shown.state == .running && shown.sharedWith == [ids[0], ids[2]])
        #expect(try scratch.store.transfers.runningCounts().total == 1)
        try scratch.turn(epoch) { tx in
            try tx.transfers.cancel(ids[0], numbers: TransferTotals(), now: .start)
            try tx.sharing.leave(ids[0])
            #expect(try tx.fetches.state(of: fetch)?.leader == ids[1])
            try tx.transfers.fail(
                ids[2], error: LonghaulError(.network, "x"), numbers: TransferTotals(),
                now: .start)
            #expect(try tx.sharing.members(of: fetch) == [ids[1], ids[2]])
        }
        // Forgotten by a client: the others keep the bytes.
        #expect(try scratch.store.wants.remove([ids[2]], now: .start) == [.removed([])])
        try scratch.turn(epoch) { tx in
            #expect(try tx.sharing.isLast(ids[1], of: fetch))
            try tx.transfers.complete(
                ids[1], finalPath: "/d/2", numbers: TransferTotals(), now: .start)
            #expect(try tx.fetches.state(of: fetch) == nil)
        }
    }
}
