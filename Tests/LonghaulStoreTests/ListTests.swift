import LonghaulCore
import Testing

@testable import LonghaulStore

@Suite struct ListTests {
    /// Ten transfers in two sessions, one in each situation a list tells apart.
    private func mixed() throws -> (ScratchStore, [TransferState: [Int64]]) {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let ids = try (0..<10).map {
            try scratch.add("/d/\($0)", session: $0 % 2 == 0 ? "even" : "odd")
        }
        try scratch.turn(epoch) { tx in
            for id in ids[2...3] { _ = try tx.transfers.claim(id, now: .start) }
            for id in ids[4...5] {
                try tx.transfers.complete(
                    id, finalPath: "", numbers: TransferTotals(), now: .start)
            }
            for id in ids[6...7] {
                try tx.transfers.fail(
                    id, error: LonghaulError(.dns, "?"), numbers: TransferTotals(), now: .start)
            }
            try tx.transfers.cancel(ids[8], numbers: TransferTotals(), now: .start)
        }
        _ = try scratch.store.wants.change(.ids([ids[1]]), to: .pause)
        _ = try scratch.store.wants.change(.ids([ids[7]]), to: .retry)
        return (
            scratch,
            [
                .waiting: [10, 8, 1], .paused: [2], .running: [4, 3], .completed: [6, 5],
                .failed: [7], .cancelled: [9],
            ]
        )
    }

    @Test func eachStateIsFound() throws {
        let (scratch, expected) = try mixed()
        for state in TransferState.allCases {
            let found = try scratch.store.transfers.list(
                ListQuery(states: [state]), now: .start)
            #expect(found.map(\.id.rawValue) == expected[state], "\(state)")
            #expect(found.allSatisfy { $0.state == state })
        }
        #expect(try scratch.store.transfers.counts() == expected.mapValues(\.count))
    }

    @Test func filtersCombine() throws {
        let (scratch, _) = try mixed()
        func ids(_ filter: ListQuery, now: Timestamp = .start) throws -> [Int64] {
            try scratch.store.transfers.list(filter, now: now).map(\.id.rawValue)
        }
        #expect(try ids(ListQuery(states: [.waiting, .completed])) == [10, 8, 6, 5, 1])
        #expect(try ids(ListQuery(states: [.waiting, .completed], limit: 2)) == [10, 8])
        #expect(try ids(ListQuery(states: [.waiting], session: "odd")) == [10, 8])
        #expect(try ids(ListQuery(states: [], session: "odd")).isEmpty)
        #expect(try ids(ListQuery(session: "nobody")).isEmpty)
        // The newest that have not ended, and recent ends where there is room.
        #expect(try ids(ListQuery()) == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
        #expect(try ids(ListQuery(limit: 3)) == [10, 8, 4])
        #expect(try ids(ListQuery(), now: .start + 2 * 86_400) == [10, 8, 4, 3, 2, 1])
        #expect(try ids(ListQuery(session: "even")) == [9, 7, 5, 3, 1])
        #expect(
            try ids(ListQuery(session: "even"), now: .start + 2 * 86_400) == [3, 1])
    }

    /// Those that came later have ended long ago, and others' lately.
    @Test func aRecentEndOfASessionIsFound() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let old = try scratch.add("/d/0", session: "s")
        let ids = try (1...60).map { try scratch.add("/d/\($0)", session: $0 < 56 ? "s" : "t") }
        try scratch.turn(epoch) { tx in
            for id in ids.prefix(55) {
                try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start)
            }
            for id in [old] + ids.suffix(5) {
                try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start + 2 * 86_400)
            }
        }
        let now = .start + 2 * 86_400 + 3600
        let expected: [(String, [Int64])] = [("s", [1]), ("t", [61, 60, 59, 58, 57]), ("x", [])]
        for (session, found) in expected {
            let listed = try scratch.store.transfers.list(
                ListQuery(session: session), now: now)
            #expect(listed.map(\.id.rawValue) == found, "\(session)")
        }
        // Of those that ended lately the last ones.
        let listed = try scratch.store.transfers.list(
            ListQuery(session: "t", limit: 2), now: now)
        #expect(listed.map(\.id.rawValue) == [61, 60])
    }

    /// Cancelled, and the engine has not heard of it: it is in the list, not in between.
    @Test func whatIsToBeCancelledIsListed() throws {
        let (scratch, _) = try mixed()
        _ = try scratch.store.wants.change(
            .ids([TransferID(rawValue: 3)]), to: .cancel(keepBytes: false))
        let listed = try scratch.store.transfers.list(ListQuery(), now: .start + 2 * 86_400)
        #expect(listed.map(\.id.rawValue) == [10, 8, 4, 3, 2, 1])
        #expect(listed.first { $0.id.rawValue == 3 }?.state == .cancelled)
    }

    @Test func walkingComesByEachOnce() throws {
        let scratch = try ScratchStore()
        _ = try scratch.store.wants.enqueue(
            (0..<1203).map { .sample("/d/\($0)", session: "s\($0 % 3)") }, now: .start)
        _ = try scratch.store.wants.change(.session("s1"), to: .pause)
        var seen: [Int64] = []
        try scratch.store.transfers.forEach(now: .start) { seen.append($0.id.rawValue) }
        #expect(seen == Array((1...1203).reversed()))
        seen = []
        try scratch.store.transfers.forEach(states: [.paused], session: "s1", now: .start) {
            seen.append($0.id.rawValue)
        }
        #expect(seen.count == 401)
    }

    /// Each with a session of its own: as many walks as transfers.
    @Test func walkingComesByEachOfManySessions() throws {
        let scratch = try ScratchStore()
        _ = try scratch.store.wants.enqueue(
            (0..<1203).map { .sample("/d/\($0)", session: "s\($0)") }, now: .start)
        for number in [3, 700] {
            _ = try scratch.store.wants.change(.session("s\(number)"), to: .pause)
        }
        var seen: [Int64] = []
        try scratch.store.transfers.forEach(now: .start) { seen.append($0.id.rawValue) }
        #expect(seen == Array((1...1203).reversed()))
        seen = []
        try scratch.store.transfers.forEach(states: [.waiting], now: .start) {
            seen.append($0.id.rawValue)
        }
        #expect(seen == (1...1203).reversed().filter { ![4, 701].contains($0) })
    }

    @Test func unknownIdsAreLeftOut() throws {
        let (scratch, _) = try mixed()
        let found = try scratch.store.transfers.find(
            [TransferID(rawValue: 3), TransferID(rawValue: 99), TransferID(rawValue: 1)],
            now: .start)
        #expect(found.map(\.id.rawValue) == [3, 1])
    }
}
