import LonghaulCore
import Testing

@testable import LonghaulStore

/// The processes that read the bytes of transfers as they come.
@Suite struct ReaderTests {
    private let scratch: ScratchStore
    private let epoch: Epoch
    private let process = LaunchedProcess(pid: 7, startTicks: 8, bootID: "b")

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
    }

    private func work(_ id: TransferID) throws -> TransferWork {
        try #require(try scratch.turn(epoch) { try $0.transfers.work(id) })
    }

    private func inbox() throws -> [TransferID] {
        try scratch.turn(epoch) { try $0.inbox.removeFirst(limit: 10) }
    }

    @Test func aReadTransferRunsNowAndInOrder() throws {
        let id = try scratch.add("/d/a") {
            $0.schedule.requires = ConditionNeeds(power: true)
            $0.earliestBegin = .start + 60
        }
        let readers = scratch.store.readers
        let first = try readers.enter(id, from: 500, process)
        #expect(try inbox() == [id])
        #expect(try work(id).readFrom == 500)
        #expect(try work(id).eligibility.runsNow && work(id).readyAt == nil)
        let second = try readers.enter(id, from: 20, process)
        #expect(try work(id).readFrom == 20)
        try readers.leave(second, of: id)
        #expect(try work(id).readFrom == 500)
        try readers.leave(first, of: id)
        #expect(try work(id).readFrom == nil)
        #expect(try work(id).eligibility.runsNow, "it goes on")
    }

    @Test func aPausedTransferStaysPaused() throws {
        let id = try scratch.add("/d/a")
        _ = try scratch.store.wants.change(.ids([id]), to: .pause, now: .start)
        _ = try scratch.store.readers.enter(id, from: 0, process)
        try scratch.store.readers.hasten(id)
        #expect(try work(id).want == .pause && !work(id).eligibility.runsNow)
    }

    /// The pause after a failed attempt is not cut short, however often a reader asks.
    @Test func aBackOffIsKept() throws {
        let id = try scratch.add("/d/a") { $0.schedule.requires = ConditionNeeds(power: true) }
        let readers = scratch.store.readers
        _ = try readers.enter(id, from: 0, process)
        let wait = WaitReason(.backoff, required: "", current: "", nextCheck: .start + 9)
        try scratch.turn(epoch) {
            try $0.transfers.setQueued(
                id, readyAt: .start + 9, waitingFor: [wait], now: .start)
        }
        _ = try inbox()
        try readers.hasten(id)
        #expect(try work(id).readyAt == .start + 9 && inbox().isEmpty)
        try scratch.turn(epoch) { _ = try $0.timers.promoteDue(.start + 9, limit: 10) }
        try readers.hasten(id)
        #expect(try work(id).eligibility.runsNow && inbox() == [id])
        try readers.hasten(id)
        #expect(try inbox().isEmpty, "once")
    }

    @Test func readersThatAreGoneAreSwept() throws {
        let id = try scratch.add("/d/a")
        let readers = scratch.store.readers
        let dead = LaunchedProcess(pid: 9, startTicks: 8, bootID: "b")
        _ = try readers.enter(id, from: 0, dead)
        _ = try readers.enter(id, from: 5, process)
        #expect(try readers.sweep { $0 == process } == [id])
        #expect(try work(id).readFrom == 5)
        #expect(try readers.sweep { $0 == process }.isEmpty)
    }
}
