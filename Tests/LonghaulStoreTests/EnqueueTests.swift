import LonghaulCore
import Testing

@testable import LonghaulStore

@Suite struct EnqueueTests {
    @Test func whatWasAskedComesBack() throws {
        let scratch = try ScratchStore()
        let id = try scratch.add("/d/file.bin", session: "photos") { request in
            request.url = "https://a.example/ü?x=1"
            request.priority = .high
            request.isDiscretionary = true
            request.earliestBegin = .start + 60
            request.deadline = .after(seconds: 3600)
            request.expectedBytes = 12
            request.options.headers["X-Key"] = "v"
            request.options.checksum = Checksum(algorithm: .sha256, hex: "ab")
            request.options.connections = .exactly(3)
            request.options.metadata = #"{"a":1}"#
        }
        let transfer = try #require(try scratch.store.transfers.find(id, now: .start))
        #expect(transfer.state == .waiting)
        #expect(transfer.url == "https://a.example/ü?x=1")
        #expect(transfer.destination == "/d/file.bin")
        #expect(transfer.session == "photos")
        #expect(transfer.priority == .high)
        #expect(transfer.isDiscretionary)
        #expect(transfer.earliestBegin == .start + 60)
        #expect(transfer.deadline == .start + 3660)
        #expect(transfer.expectedBytes == 12)
        #expect(transfer.checksum?.hex == "ab")
        #expect(transfer.metadata == #"{"a":1}"#)
        #expect(transfer.waitingFor.map(\.reason) == [.earliestBegin])
        #expect(transfer.waitingFor.first?.required == "2026-01-01T00:01:00.000Z")

        let epoch = try scratch.lead()
        let work = try #require(try scratch.turn(epoch) { try $0.transfers.work(id) })
        #expect(work.request.options.headers["x-key"] == "v")
        #expect(work.request.options.connections == .exactly(3))
        #expect(work.request.deadline == .after(seconds: 3600))
        #expect(work.request.destination == .file("/d/file.bin"))
        #expect(work.readyAt == .start + 60)
    }

    @Test func idsGrowAndAreNotUsedAgain() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let first = try scratch.add("/d/1")
        let second = try scratch.add("/d/2")
        #expect(first < second)
        try scratch.turn(epoch) {
            try $0.transfers.cancel(second, numbers: TransferTotals(), now: .start)
        }
        #expect(try scratch.store.wants.remove([second], now: .start) == [.removed([])])
        #expect(try scratch.add("/d/3") > second)
    }

    @Test func aReservedDestinationIsAConflictThatNamesItsHolder() throws {
        let scratch = try ScratchStore()
        let holder = try scratch.add("/d/same")
        let error = try refusal { try scratch.add("/d/same") { $0.url += "?2" } }
        #expect(error.code == .conflict)
        #expect(error.transferID == holder)
    }

    @Test func aConflictRecordsNothingOfTheBatch() throws {
        let scratch = try ScratchStore()
        let batch = ["/d/1", "/d/2", "/d/1"].enumerated().map { number, path in
            NewTransfer.sample(path, session: "s") { $0.url += "?\(number)" }
        }
        let error = try refusal { _ = try scratch.store.wants.enqueue(batch, now: .start) }
        #expect(error.code == .conflict)
        #expect(try scratch.store.transfers.counts().isEmpty)
        #expect(try scratch.store.transfers.list(now: .start).isEmpty)
        // The session of the refused batch did not come into being either.
        #expect(
            try scratch.store.access { try $0.value("SELECT count(*) FROM session") }
                == 0)
    }

    @Test func keepGoingRecordsTheOthers() throws {
        let scratch = try ScratchStore()
        let batch = ["/d/1", "/d/1", "/d/2"].enumerated().map { number, path in
            NewTransfer.sample(path) { $0.url += "?\(number)" }
        }
        let outcomes = try scratch.store.wants.enqueue(batch, now: .start, keepGoing: true)
        guard case .recorded = outcomes[0], case .refused(let error) = outcomes[1],
            case .recorded = outcomes[2]
        else {
            Issue.record("unexpected \(outcomes)")
            return
        }
        // Of a batch that is refused nobody would have the id.
        #expect(error.transferID == nil)
        #expect(error.message.contains("earlier in the same batch"))
        #expect(try scratch.store.transfers.counts() == [.waiting: 2])
    }

    @Test func anEndedTransferReservesNothing() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let first = try scratch.add("/d/same")
        try scratch.turn(epoch) {
            try $0.transfers.cancel(first, numbers: TransferTotals(), now: .start)
        }
        #expect(try scratch.add("/d/same") > first)
    }

    @Test func renameTakesTheNextNameThatIsFree() throws {
        let scratch = try ScratchStore()
        let onDisk: Set = ["/d/a.tar", "/d/a (2).tar"]
        let new = NewTransfer.sample("/d/a.tar") { $0.options.ifExists = .rename }
        let outcomes = try scratch.store.wants.enqueue([new, new, new], now: .start) {
            onDisk.contains($0)
        }
        let names = outcomes.map { outcome -> String in
            guard case .recorded(_, let destination) = outcome else { return "refused" }
            return destination
        }
        #expect(names == ["/d/a (1).tar", "/d/a (3).tar", "/d/a (4).tar"])
    }

    @Test(arguments: [
        ("/d/a.txt", "/d/a (1).txt"), ("/d/a", "/d/a (1)"), ("/d.x/a", "/d.x/a (1)"),
        ("/d/.hidden", "/d/.hidden (1)"), ("/d/a.tar.gz", "/d/a (1).tar.gz"),
    ])
    func numberedNames(path: String, expected: String) {
        #expect(numberedPath(path, 1) == expected)
    }

    @Test func aStreamIsOneTransaction() throws {
        struct Malformed: Error {}
        let scratch = try ScratchStore()
        #expect(throws: Malformed.self) {
            try scratch.store.wants.enqueue(now: .start) { inserter in
                for number in 0..<1000 { _ = try inserter.insert(.sample("/d/\(number)")) }
                throw Malformed()
            }
        }
        #expect(try scratch.store.transfers.counts().isEmpty)
        let count = try scratch.store.wants.enqueue(now: .start) { inserter in
            for number in 0..<1000 { _ = try inserter.insert(.sample("/d/\(number)")) }
            return inserter.count
        }
        #expect(count == 1000)
        #expect(try scratch.store.transfers.counts() == [.waiting: 1000])
    }

    @Test func whatIsRecordedIsThereForTheNextOpener() throws {
        let scratch = try ScratchStore()
        let id = try scratch.add("/d/1")
        let other = try Store.open(directory: scratch.directory, mode: .existing)
        #expect(try other.transfers.find(id, now: .start)?.destination == "/d/1")
    }

    @Test func numberedDestinationsHaveNeighbouringKeys() {
        let keys = (100...110).map { ReservationKey.of("/d/file-\($0).bin") }
        #expect(keys == (0...10).map { keys[0] + Int64($0) })
        #expect(ReservationKey.of("/d/7") != ReservationKey.of("/d/007"))
        #expect(ReservationKey.of("/d/1/a") != ReservationKey.of("/d/2/a"))
        #expect(ReservationKey.of("/") == ReservationKey.of("/"))
        #expect(ReservationKey.of("/d/12345678901234567890") != ReservationKey.of("/d/2345678901"))
    }

    @Test func aFullDiskRecordsNothingAndSaysSo() throws {
        let scratch = try ScratchStore()
        let id = try scratch.add("/d/1")
        // SQLite's own limit gives the error that a full disk gives.
        let pages = try scratch.store.access {
            try $0.value("PRAGMA page_count") ?? 0
        }
        try scratch.store.access { try $0.run("PRAGMA max_page_count=\(pages + 2)") }
        let batch = (0..<1000).map { NewTransfer.sample("/e/\($0)") }
        let error = try refusal { _ = try scratch.store.wants.enqueue(batch, now: .start) }
        #expect(error.code == .storeUnavailable)
        #expect(error.message.contains("is full"))
        #expect(error.retryable)
        #expect(try scratch.store.transfers.counts() == [.waiting: 1])
        try scratch.store.access { try $0.run("PRAGMA max_page_count=100000") }
        #expect(try scratch.store.wants.enqueue(batch, now: .start).count == 1000)
        #expect(try scratch.state(id) == .waiting)
    }

    @Test func conflictsAreSeenAcrossTheRowsOfOneStatement() throws {
        let scratch = try ScratchStore()
        // More than a statement takes, with a repetition within one and one from an earlier one.
        var paths = (0..<250).map { "/d/\($0)" }
        paths += ["/d/249", "/d/3"]
        let outcomes = try scratch.store.wants.enqueue(
            paths.enumerated().map { number, path in .sample(path) { $0.url += "?\(number)" } },
            now: .start, keepGoing: true)
        let refused = outcomes.compactMap { outcome -> String? in
            guard case .refused(let error) = outcome else { return nil }
            return error.message.split(separator: " ").first.map(String.init)
        }
        #expect(refused == ["/d/249", "/d/3"])
        #expect(try scratch.store.transfers.counts() == [.waiting: 250])
    }
}
