import LonghaulCore
import Testing

@testable import LonghaulStore

/// What the store knows of hosts and their launches.
@Suite struct LaunchStoreTests {
    private let scratch: ScratchStore
    private let epoch: Epoch

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
        try scratch.store.hosts.add("h", HostSettings(argv: ["/bin/true"]), now: .start)
    }

    /// `count` transfers of the host's session that have ended.
    private func finish(_ count: Int) throws {
        let ids = try (1...count).map { number in
            try scratch.add("/d/\(number)", session: "s") { $0.host = "h" }
        }
        try scratch.turn(epoch) { tx in
            for id in ids {
                try tx.transfers.cancel(id, numbers: TransferTotals(), now: .start)
            }
        }
    }

    private func launch(_ events: ClosedRange<Int64>) throws -> LaunchID {
        let handover = Handover(
            session: "s", reason: .sessionEvents, events: events, count: events.count)
        let id = LaunchID(rawValue: try scratch.store.hosts.lastLaunch().rawValue + 1)
        return try scratch.turn(epoch) { tx in
            try tx.launches.begin(
                id, of: "h", handover,
                process: LaunchedProcess(pid: 7, startTicks: 8, bootID: "b"),
                deadline: .start + 30, now: .start)
            return id
        }
    }

    private func end(
        _ id: LaunchID, _ ending: LaunchEnding, _ status: Int? = nil, at now: Timestamp = .start,
        wasOurs: Bool = true
    ) throws {
        try scratch.turn(epoch) { tx in
            let outcome = LaunchOutcome(ending, status: status, output: "o")
            try tx.launches.end(id, outcome, wasOurs: wasOurs, now: now)
        }
    }

    private func waiting() throws -> [Int64] {
        try scratch.store.events.list(isWaiting: true, limit: 100).map(\.seq)
    }

    @Test func successAcknowledgesWhatWasHandedOver() throws {
        try finish(3)
        let id = try launch(1...2)
        #expect(try scratch.store.hosts.launch(id)?.process?.pid == 7)
        #expect(try scratch.store.sessions.find("s")?.acknowledgedThrough == 0)
        try end(id, .exited, 0)
        #expect(try waiting() == [3, 4])
        let launch = try #require(try scratch.store.hosts.launch(id))
        #expect(launch.outcome?.ending == .exited)
        #expect(launch.outcome?.output == "o")
        let session = try #require(try scratch.store.sessions.find("s"))
        #expect(session.acknowledgedThrough == 2 && session.acknowledgingLaunch == id.rawValue)
        _ = try scratch.store.events.acknowledge([3], now: .start + 1)
        let later = try #require(try scratch.store.sessions.find("s"))
        #expect(later.acknowledgedThrough == 3 && later.acknowledgingLaunch == nil)
        #expect(try scratch.store.hosts.find("h")?.failures == 0)
        // The second report of an end is none.
        try end(id, .expired)
        #expect(try scratch.store.hosts.launch(id)?.outcome?.ending == .exited)
    }

    @Test func failuresDelayTheNextLaunchUntilAReset() throws {
        try finish(1)
        for expected in [(1, 60.0), (2, 120), (3, 240)] {
            try end(try launch(1...2), .exited, 1)
            let host = try #require(try scratch.store.hosts.find("h"))
            #expect(host.failures == expected.0)
            #expect(host.retryAt == .start + expected.1)
        }
        #expect(try waiting() == [1, 2])
        try scratch.store.hosts.reset("h", now: .start)
        #expect(try scratch.store.hosts.find("h")?.failures == 0)
        #expect(try scratch.store.hosts.find("h")?.retryAt == nil)
        try end(try launch(1...2), .expired)
        #expect(try scratch.store.hosts.find("h")?.failures == 1)
        try end(try launch(1...2), .unknown, wasOurs: false)
        #expect(try scratch.store.hosts.find("h")?.failures == 1)
        // Where the status is lost each time it would be started without end.
        try end(try launch(1...2), .unknown)
        #expect(try scratch.store.hosts.find("h")?.failures == 2)
        #expect(try scratch.store.hosts.find("h")?.retryAt == .start + 120)
        try end(try launch(1...2), .exited, 0)
        #expect(try scratch.store.hosts.find("h")?.failures == 0)
        #expect(try waiting() == [])
    }

    /// A lost requirement is not its own fault; the end that a test asks for counts as that of its
    /// time.
    @Test(
        arguments: [
            (.time, 1), (.processor, 1), (.simulated, 1), (.requirement, 0),
        ] as [(ExpirationReason, Int)])
    func whatIsKilledHasFailed(_ reason: ExpirationReason, failures: Int) throws {
        try finish(1)
        let id = try launch(1...2)
        var outcome = LaunchOutcome(.expired, status: 9)
        outcome.expiration = reason
        try scratch.turn(epoch) { tx in try tx.launches.end(id, outcome, now: .start) }
        #expect(try scratch.store.hosts.find("h")?.failures == failures)
        #expect(try scratch.store.hosts.failing().count == failures)
    }

    /// How it went is not known, and there is nothing left to be told.
    @Test func nothingIsHeldAgainstOneThatLeavesNothing() throws {
        try finish(1)
        let id = try launch(1...2)
        for event in try waiting() {
            try scratch.store.events.acknowledge(event: event, now: .start)
        }
        try end(id, .unknown)
        #expect(try scratch.store.hosts.find("h")?.failures == 0)
    }

    private func facts() throws -> HostFacts? {
        try scratch.store.tasks.facts().snapshot.hosts["h"]
    }

    @Test func factsForThePolicy() throws {
        #expect(try facts() == nil)
        try finish(2)
        var known = try #require(try facts())
        #expect(known.sessions.map(\.name) == ["s"])
        #expect(known.sessions.first?.isDrained == true)
        #expect(known.sessions.first?.firstWaiting == .start)
        _ = try scratch.add("/d/9", session: "s")
        known = try #require(try facts())
        #expect(known.sessions.first?.isDrained == false)
        try scratch.store.hosts.remove("h")
        #expect(try facts()?.obstacle == .removed)
        _ = try scratch.store.events.acknowledge(through: 3, now: .start)
        #expect(try facts() == nil)
    }

    @Test func itIsKnownWhoseTurnItWas() throws {
        try finish(1)
        #expect(try facts()?.sessions.first?.lastLaunch == 0)
        let id = try launch(1...2)
        try end(id, .exited, 1)
        #expect(try facts()?.sessions.first?.lastLaunch == id.rawValue)
    }

    /// A need that arises while a launch is gathered is for the next one: who is told of it is
    /// asked.
    @Test func whatIsHandedOverEndsWhereTheNeedsWereRead() throws {
        try finish(2)
        let needy = try scratch.add("/d/9", session: "s")
        var reader = try HandoverReader(scratch.store, session: "s", limit: 100, now: .start)
        let waits = try scratch.turn(epoch) { tx in
            var error = LonghaulError(.notFound, "gone")
            error.httpStatus = 404
            return try tx.questions.needInput(
                needy, error: error, numbers: TransferTotals(), now: .start)
        }
        #expect(waits)
        #expect(reader.needs.isEmpty)
        #expect(try reader.next(page: 2, now: .start).map(\.event.seq) == [1, 2])
        #expect(try reader.next(page: 2, now: .start).map(\.event.seq) == [3])
        #expect(try reader.next(page: 2, now: .start).isEmpty)
        #expect(reader.handover?.events == 1...3)
        var next = try HandoverReader(scratch.store, session: "s", limit: 2, now: .start)
        #expect(next.needs.map(\.transfer.id) == [needy])
        #expect(try next.next(page: 2, now: .start).count == 2)
        #expect(try next.next(page: 2, now: .start).isEmpty)
        #expect(next.handover?.events == 1...2)
        // What has ended meanwhile waits for no word any more.
        try scratch.turn(epoch) { tx in
            try tx.transfers.cancel(needy, numbers: TransferTotals(), now: .start)
        }
        #expect(try scratch.store.questions.openNeeds(of: "s", now: .start).isEmpty)
    }

    /// Whoever has to be asked about is never made ready before, and keeps nobody waiting.
    @Test func thoseWhoAskAreFoundAmongTheFirst() throws {
        var change = SessionChange()
        change.host = .some("h")
        change.askBeforeStart = true
        try scratch.store.sessions.change("s", change, now: .start)
        for number in 1...9 {
            try scratch.add("/d/\(number)", session: number % 2 == 0 ? "s" : "default") {
                $0.earliestBegin = .start + (number < 5 ? 10 : 20)
            }
        }
        var asked: [Int] = []
        var promoted: [Int] = []
        for _ in 1...4 {
            try scratch.turn(epoch) { tx in
                asked.append(try tx.questions.askHosts(.start + 30, limit: 3))
                promoted.append(try tx.timers.promoteDue(.start + 30, limit: 3 - asked.last!))
            }
        }
        #expect(asked == [1, 2, 1, 0])
        #expect(promoted == [2, 1, 2, 0])
        let ready = try scratch.turn(epoch) {
            try $0.ready.readyHead(now: .start + 30).rows.map(\.id)
        }
        #expect(ready.map(\.rawValue).sorted() == [1, 3, 5, 7, 9])
        // Until its host has had its time.
        try scratch.turn(epoch) { tx in
            verify(try tx.questions.askHosts(.start + 90, limit: 9) == 0)
            verify(try tx.timers.promoteDue(.start + 90, limit: 9) == 4)
        }
    }

    /// However many are due: only the first are looked at.
    @Test func whoAsksIsLookedForInAWindow() throws {
        let plan = try scratch.store.access {
            try $0.all("EXPLAIN QUERY PLAN \(HostQuestions.asking)") { $0[3] as String }
        }
        #expect(plan[0] == "CO-ROUTINE d" && plan.contains("SCAN d"), "\(plan)")
        #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
        #expect(plan.count { $0.hasPrefix("SCAN") } == 1, "\(plan)")
    }

    @Test func openLaunchesAreWhatASuccessorLooksAfter() throws {
        try finish(1)
        let first = try launch(1...2)
        try end(first, .exited, 0)
        let second = try launch(1...2)
        #expect(try scratch.store.hosts.openLaunches().map(\.id) == [second])
        #expect(try scratch.store.hosts.launches(of: "h", limit: 9).map(\.id) == [second, first])
    }
}
