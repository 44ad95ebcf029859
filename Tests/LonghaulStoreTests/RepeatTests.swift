import LonghaulCore
import Testing

@testable import LonghaulStore

/// The same URL to the same destination, asked for again.
@Suite struct RepeatTests {
    private let scratch: ScratchStore

    init() throws {
        scratch = try ScratchStore()
    }

    private func enqueue(
        _ destination: String = "/d/1", session: String = "default",
        _ edit: (inout TransferRequest) -> Void = { _ in }
    ) throws -> EnqueueOutcome {
        let batch = [NewTransfer.sample(destination, session: session, edit)]
        return try #require(try scratch.store.wants.enqueue(batch, now: .start).first)
    }

    private func existing(_ id: TransferID) -> EnqueueOutcome {
        .existing(id, destination: "/d/1")
    }

    private func end(_ id: TransferID, _ epoch: Epoch, failing: Bool) throws {
        try scratch.turn(epoch) { tx in
            if failing {
                try tx.transfers.fail(
                    id, error: LonghaulError(.network, "down"), numbers: TransferTotals(),
                    now: .start)
            } else {
                try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start)
            }
        }
    }

    @Test func itIsTheTransferThatIsThere() throws {
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1") { $0.earliestBegin = .start + 60 }
        #expect(try enqueue { $0.url = "HTTPS://A.example:443/x/../file#top" } == existing(id))
        #expect(try enqueue { $0.options.ifExists = .rename } == existing(id))
        _ = try scratch.store.wants.change(.ids([id]), to: .pause)
        #expect(try enqueue() == existing(id))
        #expect(try scratch.state(id) == .paused)
        // An engine has nothing to look at but the pause.
        #expect(try scratch.turn(epoch) { try $0.inbox.removeFirst(limit: 9) } == [id])
        #expect(try enqueue() == existing(id))
        #expect(try scratch.turn(epoch) { try $0.inbox.removeFirst(limit: 9) }.isEmpty)
        // Whoever comes with another URL, or for another session, asks for something else.
        for (url, session) in [
            ("https://a.example/other", "default"), ("https://a.example/file", "s"),
        ] {
            let error = try refusal { _ = try enqueue(session: session) { $0.url = url } }
            #expect(error.code == .conflict && error.transferID == id)
        }
    }

    /// As a line that stands twice in a list, at any distance.
    @Test(arguments: [1, 600]) func twiceInOneBatchIsOne(distance: Int) throws {
        let others = (2...distance + 1).map { number in
            NewTransfer.sample("/d/\(number)") { $0.url += "?\(number)" }
        }
        let first = NewTransfer.sample("/d/1")
        let spelt = NewTransfer.sample("/d/1") {
            $0.url = "HTTPS://A.example:443/x/../file#top"
            $0.priority = .high
        }
        let another = NewTransfer.sample("/d/1") { $0.url += "?2" }
        let outcomes = try scratch.store.wants.enqueue(
            [first, first] + others + [spelt, another], now: .start, keepGoing: true)
        guard case .recorded(let id, _) = outcomes[0], case .refused(let error)? = outcomes.last
        else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(outcomes[1] == existing(id) && outcomes[outcomes.count - 2] == existing(id))
        #expect(error.code == .conflict)
        #expect(try scratch.store.transfers.counts() == [.waiting: distance + 1])
        #expect(try scratch.store.transfers.find(id, now: .start)?.priority == .high)
    }

    @Test func whatIsSaidAnewIsChanged() throws {
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1") {
            $0.priority = .low
            $0.earliestBegin = .start + 60
            $0.options.headers["A"] = "1"
            $0.options.limitRate = 10
        }
        let checksum = Checksum(algorithm: .md5, hex: "ab")
        let again = try enqueue {
            $0.earliestBegin = .start + 120
            $0.deadline = .after(seconds: 600)
            $0.options.headers["A"] = "2"
            $0.options.checksum = checksum
        }
        #expect(again == existing(id))
        let work = try #require(try scratch.turn(epoch) { try $0.transfers.work(id) })
        #expect(work.request.priority == .low && work.request.options.limitRate == 10)
        #expect(work.request.options.headers["A"] == "2")
        #expect(work.request.options.checksum == checksum)
        #expect(work.request.earliestBegin == .start + 60 && work.readyAt == .start + 60)
        #expect(work.deadline == .start + 660)
        #expect(try scratch.turn(epoch) { try $0.inbox.removeFirst(limit: 9) } == [id])
    }

    @Test func aFailedOneIsTriedAgainAndACancelledOneIsNot() throws {
        let epoch = try scratch.lead()
        let cancelled = try scratch.add("/d/1")
        _ = try scratch.store.wants.change(.ids([cancelled]), to: .cancel(keepBytes: true))
        // No engine has seen the cancel yet.
        guard case .recorded(let id, _) = try enqueue() else {
            Issue.record("a cancelled one is not taken up again")
            return
        }
        #expect(try enqueue() == existing(id))
        try end(cancelled, epoch, failing: false)
        try end(id, epoch, failing: true)
        #expect(try enqueue() == existing(id))
        #expect(try scratch.state(id) == .waiting)
        #expect(try enqueue() == existing(id))
        // Its destination is reserved from now on, and not only when an engine has begun.
        #expect(
            try refusal { _ = try enqueue { $0.url += "?2" } }.transferID == id)
        #expect(try scratch.turn(epoch) { try $0.transfers.rearm(id, now: .start) })
        #expect(try enqueue() == existing(id))
    }

    @Test func aDeadlineThatIsOverGivesWay() throws {
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/1") { $0.deadline = .at(.start + -1) }
        try end(id, epoch, failing: true)
        #expect(try enqueue() == existing(id))
        let work = try #require(try scratch.turn(epoch) { try $0.transfers.work(id) })
        #expect(work.request.deadline == .after(seconds: Deadline.defaultSeconds))
    }

    /// The newer of two with one destination goes on, unless the older one is named.
    @Test func whatWasReplacedIsNotTriedAgainWithTheOthers() throws {
        let epoch = try scratch.lead()
        let old = try scratch.add("/d/1")
        let new = try scratch.add("/d/1") { $0.options.onDuplicate = .replace }
        // A second one, before an engine has seen the first.
        let last = try scratch.add("/d/1") { $0.options.onDuplicate = .replace }
        try end(old, epoch, failing: false)
        try end(new, epoch, failing: false)
        try end(last, epoch, failing: true)
        func retry(_ selection: Selection) throws -> [WantOutcome.Result] {
            try scratch.store.wants.change(selection, to: .retry).map(\.result)
        }
        #expect(try retry(.all) == [.replaced(by: new), .replaced(by: last), .changed])
        try scratch.turn(epoch) { verify(try $0.transfers.rearm(last, now: .start)) }
        try end(last, epoch, failing: false)
        #expect(try retry(.ids([old])) == [.changed])
    }
}
