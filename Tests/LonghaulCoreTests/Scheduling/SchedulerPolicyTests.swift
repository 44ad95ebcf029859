import LonghaulCore
import Testing

@Suite struct SchedulerPolicyTests {
    private let now = Timestamp(milliseconds: 10_000_000_000)

    /// `waited` in seconds.
    private func candidate(
        _ id: Int64, session: String = "s", origin: String = "o", priority: Priority = .normal,
        discretionary: Bool = false, waited: Double = 10, deadline: Double? = nil,
        takes: Double? = nil
    ) -> Candidate {
        Candidate(
            id: TransferID(rawValue: id), session: session, origin: OriginID(rawValue: origin),
            priority: priority,
            eligibility: EligibilityKey(isDiscretionary: discretionary).waived,
            waitingSince: now + -waited, deadline: deadline.map { now + $0 }, expectedSeconds: takes
        )
    }

    private func running(
        _ id: Int64, session: String = "s", origin: String = "o", connections: Int = 1
    ) -> Running {
        Running(
            id: TransferID(rawValue: id), session: session, origin: OriginID(rawValue: origin),
            connections: connections)
    }

    private func plan(
        _ head: [Candidate], running: [Running] = [], origins: [String: OriginState] = [:],
        total: Int = 16, perOrigin: Int = 6
    ) -> SchedulerPolicy.Plan {
        var limits = SchedulerLimits()
        limits.running = total
        limits.perOrigin = perOrigin
        let states = Dictionary(
            uniqueKeysWithValues: origins.map { (OriginID(rawValue: $0.key), $0.value) })
        return SchedulerPolicy(limits: limits).plan(
            head: head, running: running, origins: states, now: now)
    }

    private func starts(_ plan: SchedulerPolicy.Plan) -> [Int64] { plan.starts.map(\.rawValue) }

    private func waits(_ plan: SchedulerPolicy.Plan) -> [Int64: WaitReason.Reason] {
        Dictionary(
            uniqueKeysWithValues: plan.waiting.map { ($0.id.rawValue, $0.reason.reason) })
    }

    @Test func nothingToDo() {
        let result = plan([])
        #expect(result.starts.isEmpty && result.waiting.isEmpty)
    }

    /// A good mirror is begun at while the own server is left alone, and counts there.
    @Test func mirrors() {
        let (soon, late) = (now + 50, now + 100)
        var head = (1...4).map { candidate($0) }
        head[0].mirrors = [OriginID(rawValue: "m")]
        head[1].mirrors = [OriginID(rawValue: "m")]
        head[2].mirrors = [OriginID(rawValue: "n")]
        let cooling = OriginState(health: .cooling(until: late))
        let result = plan(
            head,
            origins: [
                "o": cooling, "m": OriginState(),
                "n": OriginState(health: .cooling(until: soon)),
            ], perOrigin: 1)
        #expect(starts(result) == [1])
        #expect(waits(result) == [2: .originLimit, 3: .originCooldown, 4: .originCooldown])
        #expect(result.nextWake == soon)
        // One tries the own one, the others go on elsewhere.
        let probed = plan(
            Array(head[...1]), running: [running(9)], origins: ["o": OriginState(health: .probing)])
        #expect(starts(probed) == [1, 2])
    }

    @Test func order() {
        let head = [
            candidate(1, priority: .high, discretionary: true),
            candidate(2, priority: .low),
            candidate(3, priority: .normal, waited: 5),
            candidate(4, priority: .normal, waited: 20),
            candidate(5, priority: .high),
            candidate(6, priority: .normal, waited: 1, deadline: 60),
            candidate(7, priority: .normal, waited: 1, deadline: 100, takes: 90),
            candidate(8, priority: .normal, waited: 20),
        ]
        #expect(starts(plan(head, perOrigin: 16)) == [5, 7, 6, 4, 8, 3, 2, 1])
    }

    @Test func theTotalIsALimit() {
        let result = plan([candidate(1), candidate(2)], running: [running(9)], total: 2)
        #expect(starts(result) == [1])
        #expect(waits(result) == [2: .concurrency])
        #expect(result.waiting.first?.reason.current == "2")
    }

    @Test func connectionsToAnOriginAreALimit() {
        let head = [candidate(1), candidate(2), candidate(3, origin: "other")]
        let result = plan(head, running: [running(9, connections: 5)])
        #expect(starts(result) == [1, 3])
        #expect(waits(result) == [2: .originLimit])
    }

    @Test func http2TakesManyStreams() {
        let head = (1...70).map { candidate(Int64($0)) }
        let result = plan(head, origins: ["o": OriginState(speaksHTTP2: true)], total: 100)
        #expect(result.starts.count == 64)
        #expect(Set(waits(result).values) == [.originLimit])
    }

    /// What is ready ahead takes no place from others, and no more than was allowed for.
    @Test func fastTransfersAreMadeReadyAhead() {
        let head = (1...20).map { candidate(Int64($0)) } + [candidate(50, origin: "slow")]
        let fast = ["o": OriginState(prefetched: 8)]
        #expect(starts(plan(head, origins: fast)) == (1...14).map { Int64($0) } + [50])
        let busy = (100..<114).map { running(Int64($0)) }
        let full = plan(head, running: busy, origins: fast, total: 6)
        #expect(full.starts.isEmpty)
        #expect(waits(full)[50] == .concurrency)
        #expect(waits(plan(head, running: busy, origins: fast, total: 7))[50] == nil)
        // Over HTTP/2 the streams of one connection are enough.
        let streams = ["o": OriginState(speaksHTTP2: true, prefetched: 8)]
        #expect(plan(head, origins: streams).starts.count == 16)
    }

    /// A crash could not tell of it that its request had not gone out.
    @Test func whatGoesOnceIsNotMadeReadyAhead() {
        var head = (1...10).map { candidate(Int64($0)) }
        let once = EligibilityKey(goesOnce: true).eligibility
        for index in [5, 6, 7] { head[index].eligibility = once }
        let result = plan(head, origins: ["o": OriginState(prefetched: 8)])
        #expect(starts(result) == [1, 2, 3, 4, 5, 6, 9, 10])
        #expect(waits(result) == [7: .originLimit, 8: .originLimit])
    }

    @Test func aCoolingOriginBlocksOnlyItsOwn() {
        let until = now + 30
        let head = [candidate(1), candidate(2, origin: "other")]
        let result = plan(head, origins: ["o": OriginState(health: .cooling(until: until))])
        #expect(starts(result) == [2])
        #expect(result.waiting.first?.reason.reason == .originCooldown)
        #expect(result.waiting.first?.reason.nextCheck == until)
    }

    @Test func afterACoolDownOneGoesFirst() {
        let probing = ["o": OriginState(health: .probing)]
        let head = [candidate(1), candidate(2)]
        let first = plan(head, origins: probing)
        #expect(starts(first) == [1])
        #expect(waits(first) == [2: .originCooldown])
        let second = plan(head, running: [running(9)], origins: probing)
        #expect(starts(second).isEmpty)
    }

    private func origins(
        _ count: Int, named name: String, _ standing: OriginState.Standing
    ) -> [String: OriginState] {
        Dictionary(
            uniqueKeysWithValues: (0..<count).map {
                ("\(name)\($0)", OriginState(standing: standing))
            })
    }

    /// Ten of each, older than what comes after them.
    private func tens(of origins: Int, named name: String, from id: Int64) -> [Candidate] {
        (0..<(10 * origins)).map {
            candidate(id + Int64($0), origin: "\(name)\($0 / 10)", waited: 100)
        }
    }

    /// Servers that nobody has heard of may keep a place for a long time each.
    @Test func eachUntriedOriginTriesOneFirst() {
        let head = tens(of: 3, named: "new", from: 100) + [candidate(1, origin: "new9")]
        let states = origins(10, named: "new", .untried)
        #expect(starts(plan(head, origins: states, total: 4)) == [100, 110, 120, 1])
        // No place stays empty for it.
        #expect(plan(head, origins: states).starts.count == 16)
        #expect(starts(plan(Array(head.prefix(10)), origins: states)) == Array(100...105))
        // One that is running is a first one.
        let busy = [running(9, origin: "new0")]
        #expect(
            starts(plan(head, running: busy, origins: states, total: 5)) == [110, 120, 1, 100])
    }

    @Test func originsThatFailLeavePlacesToOthers() {
        let head = tens(of: 20, named: "down", from: 100) + (1...9).map { candidate($0) }
        let states = origins(20, named: "down", .fails)
        // A quarter first, then who answers, and what is left goes to them again.
        #expect(
            starts(plan(head, origins: states))
                == [100, 110, 120, 130, 1, 2, 3, 4, 5, 6, 101, 102, 103, 104, 105, 111])
        let busy = (0..<4).map { running(50 + Int64($0), origin: "down\($0)") }
        #expect(
            starts(plan(head, running: busy, origins: states, total: 10)) == [1, 2, 3, 4, 5, 6])
        #expect(starts(plan(head, origins: states, total: 1)) == [1])
        #expect(waits(plan(head, origins: states, total: 1))[100] == .concurrency)
    }

    /// Whoever is more urgent goes first all the same.
    @Test func aFailingOriginKeepsItsPriority() {
        let head = [candidate(1), candidate(2, origin: "down0", priority: .high)]
        #expect(starts(plan(head, origins: origins(1, named: "down", .fails), total: 1)) == [2])
    }

    @Test(
        arguments: [
            (0, false, nil, OriginState.Standing.untried), (0, true, nil, .answers),
            (0, false, 1e6, .answers), (1, true, 1e6, .fails), (7, false, nil, .fails),
        ] as [(Int, Bool, Double?, OriginState.Standing)])
    func standing(
        failures: Int, hasAnswered: Bool, rate: Double?, expected: OriginState.Standing
    ) {
        var memory = OriginMemory(origin: "o")
        memory.failures = failures
        memory.bytesPerSecond = rate
        let state = OriginState(memory, hasAnswered: hasAnswered, now: now)
        #expect(state.standing == expected)
    }

    @Test func sessionsTakeTurns() {
        let head =
            (1...4).map { candidate(Int64($0), session: "a", waited: 100) }
            + (5...6).map { candidate(Int64($0), session: "b") }
        #expect(starts(plan(head)) == [1, 5, 2, 6, 3, 4])
        // Session a runs two already: b goes first until it has as many.
        let busy = [running(8, session: "a"), running(9, session: "a")]
        #expect(starts(plan(head, running: busy)) == [5, 6, 1, 2])
    }

    @Test func aBlockedSessionDoesNotHoldItsTurn() {
        let head = [
            candidate(1, session: "a", origin: "down", waited: 100),
            candidate(2, session: "a", origin: "up", waited: 50), candidate(3, session: "b"),
        ]
        let origins = ["down": OriginState(health: .cooling(until: now + 9))]
        #expect(starts(plan(head, origins: origins, total: 1)) == [2])
    }

    /// One of them takes the place that goes by age; it is not looked at here.
    @Test func whatHasWaitedLongCountsHigher() {
        let head = [
            candidate(1, priority: .normal, waited: 10),
            candidate(2, priority: .low, waited: 1801),
            candidate(3, priority: .low, waited: 1800),
            candidate(4, priority: .high, waited: 1),
            candidate(5, priority: .high, discretionary: true, waited: 5000),
            candidate(6, priority: .normal, discretionary: true, waited: 100),
        ]
        let held = [overdue(9, for: 60)]
        #expect(starts(plan(head, running: held, perOrigin: 16)) == [4, 2, 1, 5, 3, 6])
    }

    private func overdue(_ id: Int64, for seconds: Double) -> Running {
        Running(
            id: TransferID(rawValue: id), session: "z", origin: OriginID(rawValue: "z"),
            overdueSince: now + -seconds)
    }

    @Test func onePlaceGoesByAge() {
        let head =
            (1...20).map { candidate(Int64($0), priority: .high) }
            + [
                candidate(30, priority: .low, discretionary: true, waited: 9000),
                candidate(31, priority: .low, discretionary: true, waited: 9001),
            ]
        let first = plan(head, total: 4, perOrigin: 16)
        #expect(starts(first) == [31, 1, 2, 3])
        #expect(first.overdue == TransferID(rawValue: 31))
        // Taken, and again free half an hour later although its holder still runs.
        #expect(starts(plan(head, running: [overdue(9, for: 60)], total: 4)) == [1, 2, 3])
        #expect(starts(plan(head, running: [overdue(9, for: 1801)], total: 4)) == [31, 1, 2])
    }

    /// A client has moved 5 to the second place: it has the turn of 2, which has that of 3, and so
    /// on. Other priorities and sessions keep theirs.
    @Test func movedTransfersExchangeTheirTurns() {
        var head = [
            candidate(1, waited: 5000), candidate(2, waited: 4000),
            candidate(3, waited: 20, deadline: 60), candidate(4), candidate(5, waited: 1),
            candidate(6, priority: .high), candidate(7, session: "t", waited: 1),
        ]
        for (index, place) in [(1, 3), (2, 4), (3, 5), (4, 2)] { head[index].place = Int64(place) }
        let result = plan(head, running: [overdue(9, for: 60)], perOrigin: 16)
        #expect(starts(result).filter { $0 != 7 } == [1, 5, 6, 2, 3, 4])
    }

    @Test func whatWasPutBackGoesNotByAge() {
        var head = [candidate(1, waited: 9000), candidate(2, waited: 10)]
        (head[0].place, head[1].place) = (2, 1)
        let result = plan(head, total: 1)
        #expect(starts(result) == [2] && result.overdue == nil)
    }

    @Test func agePassesByWhatCannotStart() {
        let head = [
            candidate(1, origin: "down", waited: 9000), candidate(2, priority: .low, waited: 5000),
            candidate(3, priority: .high),
        ]
        let origins = ["down": OriginState(health: .cooling(until: now + 9))]
        #expect(starts(plan(head, origins: origins, total: 1)) == [2])
    }

    @Test func discretionaryWorkLeavesPlaces() {
        let head = (1...20).map { candidate(Int64($0), discretionary: true) }
        let result = plan(head, perOrigin: 40)
        #expect(result.starts.count == 14)
        #expect(result.waiting.first?.reason.required == "fewer than 14 discretionary running")
        #expect(plan(head, total: 1, perOrigin: 40).starts.count == 1)
        #expect(plan(head, total: 2, perOrigin: 40).starts.count == 1)
    }

    @Test func nowOrNeverCountsAsForeground() {
        let head = [
            candidate(1, priority: .low),
            candidate(2, discretionary: true, waited: 4000, deadline: 870, takes: 290),
            candidate(3, discretionary: true, waited: 4000, deadline: 90_000, takes: 290),
        ]
        #expect(starts(plan(head, running: [overdue(9, for: 60)])) == [2, 1, 3])
    }

    @Test func aBoxTakesFirstWhatFits() {
        var head = [
            candidate(1, priority: .high, takes: 700), candidate(2, takes: 500), candidate(3),
            candidate(4, takes: 601),
        ]
        var unresumable = UnresumablePolicy.wait
        func starts(left: Double, total: Int = 16) -> [Int64] {
            var limits = SchedulerLimits()
            limits.running = total
            return SchedulerPolicy(limits: limits).plan(
                head: head, running: [], origins: [:],
                box: TimeBox(length: 1000, left: left, unresumable: unresumable), now: now
            ).starts.map(\.rawValue)
        }
        #expect(starts(left: 1000) == [1, 2, 3, 4])
        #expect(starts(left: 600) == [2, 3, 1, 4])
        #expect(starts(left: 600, total: 2) == [2, 3])
        // Too late in the box to begin what cannot be finished.
        #expect(starts(left: 499) == [3])
        // Somebody waits for it: who comes after this engine goes on with it.
        head[1].eligibility = EligibilityKey(isAwaited: true).eligibility
        #expect(starts(left: 499) == [3, 2])
        // What would be lost at the end is not begun in vain, unless it may exceed the box.
        head = [candidate(1, takes: 700), candidate(2, takes: 500)]
        for index in head.indices { head[index].isUnresumable = true }
        #expect(starts(left: 600) == [2])
        // So is not, at all, what must not be sent again.
        let resumable = head.map { candidate in
            var candidate = candidate
            candidate.isUnresumable = false
            return candidate
        }
        let all = head
        head = resumable
        #expect(starts(left: 600) == [2, 1])
        head[0].eligibility = EligibilityKey(goesOnce: true).eligibility
        #expect(starts(left: 600) == [2])
        head = all
        unresumable = .finish
        #expect(starts(left: 600) == [2, 1])
        #expect(starts(left: 499) == [])
        // While those are finished nothing begins.
        head.append(candidate(3))
        #expect(starts(left: 0) == [])
    }

    @Test func aClosedLaneWaitsAndItsRunningOnesStop() {
        var schedule = TransferSchedule()
        schedule.requires = ConditionNeeds(power: true)
        let eligibility = EligibilityKey(schedule).eligibility
        var mine = candidate(1)
        mine.eligibility = eligibility
        var busy = running(9)
        busy.eligibility = eligibility
        var conditions = Conditions()
        conditions.power = Reading(.battery, source: "test", since: now + -7)
        let result = SchedulerPolicy().plan(
            head: [mine, candidate(2)], running: [busy, running(8)], origins: [:],
            in: ConditionSnapshot(conditions: conditions), now: now)
        #expect(starts(result) == [2])
        #expect(result.stops.map(\.id.rawValue) == [9])
        #expect(
            result.waiting.map(\.reasons) == [
                [WaitReason(.power, required: "external", current: "battery", since: now + -7)]
            ])
    }

    /// Whatever comes in: limits hold, everybody is told, and the order of the input does not
    /// matter.
    @Test(arguments: 0..<30) func anySituation(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let names = ["a", "b", "c"]
        let head = (0..<Int64.random(in: 0...60, using: &random)).map { id in
            candidate(
                id, session: names.randomElement(using: &random)!,
                origin: names.randomElement(using: &random)!,
                priority: Priority.allCases.randomElement(using: &random)!,
                discretionary: Bool.random(using: &random),
                waited: Double.random(in: 0...4000, using: &random),
                deadline: Bool.random(using: &random)
                    ? Double.random(in: -10...1000, using: &random) : nil)
        }
        let busy = (0..<Int64.random(in: 0...10, using: &random)).map { id in
            running(1000 + id, session: "a", origin: names.randomElement(using: &random)!)
        }
        let origins = ["c": OriginState(health: Bool.random(using: &random) ? .well : .probing)]
        let result = plan(head, running: busy, origins: origins, total: 12, perOrigin: 4)

        #expect(result.starts.count + result.waiting.count == head.count, "seed \(seed)")
        #expect(Set(result.starts + result.waiting.map(\.id)).count == head.count, "seed \(seed)")
        #expect(busy.count + result.starts.count <= max(12, busy.count), "seed \(seed)")
        for origin in names {
            let before = busy.filter { $0.origin.rawValue == origin }.count
            let started = head.filter {
                $0.origin.rawValue == origin && result.starts.contains($0.id)
            }.count
            #expect(started == 0 || before + started <= 4, "seed \(seed)")
        }
        let shuffled = plan(
            head.shuffled(using: &random), running: busy.shuffled(using: &random),
            origins: origins, total: 12, perOrigin: 4)
        #expect(shuffled == result, "seed \(seed)")
    }
}
