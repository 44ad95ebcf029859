import LonghaulCore
import Testing

@testable import LonghaulStore

/// Rows of a sound file that make no sense.
@Suite struct DamagedRowTests {
    private func spoil(_ scratch: ScratchStore, _ statement: String) throws {
        try scratch.store.access { try $0.run(statement) }
    }

    @Test(arguments: [Int64.min, -1, .max]) func numbersDoNotTrap(number: Int64) throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/a") {
            $0.options.mirrors = ["https://b.example/file"]
            $0.options.connections = .exactly(2)
        }
        let claimed = try scratch.turn(epoch) { try $0.transfers.claim(id, now: .start) }
        let fetch = try #require(claimed).fetch.id
        for column in [
            "generation", "bytesTotal", "bytesFetched", "attempts", "restarts",
            "fruitlessAttempts", "emptyAnswers", "source",
        ] {
            try spoil(scratch, "UPDATE fetch SET \(column) = \(number)")
        }
        for column in [
            "bytesTotal", "bytesDone", "bytesFetched", "attempts", "expectedBytes", "partSuffix",
            "created", "deadline", "earliest", "readySince", "startedAt",
        ] {
            try spoil(scratch, "UPDATE transfer SET \(column) = \(number)")
        }
        try spoil(scratch, "UPDATE tally SET n = \(number)")
        let found = try scratch.turn(epoch) {
            (try $0.transfers.work(id), try $0.fetches.state(of: fetch))
        }
        let (work, state) = (try #require(found.0), try #require(found.1))
        let target = FetchTarget(
            transfer: id, request: work.request, destination: "/d/a", deadline: nil)
        let machine = FetchMachine(target, state, firstSerial: 1)
        _ = machine.begin()
        #expect(machine.target.sources.contains(machine.url))
        #expect(!machine.frame.bytes.state.isDurable)
        var next = state
        next.generation += 1
        next.attempts += 1
        next.bytesFetched += 1
        try scratch.turn(epoch) { try $0.fetches.save(next) }
        #expect(try scratch.store.transfers.list(now: .start).map(\.id) == [id])
        _ = try scratch.store.transfers.counts()
        let shown = try #require(try scratch.store.transfers.find(id, now: .start))
        #expect(shown.attempts >= 0 && !RFC3339.format(shown.createdAt).isEmpty)
    }

    /// What damage has left of its options is not what was asked for: it is neither begun, nor
    /// changed, nor taken for an equal one.
    @Test func optionsThatCannotBeReadAreKept() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/a")
        try spoil(scratch, "UPDATE transfer SET options = '{\"ifExists\":\"x\"}'")
        try scratch.turn(epoch) { tx in
            verify(try tx.transfers.work(id)?.isUnreadable == true)
            verify(try tx.transfers.claim(id, now: .start) == nil)
        }
        var change = RequestChange()
        change.editOptions = { $0.retries = 3 }
        let error = try refusal { try scratch.store.wants.change(id, change, now: .start) }
        #expect(error.code == .internal && error.transferID == id)
        let kept: String? = try scratch.store.access {
            try $0.value("SELECT options FROM transfer")
        }
        #expect(kept == #"{"ifExists":"x"}"#)
        try scratch.add("/d/b") { $0.options.onDuplicate = .fail }
    }
}
