import LonghaulCore
import Testing

@testable import LonghaulStore

@Suite struct WantTests {
    /// What each command makes of each situation. Columns: phase, want, re-arm pending, then the
    /// shown state and the four commands.
    private static let table: [(Phase, Want, Bool, TransferState, [WantRewrite])] = [
        // pause, resume, cancel, retry
        (.queued, .run, false, .waiting, [.set(.pause), .hasten, .set(.cancel), .hasten]),
        (.queued, .pause, false, .paused, [.unchanged, .set(.run), .set(.cancel), .set(.run)]),
        (
            .queued, .cancel, false, .cancelled,
            [.refuse(.cancelled), .refuse(.cancelled), .refuse(.cancelled), .set(.run)]
        ),
        (.running, .run, false, .running, [.set(.pause), .unchanged, .set(.cancel), .unchanged]),
        (.running, .pause, false, .paused, [.unchanged, .set(.run), .set(.cancel), .set(.run)]),
        (
            .running, .cancelKeepingBytes, false, .cancelled,
            [.refuse(.cancelled), .refuse(.cancelled), .refuse(.cancelled), .set(.run)]
        ),
        (
            .completed, .run, false, .completed,
            Array(repeating: .refuse(.completed), count: 4)
        ),
        (
            .failed, .run, false, .failed,
            [.refuse(.failed), .rearm(.run), .refuse(.failed), .rearm(.run)]
        ),
        (.failed, .run, true, .waiting, [.set(.pause), .hasten, .set(.cancel), .hasten]),
        (.failed, .pause, true, .paused, [.unchanged, .set(.run), .set(.cancel), .set(.run)]),
        (
            .failed, .cancel, true, .cancelled,
            [.refuse(.cancelled), .refuse(.cancelled), .refuse(.cancelled), .set(.run)]
        ),
        (
            .cancelled, .cancel, false, .cancelled,
            [.refuse(.cancelled), .refuse(.cancelled), .refuse(.cancelled), .rearm(.run)]
        ),
        (.cancelled, .run, true, .waiting, [.set(.pause), .hasten, .set(.cancel), .hasten]),
    ]

    @Test(arguments: WantTests.table.indices)
    func commands(index: Int) {
        let (phase, want, pending, state, expected) = Self.table[index]
        #expect(shownState(phase: phase, want: want, pending: pending) == state)
        let commands: [WantedChange] = [.pause, .resume, .cancel(keepBytes: false), .retry]
        let found = commands.map {
            WantRewrite.of($0, phase: phase, want: want, pending: pending)
        }
        #expect(found == expected, "\(phase) \(want) pending: \(pending)")
    }

    /// It would fail at once; a span begins anew.
    @Test func aFixedDeadlineThatIsOverIsNotRearmed() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let fixed = try scratch.add("/d/1") { $0.deadline = .at(.start + 20) }
        let span = try scratch.add("/d/2") { $0.deadline = .after(seconds: 20) }
        try scratch.turn(epoch) { tx in
            for id in [fixed, span] {
                try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start)
            }
        }
        func retry(_ now: Timestamp) throws -> [WantOutcome.Result] {
            try scratch.store.wants.change(.ids([fixed, span]), to: .retry, now: now).map(\.result)
        }
        #expect(try retry(.start + 20) == [.deadlinePassed, .changed])
        #expect(try retry(.start + 19) == [.changed, .unchanged])
    }

    @Test func everySituationHasAState() {
        for phase in Phase.allCases {
            for want in Want.allCases {
                for pending in [false, true] where phase.hasEnded || !pending {
                    let state = shownState(phase: phase, want: want, pending: pending)
                    #expect(!state.hasEnded || phase.hasEnded || want != .run)
                    if phase == .completed { #expect(state == .completed) }
                }
            }
        }
    }

    @Test func aChangeIsInTheInboxOnce() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let first = try scratch.add("/d/1")
        let second = try scratch.add("/d/2")
        let unknown = TransferID(rawValue: 999)
        let outcomes = try scratch.store.wants.change(.ids([second, unknown, first]), to: .pause)
        #expect(
            outcomes == [
                WantOutcome(id: second, result: .changed),
                WantOutcome(id: unknown, result: .noSuchTransfer),
                WantOutcome(id: first, result: .changed),
            ])
        #expect(
            try scratch.store.wants.change(.ids([first]), to: .pause).map(\.result) == [.unchanged])
        _ = try scratch.store.wants.change(.ids([first]), to: .resume)
        #expect(try scratch.turn(epoch) { try $0.inbox.removeFirst(limit: 1) } == [first])
        #expect(try scratch.turn(epoch) { try $0.inbox.removeFirst(limit: 9) } == [second])
        #expect(try scratch.turn(epoch) { try $0.inbox.removeFirst(limit: 9) }.isEmpty)
    }

    @Test func allMeansThoseThatItLeadsSomewhereFor() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let waiting = try scratch.add("/d/1")
        let paused = try scratch.add("/d/2", session: "other")
        let done = try scratch.add("/d/3")
        let failed = try scratch.add("/d/4")
        _ = try scratch.store.wants.change(.ids([paused]), to: .pause)
        try scratch.turn(epoch) { tx in
            try tx.transfers.complete(
                done, finalPath: "/d/3", numbers: TransferTotals(), now: .start)
            try tx.transfers.fail(
                failed, error: LonghaulError(.network, "down"), numbers: TransferTotals(),
                now: .start)
        }
        let store = scratch.store
        #expect(try store.wants.change(.session("default"), to: .pause).map(\.id) == [waiting])
        #expect(
            try store.wants.change(.all, to: .resume).map(\.id) == [waiting, paused, failed])
        #expect(try store.wants.change(.all, to: .resume).isEmpty)
        #expect(
            try store.wants.change(.all, to: .cancel(keepBytes: true)).map(\.id)
                == [waiting, paused, failed])
        #expect(try store.wants.change(.session("nobody"), to: .pause).isEmpty)
    }

    /// It was anybody's from its end on. Under `rename` each gets a name of its own in the end.
    @Test func aDestinationThatSomebodyElseHasByNow() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        func addEnded(_ policy: ExistingFilePolicy = .fail) throws -> TransferID {
            let id = try scratch.add("/d/1") { $0.options.ifExists = policy }
            try scratch.turn(epoch) { tx in
                try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start)
            }
            return id
        }
        let first = try addEnded()
        let second = try addEnded()
        let renamed = try addEnded(.rename)
        let store = scratch.store
        let taken = WantOutcome.Result.destinationTaken("/d/1", by: first)
        #expect(
            try store.wants.change(.ids([first, second, renamed]), to: .retry).map(\.result)
                == [.changed, taken, .changed])
        for id in [first, renamed] {
            #expect(try scratch.turn(epoch) { try $0.transfers.rearm(id, now: .start) })
        }
        #expect(try store.wants.change(.ids([second]), to: .retry).map(\.result) == [taken])
        #expect(try store.wants.change(.all, to: .retry).isEmpty)
    }

    @Test func aFailedTransferIsTakenUpAgain() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1") { $0.deadline = .after(seconds: 100) }
        try scratch.turn(epoch) { tx in
            var (_, fetch) = try #require(try tx.transfers.claim(id, now: .start))
            fetch.durable.insert(0..<10)
            fetch.bytesFetched = 12
            try tx.fetches.save(fetch)
            try tx.transfers.fail(
                id, error: LonghaulError(.network, "down", bytesKept: 10),
                numbers: TransferTotals(fetch), now: .start + 5)
        }
        #expect(try scratch.store.transfers.find(id, now: .start)?.error?.message == "down")
        _ = try scratch.store.wants.change(.ids([id]), to: .resume)

        let pending = try #require(try scratch.store.transfers.find(id, now: .start))
        #expect(pending.state == .waiting)
        #expect(pending.error == nil)
        #expect(pending.finishedAt == nil)
        #expect(pending.bytesDone == 10)
        #expect(try scratch.store.transfers.counts() == [.waiting: 1])
        #expect(
            try scratch.store.transfers.list(ListQuery(states: [.waiting]), now: .start).count
                == 1)
        #expect(
            try scratch.store.transfers.list(ListQuery(states: [.failed]), now: .start).isEmpty
        )

        #expect(try scratch.turn(epoch) { try $0.transfers.rearm(id, now: .start + 50) })
        #expect(try !scratch.turn(epoch) { try $0.transfers.rearm(id, now: .start + 50) })
        let work = try #require(try scratch.turn(epoch) { try $0.transfers.work(id) })
        #expect(work.phase == .queued)
        #expect(work.deadline == .start + 150)
        #expect(work.error == nil)
        let claimed = try #require(
            try scratch.turn(epoch) { try $0.transfers.claim(id, now: .start + 50) })
        #expect(claimed.fetch.durable.count == 10)
        #expect(claimed.work.startedAt == .start)
    }

    @Test func aCancelThatFollowsARetryIsNotForgotten() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1")
        try scratch.turn(epoch) {
            try $0.transfers.cancel(id, numbers: TransferTotals(), now: .start)
        }
        _ = try scratch.store.wants.change(.ids([id]), to: .retry)
        _ = try scratch.store.wants.change(.ids([id]), to: .cancel(keepBytes: false))
        #expect(try scratch.state(id) == .cancelled)
        try scratch.turn(epoch) { tx in
            verify(try tx.inbox.removeFirst(limit: 9) == [id])
            verify(try tx.transfers.rearm(id, now: .start))
        }
        #expect(try scratch.turn(epoch) { try $0.inbox.removeFirst(limit: 9) } == [id])
    }

    /// It is about to be cancelled; how it ended the last time is over.
    @Test func aCancelThatFollowsARetryTellsNothingOfTheEndBefore() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1")
        try scratch.turn(epoch) {
            try $0.transfers.fail(
                id, error: LonghaulError(.network, "down"), numbers: TransferTotals(),
                now: .start)
        }
        _ = try scratch.store.wants.change(.ids([id]), to: .retry)
        _ = try scratch.store.wants.change(.ids([id]), to: .cancel(keepBytes: false))
        let shown = try #require(try scratch.store.transfers.find(id, now: .start))
        #expect(shown.state == .cancelled)
        #expect(shown.error == nil && shown.finishedAt == nil)
    }

    @Test func settingsOfATransferChange() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1") { $0.options.headers["A"] = "1" }
        var change = RequestChange()
        change.url = ("https://b.example/y", "https://b.example:443")
        change.priority = .low
        change.earliestBegin = .some(.start + 60)
        change.deadline = .after(seconds: 10)
        change.editOptions = { $0.headers["B"] = "2" }
        try scratch.store.wants.change(id, change, now: .start)
        let work = try #require(try scratch.turn(epoch) { try $0.transfers.work(id) })
        #expect(work.request.url == "https://b.example/y")
        #expect(work.origin == "https://b.example:443")
        #expect(work.request.priority == .low)
        #expect(work.readyAt == .start + 60)
        #expect(work.deadline == .start + 70)
        #expect(work.request.options.headers["A"] == "1")
        #expect(work.request.options.headers["B"] == "2")
        #expect(try scratch.turn(epoch) { try $0.inbox.removeFirst(limit: 9) } == [id])

        change = RequestChange()
        change.earliestBegin = .some(nil)
        try scratch.store.wants.change(id, change, now: .start + 5)
        let again = try #require(try scratch.turn(epoch) { try $0.transfers.work(id) })
        #expect(again.readyAt == nil)
        #expect(again.deadline == .start + 15)
        #expect(again.request.url == "https://b.example/y")
    }

    /// The old place is free from then on, and the new one taken.
    @Test func aDestinationIsChanged() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1") { $0.options.remoteName = true }
        let other = try scratch.add("/d/2")
        var change = RequestChange()
        change.destination = ("/link/2", realPath: "/d/2", disk: nil)
        let refused = try refusal {
            try scratch.store.wants.change(id, change, now: .start)
        }
        #expect(refused.code == .conflict && refused.transferID == other)
        change.destination = ("/link/3", realPath: "/d/3", disk: nil)
        try scratch.store.wants.change(id, change, now: .start)
        // The same again: it is its own.
        try scratch.store.wants.change(id, change, now: .start)
        let work = try #require(try scratch.turn(epoch) { try $0.transfers.work(id) })
        #expect(work.path == "/link/3" && !work.request.options.remoteName)
        #expect(throws: LonghaulError.self) { try scratch.add("/d/3") }
        #expect(try scratch.add("/d/1").rawValue == 3)
    }

    @Test func aCompletedTransferKeepsItsSettings() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1")
        try scratch.turn(epoch) {
            try $0.transfers.complete(
                id, finalPath: "/d/1", numbers: TransferTotals(), now: .start)
        }
        var change = RequestChange()
        change.priority = .high
        #expect(
            try refusal { try scratch.store.wants.change(id, change, now: .start) }.code
                == .conflict)
        let unknown = TransferID(rawValue: 77)
        #expect(
            try refusal { try scratch.store.wants.change(unknown, change, now: .start) }.code
                == .noSuchTransfer)
    }

    @Test func onlyEndedTransfersAreForgotten() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let live = try scratch.add("/d/1")
        let failed = try scratch.add("/d/2")
        let identity = FileIdentity(device: 1, inode: 2, birth: 3)
        try scratch.turn(epoch) { tx in
            var (_, fetch) = try #require(try tx.transfers.claim(failed, now: .start))
            fetch.partPath = "/d/.2.part"
            fetch.partIdentity = identity
            try tx.fetches.save(fetch)
            try tx.transfers.fail(
                failed, error: LonghaulError(.network, "down"), numbers: TransferTotals(fetch),
                now: .start)
        }
        let outcomes = try scratch.store.wants.remove(
            [live, failed, TransferID(rawValue: 99)], now: .start)
        guard case .refused(let first) = outcomes[0], case .refused(let last) = outcomes[2] else {
            Issue.record("unexpected \(outcomes)")
            return
        }
        #expect(first.code == .conflict)
        #expect(outcomes[1] == .removed([OrphanedPart(path: "/d/.2.part", identity: identity)]))
        #expect(last.code == .noSuchTransfer)
        #expect(try scratch.store.transfers.counts() == [.waiting: 1])
        #expect(try scratch.store.transfers.find(failed, now: .start) == nil)
        // What happened stays told.
        #expect(try scratch.store.events.list(limit: 9).map(\.transfer) == [failed])
    }

    @Test func cleaningForgetsWhatEndedBefore() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let ids = try (0..<6).map { try scratch.add("/d/\($0)") }
        try scratch.turn(epoch) { tx in
            for (index, id) in ids.enumerated() {
                try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start + Double(index))
            }
        }
        #expect(try scratch.store.wants.clean(endedBefore: .start + 2, now: .start) { $0 } == 2)
        #expect(try scratch.store.wants.clean(endedBefore: .start + 5, now: .start) { $0 } == 3)
        #expect(try scratch.store.transfers.counts() == [.cancelled: 1])
    }
}
