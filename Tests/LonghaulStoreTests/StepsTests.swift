import CSQLite
import LonghaulCore
import Testing

@testable import LonghaulStore

/// What is asked at each start and in each turn costs the same however long the queue is: counted
/// in steps of SQLite's machine.
@Suite struct StepsTests {
    private static let many = 600

    /// Steps of all statements that the body runs.
    private func steps(_ scratch: ScratchStore, _ body: () throws -> Void) throws -> Int {
        func total() throws -> Int {
            try scratch.store.access { connection in
                let database = connection.handle
                var sum = 0
                var statement = sqlite3_next_stmt(database, nil)
                while let found = statement {
                    sum += Int(sqlite3_stmt_status(found, SQLITE_STMTSTATUS_VM_STEP, 0))
                    statement = sqlite3_next_stmt(database, found)
                }
                return sum
            }
        }
        try body()
        let before = try total()
        try body()
        return try total() - before
    }

    @Test func whatIsBeingCancelledIsNotWalkedForTheNextDeadline() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let ids = try (0..<Self.many).map { try scratch.add("/d/\($0)") }
        _ = try scratch.store.wants.change(.ids(ids), to: .cancel(keepBytes: false))
        let steps = try steps(scratch) {
            try scratch.turn(epoch) { tx in
                let next = try tx.timers.nextDeadline(.start)
                let expired = try tx.timers.expired(.distantFuture, limit: 9)
                #expect(next == nil && expired.isEmpty)
            }
        }
        #expect(steps < 300)
    }

    @Test func endedOnesAreNotWalkedForThoseThatAskForTheSame() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        func add(_ number: Int) throws -> TransferID {
            try scratch.add("/d/\(number)") { $0.options.onDuplicate = .separate }
        }
        let ids = try (0..<Self.many).map(add)
        try scratch.turn(epoch) { tx in
            for id in ids { try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start) }
        }
        let id = try add(Self.many)
        let steps = try steps(scratch) {
            try scratch.turn(epoch) { tx in
                let found = try tx.transfers.work(id)
                let work = try #require(found)
                let queued = try tx.sharing.queued(work.identityKey, .pause, limit: 9)
                let finished = try tx.sharing.finished(like: work, now: .start)
                #expect(queued.map(\.id) == [id] && finished == nil)
            }
        }
        #expect(steps < 400)
    }

    /// A command that waits looks at the running transfers several times a second.
    @Test func eachTransferThatIsMadeReadyCostsALookTheSame() throws {
        func cost(_ count: Int) throws -> Int {
            let scratch = try ScratchStore()
            let epoch = try scratch.lead()
            let ids = try (0..<count).map { number in
                try scratch.add("/d/\(number)") { $0.url = "https://a.example/\(number)" }
            }
            try scratch.turn(epoch) { tx in
                for id in ids {
                    let claimed = try tx.transfers.claim(id, now: .start)
                    var state = try #require(claimed).fetch
                    try tx.fetches.mark(&state, prefetched: true)
                }
            }
            return try steps(scratch) {
                let counts = try scratch.store.transfers.runningCounts()
                #expect(counts.prefetched.count == count)
            }
        }
        let (few, many) = (try cost(20), try cost(200))
        #expect(many < 12 * few, "\(few) steps for 20, \(many) for 200")
    }
}
