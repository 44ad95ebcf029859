import LonghaulCore
import Testing

@testable import LonghaulStore

@Suite struct LeaseTests {
    @Test func aHolderThatWasReplacedWritesNothing() throws {
        let scratch = try ScratchStore()
        let id = try scratch.add("/d/1")
        let old = try scratch.lead()
        let other = try Store.open(directory: scratch.directory)
        let new = try other.lease.raiseEpoch(
            EngineHolder(pid: 7, pidStart: 8, bootID: "b", mode: "run"), now: .start + 1)
        #expect(new > old)
        #expect(throws: LeaseLost.self) {
            try scratch.turn(old) { _ = try $0.transfers.claim(id, now: .start) }
        }
        #expect(try scratch.state(id) == .waiting)
        try other.withEngineTransaction(new, .durable) {
            _ = try $0.transfers.claim(id, now: .start)
        }
        #expect(try scratch.state(id) == .running)

        // Leaving late changes nothing for the new holder.
        try scratch.store.lease.release(old)
        let info = try scratch.store.lease.info()
        #expect(info.holder == EngineHolder(pid: 7, pidStart: 8, bootID: "b", mode: "run"))
        #expect(info.since == .start + 1)
        #expect(info.epoch == new)
    }

    @Test func leavingInOrderNamesNobody() throws {
        let scratch = try ScratchStore()
        #expect(try scratch.store.lease.info().holder == nil)
        let epoch = try scratch.lead()
        try scratch.turn(epoch) { try $0.setNextWake(.start + 60) }
        #expect(try scratch.store.lease.info().nextWake == .start + 60)
        try scratch.store.lease.release(epoch)
        let info = try scratch.store.lease.info()
        #expect(info.holder == nil)
        #expect(info.epoch == epoch)
        #expect(info.storeID.count == 32)
    }

    /// Clients on connections of their own change wants while an engine works: nobody is turned
    /// away, nothing is lost.
    @Test func clientsAndEngineShareTheStore() async throws {
        let scratch = try ScratchStore()
        let directory = scratch.directory
        let epoch = try scratch.lead()
        let clients = 4
        let each = 40
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<clients {
                group.addTask {
                    let store = try Store.open(directory: directory)
                    for number in 0..<each {
                        let new = NewTransfer.sample("/d/\(client)/\(number)")
                        let outcome = try store.wants.enqueue([new], now: .start)
                        guard case .recorded(let id, _) = outcome[0] else { continue }
                        if number % 2 == 0 { _ = try store.wants.change(.ids([id]), to: .pause) }
                    }
                }
            }
            group.addTask {
                let store = try Store.open(directory: directory)
                for _ in 0..<50 {
                    try store.withEngineTransaction(epoch, .relaxed) { tx in
                        for row in try tx.ready.readyHead(now: .start).rows.prefix(1) {
                            _ = try tx.transfers.claim(row.id, now: .start)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let counts = try scratch.store.transfers.counts()
        #expect(counts.values.reduce(0, +) == clients * each)
        let waiting: Int? = try scratch.store.access {
            try $0.value("SELECT count(*) FROM transfer WHERE want = 1")
        }
        #expect(waiting == clients * each / 2)
    }
}
