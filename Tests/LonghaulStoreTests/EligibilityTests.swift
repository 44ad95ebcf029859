import Foundation
import LonghaulCore
import Testing

@testable import LonghaulStore

@Suite struct EligibilityTests {
    private func work(_ scratch: ScratchStore, _ epoch: Epoch, _ id: TransferID) throws
        -> TransferWork
    {
        let work = try scratch.turn(epoch) { try $0.transfers.work(id) }
        return try #require(work)
    }

    @Test func aScheduleIsReadBackAsItWasAsked() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        var schedule = TransferSchedule()
        schedule.windows = TimeWindows(parsing: "Mon-Fri 22:00-06:00;Sat,Sun")
        schedule.requires = ConditionNeeds(power: true, battery: 30)
        let id = try scratch.add("/d/a") {
            $0.schedule = schedule
            $0.isDiscretionary = true
            $0.options.waiveAfter = 3600
        }
        let work = try work(scratch, epoch, id)
        #expect(work.request.schedule == schedule && work.request.isDiscretionary)
        #expect(work.eligibility.hasPreferences && work.eligibility.usesNetwork)
        #expect(work.waiver == PreferenceExpiry(checkAt: .start + 3600, by: .start + 3600))
        let shown = try #require(try scratch.store.transfers.find(id, now: .start))
        #expect(shown.schedule == schedule && shown.waiverCheck == .start + 3600)
        let plain = try scratch.add("/d/b", origin: "http://127.0.0.1:80")
        #expect(try self.work(scratch, epoch, plain).eligibility.usesNetwork == false)
        // The proxy may be the only way out of a sandbox.
        let proxied = try scratch.add("/d/c") { $0.options.proxy = "socks5h://127.0.0.1:1080" }
        #expect(try self.work(scratch, epoch, proxied).eligibility.usesNetwork == false)
    }

    @Test func namesAreReadBackAndMakeEligibilitiesOfTheirOwn() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        var schedule = TransferSchedule()
        schedule.windows = TimeWindows(parsing: "22:00-06:00")
        schedule.requires.networks = ["home", "!hot spot"]
        schedule.requires.mounts = ["/media/b"]
        var wish = TransferSchedule()
        wish.prefers = ConditionNeeds(parsing: "mounted=c")
        let schedules = [schedule, schedule, wish, TransferSchedule()]
        let ids = try schedules.enumerated().map { number, asked in
            try scratch.add("/d/\(number)") { $0.schedule = asked }
        }
        for (id, expected) in zip(ids, schedules) {
            let work = try work(scratch, epoch, id)
            #expect(work.request.schedule == expected)
            #expect(work.eligibility.conditionNeeds.required == expected.requires)
        }
        let found = try scratch.turn(epoch) { try $0.ready.readyEligibilities() }
        #expect(found.count == 3 && found.filter { $0.schedule == schedule }.count == 1)
        #expect(try scratch.store.readyEligibilities() == found)
        let rows: [Int64] = try scratch.store.access { try $0.values("SELECT id FROM calendar") }
        #expect(rows.count == 2)
        // Waived, a preference is gone.
        let wished = try work(scratch, epoch, ids[2]).eligibility
        try scratch.turn(epoch) { try $0.timers.waivePreferences(of: ids[2], in: wished) }
        #expect(try work(scratch, epoch, ids[2]).eligibility == EligibilityKey.plain)
    }

    @Test func lanesOfReadyTransfersAreFound() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        try scratch.add("/d/1")
        try scratch.add("/d/2")
        let discretionary = try scratch.add("/d/3") { $0.isDiscretionary = true }
        try scratch.add("/d/4") {
            $0.schedule.requires = ConditionNeeds(idle: true)
            $0.earliestBegin = .start + 60
        }
        let eligibilities = try scratch.turn(epoch) { try $0.ready.readyEligibilities() }
        #expect(eligibilities.map(\.isDiscretionary) == [false, true])
        let head = try scratch.turn(epoch) {
            try $0.ready.readyHead(ReadyLimits(eligibilities: [eligibilities[1]]), now: .start)
        }
        #expect(head.rows.map(\.id) == [discretionary])
        try scratch.turn(epoch) { _ = try $0.timers.promoteDue(.start + 60, limit: 10) }
        #expect(try scratch.turn(epoch) { try $0.ready.readyEligibilities().count } == 3)
    }

    @Test func whatRunsNowIsReadyUntilItsAttemptHasEnded() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/a") {
            $0.isDiscretionary = true
            $0.schedule.windows = TimeWindows(parsing: "22:00-06:00")
            $0.schedule.requires = ConditionNeeds(power: true)
            $0.earliestBegin = .start + 3600
        }
        let asked = try work(scratch, epoch, id)
        let outcomes = try scratch.store.wants.change(.ids([id]), to: .runNow)
        #expect(outcomes.map(\.result) == [.changed])
        let now = try work(scratch, epoch, id)
        #expect(now.eligibility == asked.eligibility.now && now.waiver == nil)
        #expect(now.readyAt == nil && now.eligibility.isDiscretionary)
        #expect(now.eligibility.schedule == TransferSchedule())
        let shown = try #require(try scratch.store.transfers.find(id, now: .start))
        #expect(shown.runsNow && !shown.arePreferencesWaived && shown.waitingFor.isEmpty)
        // A change of something else, and an engine that leaves, do not end it.
        var change = RequestChange()
        change.priority = .high
        try scratch.store.wants.change(id, change, now: .start)
        try scratch.turn(epoch) { try $0.transfers.setQueued(id, now: .start) }
        #expect(try work(scratch, epoch, id).eligibility == asked.eligibility.now)
        #expect(try work(scratch, epoch, id).readyAt == nil)
        // A back-off does.
        try scratch.turn(epoch) {
            try $0.transfers.setQueued(id, readyAt: .start + 9, now: .start)
        }
        let again = try work(scratch, epoch, id)
        #expect(again.eligibility == asked.eligibility && again.waiver == asked.waiver)
        #expect(again.readyAt == .start + 3600)
    }

    @Test(arguments: [WantedChange.resume, .retry, .runNow])
    func aFailedOneRunsNowOnlyIfThatIsAsked(_ change: WantedChange) throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/a") {
            $0.schedule.requires = ConditionNeeds(power: true)
            $0.earliestBegin = .start + 3600
        }
        let asked = try work(scratch, epoch, id).eligibility
        _ = try scratch.store.wants.change(.ids([id]), to: .runNow)
        try scratch.turn(epoch) { tx in
            try tx.transfers.fail(
                id, error: LonghaulError(.notFound, "gone"), numbers: TransferTotals(),
                now: .start)
        }
        _ = try scratch.store.wants.change(.ids([id]), to: change)
        try scratch.turn(epoch) { _ = try $0.transfers.rearm(id, now: .start + 10) }
        let again = try work(scratch, epoch, id)
        #expect(again.eligibility == (change == .runNow ? asked.now : asked))
        #expect(again.readyAt == (change == .runNow ? nil : .start + 3600))
    }

    @Test func waivedOnesQueueWithoutTheirPreferences() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/a") { $0.isDiscretionary = true }
        let asked = try work(scratch, epoch, id).eligibility
        #expect(try scratch.turn(epoch) { try $0.timers.nextWaiver() } == .start + 86_400)
        #expect(try scratch.turn(epoch) { try $0.timers.dueWaivers(.start, limit: 9) }.isEmpty)
        #expect(
            try scratch.turn(epoch) { try $0.timers.dueWaivers(.start + 86_400, limit: 9) } == [id])
        try scratch.turn(epoch) { try $0.timers.waivePreferences(of: id, in: asked) }
        #expect(try scratch.turn(epoch) { try $0.ready.readyEligibilities() } == [asked.waived])
        #expect(try scratch.turn(epoch) { try $0.timers.nextWaiver() } == nil)
        #expect(try scratch.store.transfers.find(id, now: .start)?.arePreferencesWaived == true)
        // Another priority leaves them waived; another deadline, and a retry, do not.
        var change = RequestChange()
        change.priority = .high
        try scratch.store.wants.change(id, change, now: .start)
        #expect(try work(scratch, epoch, id).eligibility == asked.waived)
        change.deadline = .after(seconds: 3 * 86_400)
        try scratch.store.wants.change(id, change, now: .start)
        #expect(try work(scratch, epoch, id).eligibility == asked)
        try scratch.turn(epoch) { tx in
            try tx.timers.waivePreferences(of: id, in: asked)
            try tx.transfers.fail(
                id, error: LonghaulError(.timedOut, "late"), numbers: TransferTotals(),
                now: .start + 9)
        }
        _ = try scratch.store.wants.change(.ids([id]), to: .retry)
        try scratch.turn(epoch) { _ = try $0.transfers.rearm(id, now: .start + 10) }
        let again = try work(scratch, epoch, id)
        #expect(again.eligibility == asked && again.waitingSince == .start + 10)
        #expect(again.waiver?.by == .start + 10 + 86_400)
    }

    @Test func aChangedScheduleMovesIt() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/a") { $0.schedule.requires = ConditionNeeds(power: true) }
        var change = RequestChange()
        change.requires = ConditionNeeds()
        change.windows = .some(TimeWindows(parsing: "01:00-02:00"))
        try scratch.store.wants.change(id, change, now: .start)
        let eligibility = try #require(
            try scratch.turn(epoch) { try $0.ready.readyEligibilities() }.first)
        #expect(
            eligibility.windows?.description == "01:00-02:00" && eligibility.interest.power == false
        )
        change.windows = .some(nil)
        try scratch.store.wants.change(id, change, now: .start)
        #expect(try scratch.turn(epoch) { try $0.ready.readyEligibilities() } == [.plain])
    }

    /// Equal windows have one number, and those that are damaged are not taken for none.
    @Test func windowsAreRecordedOnce() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let texts = ["Sat,Sun", "01:00-06:00", "Sat,Sun", "sat,sun"]
        let ids = try texts.enumerated().map { index, text in
            try scratch.add("/d/\(index)") { $0.schedule.windows = TimeWindows(parsing: text) }
        }
        let ready = try scratch.turn(epoch) { try $0.ready.readyEligibilities() }
        #expect(Set(ready.map(\.windows?.description)) == ["Sat,Sun", "01:00-06:00"])
        #expect(ready.count == 2)
        let head = try scratch.turn(epoch) {
            try $0.ready.readyHead(ReadyLimits(eligibilities: [ready[0]]), now: .start)
        }
        #expect(head.rows.map(\.id) == [ids[0], ids[2], ids[3]])
        try scratch.store.write(.relaxed) {
            try $0.run("UPDATE calendar SET windows = 'never' WHERE id = 1")
        }
        #expect(try work(scratch, epoch, ids[0]).isUnreadable)
        #expect(try work(scratch, epoch, ids[1]).isUnreadable == false)
        #expect(try scratch.turn(epoch) { try $0.transfers.claim(ids[0], now: .start) } == nil)
    }

    /// The moment is chosen once: what is read back, tried again or changed otherwise keeps it.
    @Test func aSpreadIsChosenOnce() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/a") {
            $0.options.spread = 86_400
            $0.schedule.windows = TimeWindows(parsing: "Mon-Fri")
        }
        let first = try work(scratch, epoch, id)
        let begin = try #require(first.request.earliestBegin)
        #expect(begin > .start && begin < .start + 86_400 && first.readyAt == begin)
        #expect(first.request.schedule.windows?.delay == begin - .start)
        #expect(first.eligibility.windows == first.request.schedule.windows)
        var change = RequestChange()
        change.windows = .some(TimeWindows(parsing: "Sat"))
        try scratch.store.wants.change(id, change, now: .start + 5)
        let second = try work(scratch, epoch, id)
        #expect(second.request.earliestBegin == begin && second.readyAt == begin)
        #expect(second.eligibility.windows?.stored == "Sat+\(Int(begin - .start))")
        change = RequestChange()
        change.earliestBegin = .some(.start + 86_400)
        try scratch.store.wants.change(id, change, now: .start + 5)
        #expect(try work(scratch, epoch, id).readyAt == begin + 86_400)
    }

    /// What has begun goes on when it may, whatever the clock was set to since.
    @Test func whatHasBegunIsNotSaidToWaitForItsBeginning() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/a") { $0.earliestBegin = .start + 100 }
        #expect(try scratch.store.transfers.find(id, now: .start)?.waitingFor.count == 1)
        try scratch.turn(epoch) { _ = try $0.timers.promoteDue(.start + 200, limit: 9) }
        #expect(try scratch.store.transfers.find(id, now: .start)?.waitingFor.isEmpty == true)
    }

    @Test func theAgeThatCountsIsThatOfItsReadiness() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        try scratch.add("/d/a") { $0.earliestBegin = .start + 100 }
        try scratch.turn(epoch) { _ = try $0.timers.promoteDue(.start + 200, limit: 9) }
        let head = try scratch.turn(epoch) { try $0.ready.readyHead(now: .start) }
        #expect(head.rows.map(\.waitingSince) == [.start + 100])
    }

    @Test func backOffsOfAWrongClockEnd() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let day = 86_400.0
        let asked = try scratch.add("/d/a") { $0.earliestBegin = .start + 10 * day }
        let late = try scratch.add("/d/b")
        let soon = try scratch.add("/d/c")
        let both = try scratch.add("/d/d") { $0.earliestBegin = .start + 5 * day }
        try scratch.turn(epoch) { tx in
            for (id, days) in [(late, 9.0), (soon, 0.5), (both, 9)] {
                try tx.transfers.setQueued(
                    id, readyAt: .start + days * day, waitingFor: [WaitReason(.backoff)],
                    now: .start)
            }
            try tx.timers.resumePauses(now: .start, limit: nil)
        }
        let moments = try [asked, late, soon, both].map { try work(scratch, epoch, $0).readyAt }
        #expect(moments == [.start + 10 * day, .start, .start + 0.5 * day, .start + 5 * day])
    }

    /// What began at a moment that is yet to come lasts as long as it was meant to, from now on.
    @Test(arguments: [nil, 10]) func pausesOfAClockThatWasSetBack(limit: Int?) throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let hour = 3600.0
        let ahead = try scratch.add("/d/a")
        let under = try scratch.add("/d/b")
        let until = try scratch.add("/d/c") { $0.earliestBegin = .start + hour }
        var origin = OriginMemory(origin: "http://h:80")
        origin.coolDownSince = .start + 5 * hour
        origin.coolDownUntil = .start + 5 * hour + 30
        origin.pauseUntil = .start + 5 * hour + 20
        try scratch.turn(epoch) { tx in
            for (id, since) in [(ahead, 2 * hour), (under, -10), (until, 2 * hour)] {
                let reason = WaitReason(
                    .backoff, since: .start + since, nextCheck: .start + since + 60)
                try tx.transfers.setQueued(
                    id, readyAt: .start + since + 60, waitingFor: [reason], now: .start)
            }
            try tx.origins.save(origin)
            try tx.timers.resumePauses(now: .start, limit: limit)
        }
        let moments = try [ahead, under, until].map { try work(scratch, epoch, $0).readyAt }
        let expected: [Timestamp] = [.start + 60, .start + 50, .start + 3600]
        #expect(moments == expected)
        let shown = try scratch.store.transfers.find(ahead, now: .start)?.waitingFor.first
        #expect(shown?.since == .start)
        #expect(shown?.nextCheck == .start + 60)
        let kept = try scratch.store.transfers.origin("http://h:80")
        #expect(kept.coolDownUntil == .start + 30)
        #expect(kept.pauseUntil == .start + 20)
    }

    /// An engine that starts does not look at a million transfers that wait for their beginning.
    @Test func noMorePausesAreLookedAtThanAllowed() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        for number in 1...3 {
            _ = try scratch.add("/d/\(number)") { $0.earliestBegin = .start + Double(number) }
        }
        let paused = try scratch.add("/d/a")
        for (limit, end) in [(3, 3_660.0), (4, 60)] {
            try scratch.turn(epoch) { tx in
                let reason = WaitReason(.backoff, since: .start + 3600, nextCheck: .start + 3660)
                try tx.transfers.setQueued(
                    paused, readyAt: .start + 3660, waitingFor: [reason], now: .start)
                try tx.timers.resumePauses(now: .start, limit: limit)
            }
            #expect(try work(scratch, epoch, paused).readyAt == .start + end)
        }
    }

    /// There is a reason to try again at once: what the server has asked for holds, and so does an
    /// earliest moment.
    @Test func waitsForOneReasonEnd() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let failed = try scratch.add("/d/a")
        let asked = try scratch.add("/d/b")
        let full = try scratch.add("/d/c")
        let soon = try scratch.add("/d/d")
        let early = try scratch.add("/d/e") { $0.earliestBegin = .start + 100 }
        let scheduled = try scratch.add("/d/f") { $0.earliestBegin = .start + 200 }
        let rows: [(TransferID, WaitReason.Reason, String?, Double)] = [
            (failed, .backoff, nil, 600), (asked, .backoff, WaitReason.retryAfter, 300),
            (full, .storage, "space", 30), (soon, .backoff, nil, 3), (early, .backoff, nil, 500),
        ]
        let ids = [failed, asked, full, soon, early, scheduled]
        func moments() throws -> [Double?] {
            try ids.map { try work(scratch, epoch, $0).readyAt.map { $0 - .start } }
        }
        try scratch.turn(epoch) { tx in
            for (id, reason, required, seconds) in rows {
                let wait = WaitReason(
                    reason, required: required, current: "\"backoff\" \"storage\"",
                    since: .start, nextCheck: .start + seconds)
                try tx.transfers.setQueued(
                    id, readyAt: .start + seconds, waitingFor: [wait], now: .start)
            }
            try tx.timers.endWaits(for: .backoff, at: .start + 5, limit: 100)
        }
        #expect(try moments() == [5, 300, 30, 3, 100, 200])
        let shown = try scratch.store.transfers.find(failed, now: .start)?.waitingFor.first
        #expect(shown?.nextCheck == .start + 5 && shown?.since == .start)
        try scratch.turn(epoch) { try $0.timers.endWaits(for: .storage, at: .start, limit: 100) }
        #expect(try moments() == [5, 300, 0, 3, 100, 200])
    }

    @Test func coolDownsEnd() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let table: [(String, Double?, Double?, Double?)] = [
            // Cools down until, asked for a pause until, what is left of it.
            ("http://a:80", 500, nil, 5), ("http://b:80", 500, 400, 400),
            ("http://c:80", 500, 3, 5), ("http://d:80", 4, nil, 4), ("http://e:80", nil, nil, nil),
        ]
        try scratch.turn(epoch) { tx in
            for (name, cool, pause, left) in table {
                var origin = OriginMemory(origin: name)
                origin.coolDownUntil = cool.map { .start + $0 }
                origin.coolDownSince = cool.map { _ in .start }
                origin.pauseUntil = pause.map { .start + $0 }
                try tx.origins.save(origin)
                origin.endCoolDown(at: .start + 5)
                #expect(origin.coolDownUntil.map { $0 - .start } == left)
            }
            try tx.origins.endCoolDowns(at: .start + 5)
        }
        for (name, _, _, left) in table {
            let kept = try scratch.store.transfers.origin(name)
            #expect(kept.coolDownUntil.map { $0 - .start } == left, "\(name)")
        }
    }

    /// Between two attempts an earliest moment holds as it is wanted now.
    @Test func theEarliestMomentIsTheOneThatIsWantedNow() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/a") { $0.earliestBegin = .start + 100 }
        func requeued(_ readyAt: Timestamp?) throws -> Timestamp? {
            try scratch.turn(epoch) {
                try $0.transfers.setQueued(
                    id, readyAt: readyAt, waitingFor: [WaitReason(.backoff)], now: .start)
            }
            return try work(scratch, epoch, id).readyAt
        }
        #expect(try requeued(nil) == .start + 100)
        #expect(try requeued(.start + 20) == .start + 100)
        #expect(try work(scratch, epoch, id).waitingFor.isEmpty)
        #expect(try requeued(.start + 200) == .start + 200)
        #expect(try work(scratch, epoch, id).waitingFor.count == 1)
        var sooner = RequestChange()
        sooner.earliestBegin = .some(nil)
        try scratch.store.wants.change(id, sooner, now: .start)
        #expect(try requeued(nil) == nil)
    }

    @Test func whatAnEngineGoesByIsShownToOthers() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        #expect(try scratch.store.settings.engineView() == nil)
        var conditions = Conditions()
        conditions.power = Reading(.battery, source: "upower", since: .start)
        conditions.battery = Reading(41, source: "upower", since: .start + 1)
        conditions.network = Reading(.metered, source: "networkmanager", since: .start)
        conditions.isIdle = Reading(nil, source: "logind", since: nil)
        var view = EngineView(conditions: conditions)
        try scratch.turn(epoch) { try $0.publish(view) }
        view.outlook.limits.running = 3
        view.outlook.networkSettlesAt = .start + 5
        view.outlook.onlyDiscretionary = true
        view.outlook.box = PublishedLimits.Box(seconds: 60, endsAt: .start + 70)
        try scratch.turn(epoch) { try $0.publish(view) }
        #expect(try scratch.store.settings.engineView() == view)
    }

    // MARK: - A long queue

    private static let rows =
        ProcessInfo.processInfo.environment["LONGHAUL_STORE_ROWS"].flatMap { Int($0) } ?? 100_000

    /// Straight into the table: how the rows came there does not matter here.
    private func fill(_ scratch: ScratchStore, _ eligibilities: [EligibilityKey]) throws {
        try scratch.add("/d/first", session: "s") {
            $0.schedule.requires = ConditionNeeds(idle: true)
        }
        try scratch.store.write(.relaxed) { connection in
            let list = try eligibilities.map {
                "(\(try CalendarRows(connection).stored($0)))"
            }.joined(separator: ",")
            try connection.run("CREATE TEMP TABLE eligibilities (eligibility INTEGER)")
            try connection.run("INSERT INTO eligibilities VALUES \(list)")
            try connection.run(
                """
                INSERT INTO transfer (id, readyAt, schedule, eligibility, waiveAt, waiveBy, priority, \
                sessionID, originID, reservationKey, created, deadline, deadlineAfter, url, \
                destination) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
                WHERE i < ?1) SELECT 100 + i, 0, 1, (SELECT eligibility FROM eligibilities \
                WHERE rowid = 1 + i % \(eligibilities.count)), 9000000000000 + i, 9000000000000 + i, \
                i % 3, 1, 1, i, 1, 9000000000000, 1.0, 'https://a.example/' || i, '/d/' || i FROM n
                """, Int64(Self.rows))
        }
    }

    /// What is held back costs a look-up for each eligibility, however many transfers are in it.
    @Test func aPlanDoesNotGrowWithTheQueue() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        var eligibilities: [EligibilityKey] = []
        for hour in 0..<12 {
            for needs in 0..<8 {
                var schedule = TransferSchedule()
                let window = TimeWindow(start: hour * 60, end: hour * 60 + 90)
                schedule.windows = window.flatMap { TimeWindows(parsing: $0.description) }
                schedule.requires = ConditionNeeds(
                    power: needs & 1 != 0, unmetered: needs & 2 != 0, idle: needs & 4 != 0)
                eligibilities.append(
                    EligibilityKey(schedule, isDiscretionary: hour % 2 == 0).eligibility)
            }
        }
        try fill(scratch, eligibilities)
        // Half past five: eligibilities that open at four and at five.
        let now = Timestamp.start + 5.2 * 3600
        let clock = ContinuousClock()
        var open: [EligibilityKey] = []
        var best = Duration.seconds(1000)
        var rows: [ReadyRow] = []
        for _ in 0..<5 {
            let time = try clock.measure {
                rows = try scratch.turn(epoch) { tx in
                    open = try tx.ready.readyEligibilities().filter { eligibility in
                        eligibility.gate(in: ConditionSnapshot(), now: now).isOpen
                    }
                    _ = try tx.timers.nextWaiver()
                    _ = try tx.timers.nextDue()
                    _ = try tx.timers.nextDeadline(now)
                    return try tx.ready.readyHead(ReadyLimits(eligibilities: open), now: .start)
                        .rows
                }
            }
            best = min(best, time)
        }
        #expect(open.count == 2 && rows.count == 256)
        #expect(Set(rows.map(\.eligibility)) == Set(open))
        print(
            "a plan over \(Self.rows) waiting transfers in \(eligibilities.count) keys: \(best)"
        )
        #expect(best < .milliseconds(250))
    }

    /// `INDEXED BY` refuses an index that does not serve; a walk over all of it would be served
    /// too.
    @Test func whatThePlanAsksIsLookedUp() throws {
        let scratch = try ScratchStore()
        for (sql, index) in [
            (
                "SELECT eligibility FROM transfer INDEXED BY transferReady WHERE phase = 0"
                    + " AND want = 0 AND readyAt = 0"
                    + " AND eligibility > 5 ORDER BY eligibility LIMIT 1",
                "transferReady"
            ),
            (
                "SELECT id FROM transfer INDEXED BY transferReady WHERE phase = 0"
                    + " AND want = 0 AND readyAt = 0"
                    + " AND eligibility = 1 AND priority = 1 AND sessionID = 1"
                    + " AND originID = 1 ORDER BY id LIMIT 4", "transferReady"
            ),
            (
                "SELECT id FROM transfer INDEXED BY transferWaiver WHERE phase = 0 AND waiveAt > 0"
                    + " AND waiveAt <= 5 ORDER BY waiveAt LIMIT 9", "transferWaiver"
            ),
            (
                "SELECT waiveAt FROM transfer INDEXED BY transferWaiver WHERE phase"
                    + " = 0 AND waiveAt > 0 ORDER BY waiveAt LIMIT 1", "transferWaiver"
            ),
        ] {
            let plan = try scratch.store.access {
                try $0.all("EXPLAIN QUERY PLAN \(sql)") { $0[3] as String }
            }
            #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH transfer USING"), "\(plan)")
            #expect(plan[0].contains(index), "\(plan)")
        }
    }
}
