import LonghaulCore
import Testing

@testable import LonghaulStore

@Suite struct EngineTests {
    @Test func aFetchIsSavedWhole() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1")
        let saved = try scratch.turn(epoch) { tx -> FetchState in
            var (work, fetch) = try #require(try tx.transfers.claim(id, now: .start))
            #expect(work.phase == .running && work.fetchID == fetch.id)
            fetch.generation = 3
            fetch.partPath = "/d/.1.part"
            fetch.partIdentity = FileIdentity(device: .max, inode: 1 << 63)
            fetch.partMount = "/mnt/a disk"
            fetch.durable.insert(0..<10)
            fetch.durable.insert(20..<30)
            fetch.validator = Validator(etag: "\"x\"", lastModified: "d", length: 30)
            fetch.bytesTotal = 30
            fetch.bytesFetched = 25
            fetch.attempts = 2
            fetch.restarts = 1
            fetch.fruitlessAttempts = 4
            fetch.emptyAnswers = 1
            fetch.source = 1
            fetch.effectiveURL = "https://c.example/"
            fetch.proposedName = "n"
            fetch.contentCoding = "gzip"
            try tx.fetches.save(fetch)
            return fetch
        }
        #expect(try scratch.turn(epoch) { try $0.fetches.state(of: saved.id) } == saved)
        let shown = try #require(try scratch.store.transfers.find(id, now: .start))
        #expect(shown.state == .running)
        #expect(shown.bytesDone == 20)
        #expect(shown.bytesTotal == 30)
        #expect(shown.bytesFetched == 25)
        #expect(shown.attempts == 2)
        #expect(shown.restarts == 1)
        #expect(shown.startedAt == .start)
    }

    @Test func onlyWhatIsReadyAndWantedIsClaimed() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let paused = try scratch.add("/d/1")
        let later = try scratch.add("/d/2") { $0.earliestBegin = .start + 60 }
        let running = try scratch.add("/d/3")
        _ = try scratch.store.wants.change(.ids([paused]), to: .pause)
        try scratch.turn(epoch) { tx in
            verify(try tx.transfers.claim(running, now: .start) != nil)
            for id in [paused, later, running, TransferID(rawValue: 99)] {
                verify(try tx.transfers.claim(id, now: .start) == nil)
            }
            verify(try tx.transfers.claim(later, now: .start + 60) != nil)
            verify(try tx.transfers.liveUnqueued() == [later, running])
        }
    }

    @Test func theEndAndItsEventAreOneCommit() throws {
        struct Stop: Error {}
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1")
        try scratch.turn(epoch) { _ = try $0.transfers.claim(id, now: .start) }
        #expect(throws: Stop.self) {
            try scratch.turn(epoch) { tx in
                try tx.transfers.complete(
                    id, finalPath: "/d/1", numbers: TransferTotals(bytesTotal: 5, bytesDone: 5),
                    now: .start)
                throw Stop()
            }
        }
        #expect(try scratch.state(id) == .running)
        #expect(try scratch.store.events.list(limit: 9).isEmpty)

        try scratch.turn(epoch) { tx in
            try tx.transfers.complete(
                id, finalPath: "/d/1 (1)",
                numbers: TransferTotals(
                    bytesTotal: 5, bytesDone: 5, bytesFetched: 6, attempts: 1, restarts: 2),
                now: .start + 9)
        }
        let shown = try #require(try scratch.store.transfers.find(id, now: .start))
        #expect(shown.state == .completed)
        #expect(shown.destination == "/d/1 (1)")
        #expect(shown.finishedAt == .start + 9)
        #expect(shown.bytesTotal == 5 && shown.bytesDone == 5 && shown.bytesFetched == 6)
        #expect(shown.attempts == 1 && shown.restarts == 2)
        let events = try scratch.store.events.list(limit: 9)
        #expect(events.map(\.seq) == [1])
        #expect(events.map(\.type) == [.transferCompleted])
        #expect(events.map(\.transfer) == [id])
        #expect(events.map(\.session) == ["default"])
        // The fetch went with the end.
        #expect(
            try scratch.store.access { try $0.value("SELECT count(*) FROM fetch") }
                == 0)
    }

    /// They go in many to a statement.
    @Test func eventsOfOneTransactionAreInTheOrderInWhichTheyHappened() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let ids = try (1...40).map { try scratch.add("/d/\($0)") { $0.session = "s" } }
        try scratch.turn(epoch) { tx in
            for id in ids {
                try tx.log.append(.transferRestarted, of: id, detail: "{}", now: .start)
                try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start)
            }
        }
        let events = try scratch.store.events.list(limit: 99)
        #expect(events.map(\.seq) == Array(1...81))
        #expect(events.map(\.transfer) == ids.flatMap { [$0, $0] } + [nil])
        #expect(
            events.map(\.type)
                == ids.flatMap { _ in [.transferRestarted, .transferCancelled] }
                + [.sessionFinished])
    }

    @Test func eventsAreNumberedAndCanBeReadFromAnywhere() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let ids = try (0..<4).map { try scratch.add("/d/\($0)", session: $0 % 2 == 0 ? "a" : "b") }
        try scratch.turn(epoch) { tx in
            for id in ids { try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start) }
            try tx.log.append(.transferRestarted, of: ids[0], detail: "{}", now: .start)
        }
        let all = try scratch.store.events.list(limit: 9)
        // Both sessions were finished by it.
        #expect(all.map(\.seq) == [1, 2, 3, 4, 5, 6, 7])
        #expect(all.suffix(2).map(\.type) == [.sessionFinished, .sessionFinished])
        #expect(try scratch.store.events.list(after: 3, limit: 1).map(\.seq) == [4])
        #expect(try scratch.store.events.list(session: "a", limit: 9).map(\.seq) == [1, 3, 5, 6])
        #expect(
            try scratch.store.events.list(after: 1, session: "a", limit: 9).map(\.seq) == [3, 5, 6])
        #expect(
            try scratch.store.events.list(of: ids[0]).map(\.type) == [
                .transferCancelled, .transferRestarted,
            ])
        #expect(try scratch.store.events.list(session: "nobody", limit: 9).isEmpty)
    }

    @Test func whatWasCountedOutlivesAFetch() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1")
        try scratch.turn(epoch) { tx in
            var (_, fetch) = try #require(try tx.transfers.claim(id, now: .start))
            fetch.bytesFetched = 70
            fetch.attempts = 3
            fetch.durable.insert(0..<70)
            try tx.fetches.save(fetch)
            try tx.transfers.cancel(id, numbers: TransferTotals(fetch), now: .start)
            try tx.fetches.drop(of: id, now: .start)
        }
        let cancelled = try #require(try scratch.store.transfers.find(id, now: .start))
        #expect(cancelled.bytesDone == 0 && cancelled.bytesFetched == 70)
        _ = try scratch.store.wants.change(.ids([id]), to: .retry)
        try scratch.turn(epoch) { tx in
            verify(try tx.transfers.rearm(id, now: .start))
            let (_, fetch) = try #require(try tx.transfers.claim(id, now: .start))
            #expect(fetch.bytesFetched == 70 && fetch.attempts == 3 && fetch.durable.isEmpty)
        }
    }

    @Test func timeMakesReady() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let ids = try (1...3).map { n in
            try scratch.add("/d/\(n)") { $0.earliestBegin = .start + Double(n * 10) }
        }
        let backedOff = try scratch.add("/d/9")
        try scratch.turn(epoch) { tx in
            _ = try tx.transfers.claim(backedOff, now: .start)
            try tx.transfers.setQueued(
                backedOff, readyAt: .start + 15,
                waitingFor: [WaitReason(.backoff, nextCheck: .start + 15)], now: .start)
        }
        #expect(
            try scratch.store.transfers.find(backedOff, now: .start)?.waitingFor.map(\.reason) == [
                .backoff
            ])
        try scratch.turn(epoch) { tx in
            verify(try tx.ready.readyHead(now: .start).rows.isEmpty)
            verify(try tx.timers.nextDue() == .start + 10)
            verify(try tx.timers.promoteDue(.start + 9, limit: 9) == 0)
            verify(try tx.timers.promoteDue(.start + 15, limit: 1) == 1)
            verify(try tx.ready.readyHead(now: .start).rows.map(\.id) == [ids[0]])
            verify(try tx.timers.promoteDue(.start + 15, limit: 9) == 1)
            verify(try tx.ready.readyHead(now: .start).rows.map(\.id) == [ids[0], backedOff])
            verify(try tx.timers.nextDue() == .start + 20)
            verify(try tx.timers.promoteDue(.start + 99, limit: 9) == 2)
            verify(try tx.timers.nextDue() == nil)
        }
        #expect(
            try scratch.store.transfers.find(backedOff, now: .start)?.waitingFor.isEmpty == true)
    }

    @Test func deadlinesAreFoundInOrder() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let late = try scratch.add("/d/1") { $0.deadline = .at(.start + 20) }
        let early = try scratch.add("/d/2") { $0.deadline = .after(seconds: 10) }
        let cancelled = try scratch.add("/d/3") { $0.deadline = .after(seconds: 1) }
        _ = try scratch.store.wants.change(.ids([cancelled]), to: .cancel(keepBytes: false))
        _ = try scratch.store.wants.change(.ids([early]), to: .pause)
        try scratch.turn(epoch) { tx in
            verify(try tx.timers.nextDeadline(.start) == .start + 10)
            verify(try tx.timers.expired(.start + 9, limit: 9).isEmpty)
            verify(try tx.timers.expired(.start + 20, limit: 9) == [early, late])
            verify(try tx.timers.expired(.start + 20, limit: 1) == [early])
            // What runs was told when it passed, and leaves when its disk lets it.
            _ = try tx.transfers.claim(late, now: .start)
            verify(try tx.timers.nextDeadline(.start + 19) == .start + 10)
            verify(try tx.timers.nextDeadline(.start + 20) == .start + 10)
            let error = LonghaulError(.timedOut, "late")
            try tx.transfers.fail(early, error: error, numbers: TransferTotals(), now: .start)
            verify(try tx.timers.nextDeadline(.start + 19) == .start + 20)
            verify(try tx.timers.nextDeadline(.start + 20) == nil)
        }
    }

    @Test func whatIsKnownOfAnOriginIsKept() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        var memory = OriginMemory(origin: "https://a.example:443")
        #expect(try scratch.turn(epoch) { try $0.origins.memory(of: memory.origin) } == memory)
        memory.ignoresRanges = true
        memory.speaksHTTP2 = true
        memory.coolDownUntil = .start
        memory.failures = 2
        memory.bytesPerSecond = 1.5
        try scratch.turn(epoch) { try $0.origins.save(memory) }
        // A transfer that knows it by name leaves it as it is.
        try scratch.add("/d/1", origin: memory.origin)
        #expect(try scratch.turn(epoch) { try $0.origins.memory(of: memory.origin) } == memory)
    }

    @Test func countsFollowEveryStep() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let store = scratch.store
        let ids = try (0..<5).map { try scratch.add("/d/\($0)") }
        _ = try store.wants.change(.ids([ids[4]]), to: .pause)
        try scratch.turn(epoch) { tx in
            _ = try tx.transfers.claim(ids[0], now: .start)
            _ = try tx.transfers.claim(ids[1], now: .start)
            try tx.transfers.cancel(ids[2], numbers: TransferTotals(), now: .start)
        }
        #expect(
            try store.transfers.counts() == [.running: 2, .cancelled: 1, .waiting: 1, .paused: 1])
        _ = try store.wants.remove([ids[2]], now: .start)
        #expect(try store.transfers.counts() == [.running: 2, .waiting: 1, .paused: 1])
        #expect(try store.transfers.counts(session: "nobody").isEmpty)
        try expectTrueTally(store)
    }

    /// Completions are added up once for a transaction, whatever is wanted of them meanwhile.
    @Test func completionsAreTalliedTogether() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let store = scratch.store
        let ids = try (0..<6).map { number in
            try scratch.add("/d/\(number)", session: number < 2 ? "s" : "default")
        }
        try scratch.turn(epoch) { tx in
            for id in ids { _ = try tx.transfers.claim(id, now: .start) }
        }
        _ = try store.wants.change(.ids([ids[4]]), to: .pause)
        try scratch.turn(epoch) { tx in
            for id in ids[..<5] {
                try tx.transfers.complete(
                    id, finalPath: "/d/x", numbers: TransferTotals(), now: .start)
            }
            try tx.transfers.cancel(ids[5], numbers: TransferTotals(), now: .start)
        }
        #expect(try store.transfers.counts() == [.completed: 5, .cancelled: 1])
        try expectTrueTally(store)
        // A transaction that fails counts nothing.
        struct Undone: Error {}
        let more = try scratch.add("/d/more")
        try scratch.turn(epoch) { _ = try $0.transfers.claim(more, now: .start) }
        #expect(throws: Undone.self) {
            try store.withEngineTransaction(epoch, .durable) { tx in
                try tx.transfers.complete(
                    more, finalPath: "/d/x", numbers: TransferTotals(), now: .start)
                throw Undone()
            }
        }
        #expect(try store.transfers.counts() == [.completed: 5, .cancelled: 1, .running: 1])
        try expectTrueTally(store)
    }

    /// What failed may be wanted again before its end is committed.
    @Test func anEndThatIsTakenBackAtOnceIsTalliedAsLive() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1")
        let error = LonghaulError(.io, "x")
        let failed = { (tx: borrowing EngineTransaction) in
            _ = try tx.transfers.claim(id, now: .start)
            try tx.transfers.fail(id, error: error, numbers: TransferTotals(), now: .start)
        }
        try scratch.turn(epoch, failed)
        #expect(try scratch.store.transfers.counts() == [.failed: 1])
        _ = try scratch.store.wants.change(.ids([id]), to: .resume)
        try scratch.turn(epoch) { tx in
            verify(try tx.transfers.rearm(id, now: .start))
            try failed(tx)
            try tx.connection.run("UPDATE transfer SET rearm = rearm + 1 WHERE id = ?1", id)
            verify(try tx.transfers.rearm(id, now: .start))
        }
        #expect(try scratch.store.transfers.counts() == [.waiting: 1])
        try expectTrueTally(scratch.store)
    }

    /// The tally is what a count would find.
    private func expectTrueTally(_ store: Store) throws {
        let counted = try store.access { try $0.all(Stray.counted, read: Stray.readCounts) }
        let tallied = try store.access { try $0.all(Stray.tallied, read: Stray.readCounts) }
        #expect(counted == tallied)
    }

    @Test func theLastTwentyAttemptsAreKept() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1")
        func attempt(_ number: Int, _ outcome: String) -> AttemptRecord {
            AttemptRecord(
                number: number, startedAt: .start, endedAt: .start + 1, url: "https://a/",
                bytes: 7, httpStatus: 503, httpVersion: 11, outcome: outcome, message: nil)
        }
        try scratch.turn(epoch) { tx in
            for number in 1...25 { tx.log.record(attempt(number, "stopped"), of: id) }
            tx.log.record(attempt(25, "completed"), of: id)
        }
        let kept = try scratch.store.transfers.attempts(of: id)
        #expect(kept.map(\.number) == Array(6...25))
        #expect(kept.last == attempt(25, "completed"))
    }
}
