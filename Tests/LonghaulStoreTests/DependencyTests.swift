import LonghaulCore
import Testing

@testable import LonghaulStore

/// Transfers that wait for the end of others (`--after`).
@Suite struct DependencyTests {
    private let scratch: ScratchStore
    private let epoch: Epoch

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
    }

    private func add(
        _ number: Int, after ids: TransferID..., any: Bool = false,
        _ edit: (inout TransferRequest) -> Void = { _ in }
    ) throws -> TransferID {
        try scratch.add("/d/\(number)") {
            $0.options.after = ids
            $0.options.afterAny = any
            edit(&$0)
        }
    }

    /// As the engine does with what the inbox has: the transfers by which some fail.
    @discardableResult
    private func settle(
        _ now: Timestamp = .start
    ) throws -> [TransferID: Dependencies.Missed] {
        try scratch.turn(epoch) { tx in
            var missed: [TransferID: Dependencies.Missed] = [:]
            for id in try tx.inbox.removeFirst(limit: 99) {
                missed[id] = try tx.dependencies.settle(id, now: now)
            }
            return missed
        }
    }

    private func complete(_ id: TransferID) throws {
        try scratch.turn(epoch) { tx in
            verify(try tx.transfers.claim(id, now: .start) != nil)
            try tx.transfers.complete(
                id, finalPath: "/d/x", numbers: TransferTotals(), now: .start)
            verify(tx.hasAwaitedEnd)
        }
    }

    private func fail(_ id: TransferID) throws {
        try scratch.turn(epoch) { tx in
            try tx.transfers.fail(
                id, error: LonghaulError(.network, "n"), numbers: TransferTotals(), now: .start)
        }
    }

    private func isClaimed(_ id: TransferID) throws -> Bool {
        try scratch.turn(epoch) { try $0.transfers.claim(id, now: .start) != nil }
    }

    private func awaited(_ id: TransferID) throws -> [TransferID] {
        try scratch.store.transfers.awaited(by: id, now: .start).map(\.id)
    }

    @Test func itMayBeginWhenAllHaveCompleted() throws {
        let first = try add(1)
        let second = try add(2)
        let third = try add(3, after: first, second) { $0.deadline = .after(seconds: 100) }
        #expect(try awaited(third) == [first, second])
        #expect(try !isClaimed(third))
        try complete(first)
        #expect(try settle() == [:])
        #expect(try !isClaimed(third) && awaited(third) == [second])
        // One that has completed counts although it was removed before the look.
        try complete(second)
        _ = try scratch.store.wants.remove([first, second], now: .start)
        #expect(try settle(.start + 50) == [:])
        let work = try scratch.turn(epoch) { try $0.transfers.work(third) }
        #expect(work?.deadline == .start + 150 && work?.waitingSince == .start + 50)
        #expect(try isClaimed(third))
        // Of one that has completed nothing is waited for.
        try scratch.turn(epoch) {
            try $0.transfers.complete(
                third, finalPath: "/d/3", numbers: TransferTotals(), now: .start)
        }
        #expect(try isClaimed(add(4, after: third)))
    }

    @Test func oneThatDoesNotCompleteIsMissed() throws {
        let first = try add(1)
        let second = try add(2)
        let third = try add(3, after: first)
        let fourth = try add(4, after: first, second, any: true)
        try fail(first)
        #expect(try settle() == [third: .init(id: first, state: .failed)])
        #expect(try awaited(fourth) == [second])
        // Taken up again, it is waited for again.
        _ = try scratch.store.wants.change(.ids([first]), to: .retry)
        try scratch.turn(epoch) { verify(try $0.dependencies.settle(third, now: .start) == nil) }
        try scratch.turn(epoch) { tx in
            verify(try tx.transfers.rearm(first, now: .start))
            try tx.transfers.cancel(first, numbers: TransferTotals(), now: .start)
            try tx.transfers.cancel(second, numbers: TransferTotals(), now: .start)
        }
        _ = try scratch.store.wants.remove([first], now: .start)
        #expect(try settle() == [third: .init(id: first, state: nil)])
        #expect(try isClaimed(fourth))
        #expect(LonghaulError.missed(.init(id: first, state: .failed)).code == .cancelled)
    }

    @Test func aFailedOneWaitsAgainWhenItIsRetried() throws {
        let first = try add(1)
        let second = try add(2, after: first)
        try fail(first)
        try fail(second)
        _ = try scratch.store.wants.change(.ids([first, second]), to: .retry)
        try scratch.turn(epoch) { tx in
            verify(try tx.transfers.rearm(first, now: .start))
            verify(try tx.transfers.rearm(second, now: .start))
            verify(try tx.transfers.claim(second, now: .start) == nil)
        }
        try complete(first)
        try settle()
        #expect(try isClaimed(second))
    }

    @Test func whatCannotBeWaitedForIsRefusedAndRecordsNothing() throws {
        let first = try add(1)
        let unknown = TransferID(rawValue: 2)
        #expect(try refusal { _ = try add(2, after: unknown) }.code == .noSuchTransfer)
        // Nor one of the same batch, which is not recorded if another line is refused.
        let batch: [NewTransfer] = [
            .sample("/d/2"), .sample("/d/3") { $0.options.after = [unknown] },
        ]
        let error = try refusal {
            _ = try scratch.store.wants.enqueue(batch, now: .start)
        }
        #expect(error.code == .noSuchTransfer)
        #expect(try scratch.state(unknown) == nil)
        try fail(first)
        #expect(try refusal { _ = try add(2, after: first) }.code == .conflict)
        #expect(try isClaimed(add(3, after: first, any: true)))
    }

    @Test func aChangeMayNotCloseACircle() throws {
        let first = try add(1)
        let second = try add(2, after: first)
        let third = try add(3, after: second)
        func set(_ id: TransferID, after ids: [TransferID]) throws {
            var change = RequestChange()
            change.fields[\TransferOptions.after] = ids
            try scratch.store.wants.change(id, change, now: .start)
        }
        for after in [first, second, third] {
            let error = try refusal { try set(first, after: [after]) }
            #expect(error.code == .conflict && error.transferID == first)
        }
        #expect(try awaited(first) == [] && isClaimed(first))
        try set(third, after: [first])
        #expect(try awaited(third) == [first] && !isClaimed(third))
        try set(third, after: [])
        #expect(try awaited(third) == [] && isClaimed(third))
    }

    /// `now` gives them up, and a back-off does not bring them back.
    @Test func runningItNowGivesTheOthersUp() throws {
        let first = try add(1)
        let second = try add(2, after: first)
        _ = try scratch.store.wants.change(.ids([second]), to: .runNow)
        #expect(try isClaimed(second) && awaited(second) == [])
        try scratch.turn(epoch) { tx in
            try tx.transfers.setQueued(second, readyAt: .start + 5, now: .start)
            verify(try tx.transfers.claim(second, now: .start + 5) != nil)
        }
        let shown = try #require(try scratch.store.transfers.find(second, now: .start))
        #expect(!shown.arePreferencesWaived && !shown.runsNow)
    }
}
