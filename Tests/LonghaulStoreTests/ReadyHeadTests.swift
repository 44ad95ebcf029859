import LonghaulCore
import Testing

@testable import LonghaulStore

@Suite struct ReadyHeadTests {
    /// Transfers of one group, whatever their number in one batch.
    private func enqueue(
        _ scratch: ScratchStore, _ count: Int, origin: String, session: String,
        _ edit: (inout TransferRequest) -> Void = { _ in }
    ) throws {
        let batch = try scratch.store.transfers.counts()[.waiting] ?? 0
        _ = try scratch.store.wants.enqueue(
            (0..<count).map {
                .sample("/d/\(batch)/\($0)", origin: origin, session: session, edit)
            }, now: .start)
    }

    @Test func aLongQueueHidesNobody() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        try enqueue(scratch, 2000, origin: "a", session: "one")
        try enqueue(scratch, 3, origin: "b", session: "one")
        try enqueue(scratch, 2, origin: "a", session: "two")
        try enqueue(scratch, 1, origin: "a", session: "one") { $0.priority = .low }
        try enqueue(scratch, 1, origin: "a", session: "one") { $0.isDiscretionary = true }
        let head = try scratch.turn(epoch) {
            try $0.ready.readyHead(ReadyLimits(total: 20, perGroup: 4), now: .start)
        }
        #expect(head.resumeAfter == ReadyPlace())
        #expect(head.rows.count == 11)
        let groups = Dictionary(grouping: head.rows) {
            "\($0.origin) \($0.sessionID) \($0.priority) \($0.eligibility.isDiscretionary)"
        }
        #expect(groups.count == 5)
        #expect(groups.values.map(\.count).sorted() == [1, 1, 2, 3, 4])
        for rows in groups.values { #expect(rows.map(\.id) == rows.map(\.id).sorted()) }
        // One of each group before a second of any.
        #expect(
            Set(
                head.rows.prefix(5).map {
                    "\($0.origin) \($0.sessionID) \($0.priority) \($0.eligibility.isDiscretionary)"
                }
            ).count == 5)
    }

    @Test func aSingleGroupFillsTheLookAhead() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        try enqueue(scratch, 500, origin: "a", session: "one")
        let head = try scratch.turn(epoch) {
            try $0.ready.readyHead(ReadyLimits(total: 300, perGroup: 4), now: .start)
        }
        #expect(head.rows.map(\.id.rawValue) == Array(1...300))
    }

    @Test func whatIsExcludedIsSkipped() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        try enqueue(scratch, 5, origin: "a", session: "one")
        try enqueue(scratch, 5, origin: "b", session: "one")
        let head = try scratch.turn(epoch) {
            try $0.ready.readyHead(
                ReadyLimits(total: 3, perGroup: 1), excludingOrigins: ["a"], now: .start)
        }
        #expect(head.rows.map(\.id.rawValue) == [6, 7, 8])
    }

    @Test func moreOriginsThanRoomComeUpInTurn() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        for origin in 0..<10 {
            try enqueue(scratch, 2, origin: "o\(origin)", session: "one")
        }
        try enqueue(scratch, 2, origin: "o0", session: "two")
        var seen: Set<String> = []
        var after = ReadyPlace()
        for _ in 0..<4 {
            let head = try scratch.turn(epoch) {
                try $0.ready.readyHead(
                    ReadyLimits(total: 50, perGroup: 1, groups: 6, after: after),
                    now: .start)
            }
            // The other session is never crowded out.
            #expect(head.rows.contains { $0.sessionID == 2 })
            seen.formUnion(head.rows.filter { $0.sessionID == 1 }.map(\.origin))
            after = head.resumeAfter
            #expect(after.origin > 0)
        }
        #expect(seen.count == 10)
    }

    @Test func whatWasMovedToTheFrontIsSeenBehindAnyQueue() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        try enqueue(scratch, 40, origin: "a", session: "one")
        let order: [Int64] = [40] + Array(1..<40)
        try scratch.store.wants.arrange(order.map(TransferID.init(rawValue:)))
        let limits = ReadyLimits(total: 4, perGroup: 1)
        let head = try scratch.turn(epoch) { try $0.ready.readyHead(limits, now: .start) }
        #expect(head.rows.map(\.id.rawValue) == [40, 1, 2, 3])
        #expect(head.rows.map(\.place) == [1, 2, 3, 4])
        let none = try scratch.turn(epoch) {
            try $0.ready.readyHead(limits, excludingOrigins: ["a"], now: .start)
        }
        #expect(none.rows.isEmpty)
    }

    /// Places are exchanged, and go with the transfer that has them.
    @Test func placesGoWithTheirTransfers() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        try enqueue(scratch, 4, origin: "a", session: "one")
        let ids = (1...4).map { TransferID(rawValue: $0) }
        try scratch.store.wants.arrange([ids[2], ids[0], ids[1]])
        #expect(try scratch.store.wants.places() == [ids[2]: 1, ids[0]: 2, ids[1]: 3])
        try scratch.store.wants.arrange([ids[3], ids[1]])
        #expect(
            try scratch.store.wants.places() == [ids[2]: 1, ids[0]: 2, ids[3]: 3, ids[1]: 4])
        try scratch.turn(epoch) { tx in
            _ = try tx.transfers.claim(ids[2], now: .start)
            try tx.transfers.complete(
                ids[2], finalPath: "/f", numbers: TransferTotals(), now: .start)
        }
        try scratch.store.wants.arrange([ids[0]])
        #expect(try scratch.store.wants.places() == [ids[0]: 2, ids[3]: 3, ids[1]: 4])
    }

    /// The last of a long queue may have the least time left. One that may not start is not shown.
    @Test func aNearDeadlineIsSeenBehindAnyQueue() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        try enqueue(scratch, 20, origin: "a", session: "one")
        try enqueue(scratch, 1, origin: "a", session: "one") { $0.deadline = .after(seconds: 45) }
        try enqueue(scratch, 1, origin: "b", session: "one") { $0.deadline = .after(seconds: 40) }
        try enqueue(scratch, 1, origin: "a", session: "one") {
            $0.deadline = .after(seconds: 50)
            $0.earliestBegin = .start + 10
        }
        let limits = ReadyLimits(total: 4, perGroup: 1)
        let head = try scratch.turn(epoch) { try $0.ready.readyHead(limits, now: .start) }
        #expect(head.rows.map(\.id.rawValue) == [22, 21, 1, 2])
        let others = try scratch.turn(epoch) {
            try $0.ready.readyHead(limits, excludingOrigins: ["a"], now: .start)
        }
        #expect(others.rows.map(\.id.rawValue) == [22])
    }

    @Test func onlyOneKindIsLookedAtWhenAsked() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        try enqueue(scratch, 1, origin: "a", session: "one")
        try enqueue(scratch, 1, origin: "b", session: "one") { $0.isDiscretionary = true }
        for (only, expected) in [(true, ["b"]), (false, ["a"])] {
            let head = try scratch.turn(epoch) {
                let eligibilities = try $0.ready.readyEligibilities().filter {
                    $0.isDiscretionary == only
                }
                return try $0.ready.readyHead(
                    ReadyLimits(eligibilities: eligibilities), now: .start)
            }
            #expect(head.rows.map(\.origin) == expected)
        }
    }

    /// Servers that are down could fill the head: those that come after them are seen all the same.
    @Test(arguments: [1, 3]) func whatCoolsDownHidesNobody(sessions: Int) throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        for origin in 0..<40 {
            for session in 0..<sessions {
                try enqueue(scratch, 2, origin: "o\(origin)", session: "s\(session)")
            }
        }
        try scratch.turn(epoch) { tx in
            for origin in 0..<39 {
                var memory = OriginMemory(origin: "o\(origin)")
                memory.failures = 3
                memory.coolDownUntil = .start + Double(100 + origin)
                memory.coolDownSince = .start
                try tx.origins.save(memory)
            }
        }
        let limits = ReadyLimits(total: 12, perGroup: 2, groups: 9)
        let head = try scratch.turn(epoch) { try $0.ready.readyHead(limits, now: .start) }
        #expect(Set(head.rows.map(\.origin)) == ["o39"])
        #expect(head.rows.count == 2 * sessions)
        #expect(head.coolDownEnds == .start + 100)
        let later = try scratch.turn(epoch) { try $0.ready.readyHead(limits, now: .start + 102) }
        #expect(Set(later.rows.map(\.origin)).isSuperset(of: ["o0"]))
    }

    /// Thousands that are down are read once, and not by each look; those between and behind them
    /// are seen, and so is the end of the first cool-down.
    @Test func whatIsKnownToCoolDownIsNotReadAgain() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        for origin in 0..<60 { try enqueue(scratch, 2, origin: "o\(origin)", session: "one") }
        let good = [7, 30, 59]
        try scratch.turn(epoch) { tx in
            for origin in 0..<60 where !good.contains(origin) {
                var memory = OriginMemory(origin: "o\(origin)")
                memory.failures = 3
                memory.coolDownUntil = .start + Double(100 + (origin + 30) % 60)
                memory.coolDownSince = .start
                try tx.origins.save(memory)
            }
        }
        func look(_ cooling: CoolingOrigins, after seconds: Double) throws -> ReadyHead {
            try scratch.turn(epoch) {
                try $0.ready.readyHead(ReadyLimits(), cooling: cooling, now: .start + seconds)
            }
        }
        let first = try look(CoolingOrigins(), after: 0)
        #expect(first.originsRead == 60)
        let second = try look(first.cooling, after: 1)
        #expect(second.originsRead == good.count)
        #expect(second.rows == first.rows && second.resumeAfter == first.resumeAfter)
        #expect(first.coolDownEnds == .start + 101 && second.coolDownEnds == .start + 101)
        // Three more are over.
        let later = try look(second.cooling, after: 103)
        #expect(later.originsRead == good.count + 3)
        #expect(
            Set(later.rows.map(\.origin)) == ["o7", "o30", "o59", "o31", "o32", "o33"])
        #expect(later.coolDownEnds == .start + 104)
    }

    /// Those with mirrors may begin elsewhere.
    @Test func whoHasMirrorsIsSeenBesideTheCoolDown() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        try enqueue(scratch, 2, origin: "o", session: "one")
        try enqueue(scratch, 2, origin: "o", session: "one") { $0.options.mirrors = ["http://m/"] }
        let head = try scratch.turn(epoch) { tx in
            var memory = OriginMemory(origin: "o")
            memory.failures = 3
            memory.coolDownUntil = .start + 100
            memory.coolDownSince = .start
            try tx.origins.save(memory)
            return try tx.ready.readyHead(excludingOrigins: ["o"], now: .start)
        }
        #expect(head.rows.map(\.id.rawValue) == [3, 4])
        let mirrors = try scratch.turn(epoch) { tx in
            try head.rows.map { try tx.transfers.mirrors(of: $0.id) }
        }
        #expect(mirrors == [["http://m/"], ["http://m/"]])
    }

    /// The next moment that matters is not that of one for which nothing waits any more.
    @Test func aCoolDownThatNobodyWaitsForIsNoMoment() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        for origin in 0..<3 { try enqueue(scratch, 1, origin: "o\(origin)", session: "one") }
        try scratch.turn(epoch) { tx in
            for origin in 0..<3 {
                var memory = OriginMemory(origin: "o\(origin)")
                memory.failures = 3
                memory.coolDownUntil = .start + Double(100 + origin)
                memory.coolDownSince = .start
                try tx.origins.save(memory)
            }
        }
        let limits = ReadyLimits()
        let first = try scratch.turn(epoch) { try $0.ready.readyHead(limits, now: .start) }
        #expect(first.coolDownEnds == .start + 100)
        let second = try scratch.turn(epoch) { tx in
            try tx.transfers.setQueued(
                TransferID(rawValue: 1), readyAt: .start + 500, waitingFor: [], now: .start)
            return try tx.ready.readyHead(limits, cooling: first.cooling, now: .start)
        }
        #expect(second.rows.isEmpty && second.coolDownEnds == .start + 101)
    }

    /// More origins than rows, in every queue another number: each comes up within a few looks.
    @Test func everyOriginComesUp() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let numbers = ["one": 50, "two": 7, "three": 23]
        for (session, count) in numbers {
            for origin in 0..<count {
                try enqueue(scratch, 1, origin: "\(session)\(origin)", session: session)
            }
        }
        var seen: Set<String> = []
        var after = ReadyPlace()
        for _ in 0..<20 {
            let head = try scratch.turn(epoch) {
                try $0.ready.readyHead(
                    ReadyLimits(total: 12, perGroup: 1, after: after), now: .start)
            }
            #expect(head.rows.count <= 12)
            seen.formUnion(head.rows.map(\.origin))
            after = head.resumeAfter
        }
        #expect(seen.count == 80)
    }

    /// More sessions than rows, and two eligibilities: each comes up, and the more urgent are
    /// always there.
    @Test func everySessionComesUp() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        for session in 0..<40 {
            try enqueue(scratch, 1, origin: "a", session: "plain\(session)")
            try enqueue(scratch, 1, origin: "a", session: "wifi\(session)") {
                $0.schedule.requires = ConditionNeeds(power: true)
            }
        }
        try enqueue(scratch, 1, origin: "a", session: "urgent") { $0.priority = .high }
        var seen: Set<Int64> = []
        var after = ReadyPlace()
        for _ in 0..<10 {
            let head = try scratch.turn(epoch) {
                try $0.ready.readyHead(
                    ReadyLimits(total: 12, perGroup: 1, after: after), now: .start)
            }
            #expect(head.rows.contains { $0.priority == .high })
            seen.formUnion(head.rows.map(\.sessionID))
            after = head.resumeAfter
        }
        #expect(seen.count == 81)
    }
}
