import LonghaulCore
import Testing

/// When requests begin, and what each end of a run means for them.
@Suite struct TaskTimingTests {
    private static let start = Timestamp(milliseconds: 1_790_000_000_000)
    private static let hour: Double = 3600

    private func request(every interval: Double, tolerance: Double? = nil) -> TaskRequest {
        var request = TaskRequest(identifier: "t")
        request.repetition = TaskRepetition(interval: interval, tolerance: tolerance)
        return request
    }

    @Test func theFirstRunIsAtOnceOrAtItsEarliestMoment() {
        var once = TaskRequest(identifier: "t")
        let now = Self.start
        #expect(TaskTiming(once, replacing: nil, place: 0.5, now: now).dueAt == now)
        once.earliestBegin = now + 60
        #expect(TaskTiming(once, replacing: nil, place: 0.5, now: now).dueAt == now + 60)
        var often = request(every: 900)
        #expect(TaskTiming(often, replacing: nil, place: 0.5, now: now).dueAt == now)
        often.earliestBegin = now + 60
        let timing = TaskTiming(often, replacing: nil, place: 0.5, now: now)
        #expect(timing.dueAt == now + 60 && timing.waivesAt == now + 60)
        var standing = TaskRequest(identifier: "t")
        standing.triggers = [.online]
        #expect(TaskTiming(standing, replacing: nil, place: 0, now: now).dueAt == .distantFuture)
    }

    /// On time, late by less than the tolerance, late by several intervals.
    @Test(arguments: [0, 100, 449, 3000.0], [0, 0.3, 0.999])
    func runsKeepTheirDistance(_ lateness: Double, _ place: Double) {
        let request = request(every: 900)
        var timing = TaskTiming(request, replacing: nil, place: place, now: Self.start)
        var last = timing.dueAt + lateness
        for round in 0..<20 {
            let end = TaskSettlement.decide(
                request, timing, .result(.success), started: last, place: place, now: last + 5)
            guard case .again(let next) = end else { return #expect(Bool(false), "it is over") }
            timing = next
            #expect(timing.dueAt - last >= 450)
            // Without a delay each run is an interval after the one before.
            if round > 0, lateness == 0 { #expect(abs(timing.dueAt - last - 900) < 0.01) }
            #expect(timing.mayBeginAt <= timing.dueAt)
            #expect(timing.waivesAt ?? .distantFuture >= timing.dueAt)
            last = timing.dueAt + lateness
        }
    }

    @Test func whatWasMissedIsCaughtUpOnce() {
        let request = request(every: 900)
        var timing = TaskTiming(request, replacing: nil, place: 0, now: Self.start)
        timing.lastStart = Self.start
        timing.moveOn(request.repetition!, place: 0, now: Self.start)
        // The machine slept for a day.
        let now = Self.start + 24 * Self.hour
        timing.lastStart = now
        timing.moveOn(request.repetition!, place: 0, now: now)
        #expect(timing.dueAt - now >= 450 && timing.dueAt - now <= 900)
    }

    /// The request was submitted while the one that it replaces was running, which brings nothing.
    @Test(arguments: [60, 86_400.0])
    func anEmptyRunBeforeTheEarliestMomentDoesNotBringItForward(_ interval: Double) {
        var request = request(every: interval)
        let now = Self.start
        request.earliestBegin = now + 600
        var timing = TaskTiming(request, replacing: nil, place: 0.5, now: now)
        timing.lastStart = now + -5
        timing.skip(afterEmpty: .result(.noData), of: request, place: 0.5, now: now + 1)
        #expect(timing.mayBeginAt >= now + 600)
        #expect(timing.dueAt >= timing.mayBeginAt)
        #expect(timing.waivesAt! >= timing.dueAt)
    }

    @Test func runsThatAreAskedForSkipNoWindow() {
        let request = request(every: 3600)
        var timing = TaskTiming(request, replacing: nil, place: 0, now: Self.start)
        for second in [0, 60, 120, 500.0] {
            timing.lastStart = Self.start + second
            timing.moveOn(request.repetition!, place: 0, now: Self.start + second)
        }
        #expect(timing.waivesAt! - Self.start <= 2 * 3600)
        #expect(timing.mayBeginAt - Self.start >= 500 + 1800)
    }

    @Test func aRequestThatIsSubmittedAnewGoesOn() {
        let request = request(every: 900)
        var old = TaskTiming(request, replacing: nil, place: 0, now: Self.start)
        old.lastStart = Self.start
        let new = TaskTiming(request, replacing: old, place: 0, now: Self.start + 10)
        #expect(new.dueAt >= Self.start + 450)
    }

    /// A program submits its request whenever it starts, its launches included.
    @Test(arguments: [0, 0.3, 0.999])
    func submittingAnewKeepsTheInterval(_ place: Double) {
        let request = request(every: 900)
        var timing = TaskTiming(request, replacing: nil, place: place, now: Self.start)
        var last = timing.dueAt
        for round in 0..<20 {
            timing.lastStart = last
            timing = TaskTiming(request, replacing: timing, place: place, now: last + 1)
            if round > 0 { #expect(abs(timing.dueAt - last - 900) < 0.01) }
            last = timing.dueAt
        }
        // A shorter interval does not wait for the end of the longer one.
        timing.lastStart = last
        let often = TaskTiming(self.request(every: 60), replacing: timing, place: place, now: last)
        #expect(often.dueAt <= last + 60)
    }

    private func settled(
        _ request: TaskRequest, _ timing: TaskTiming, _ results: [TaskResult], place: Double = 0.3
    ) -> [Double] {
        var (timing, last) = (timing, timing.dueAt)
        return results.map { result in
            let end = TaskSettlement.decide(
                request, timing, .result(result), started: last, place: place, now: last + 1)
            guard case .again(let next) = end else { return 0 }
            defer { (timing, last) = (next, next.dueAt) }
            return next.dueAt - last
        }
    }

    /// Intervals to the next run, after the first one, which may be shorter.
    @Test(
        arguments: [
            (900, .refresh, [.noData, .noData, .noData, .noData], [1800, 2700, 3600, 3600]),
            (900, .refresh, [.noData, .noData, .success, .noData], [1800, 2700, 900, 1800]),
            (900, .refresh, [.noData, .failure, .noData], [1800, 1800, 2700]),
            (900, .processing, [.noData, .noData], [900, 900]),
            // No more than a day.
            (36_000, .refresh, [.noData, .noData, .noData], [72_000, 72_000, 72_000]),
            (86_400, .refresh, [.noData, .noData], [86_400, 86_400]),
            (200_000, .refresh, [.noData, .noData], [200_000, 200_000]),
        ] as [(Double, TaskKind, [TaskResult], [Double])])
    func whatBringsNothingComesMoreRarely(
        interval: Double, kind: TaskKind, results: [TaskResult], delays: [Double]
    ) {
        var request = request(every: interval)
        request.kind = kind
        let timing = TaskTiming(request, replacing: nil, place: 0.3, now: Self.start)
        let found = settled(request, timing, [.success] + results).dropFirst()
        #expect(zip(found, delays).allSatisfy { abs($0 - $1) < 0.01 }, "\(found)")
    }

    /// A program submits its request in each of its launches.
    @Test func submittingAnewKeepsWhatBringsNothingRare() {
        let request = request(every: 900)
        var old = TaskTiming(request, replacing: nil, place: 0, now: Self.start)
        old.lastStart = Self.start
        old.emptyRuns = 3
        old.moveOn(request.repetition!, place: 0, now: Self.start)
        for _ in 1...3 {
            let new = TaskTiming(request, replacing: old, place: 0, now: Self.start + 10)
            #expect(new == old)
            old = new
        }
        #expect(old.dueAt - Self.start >= 3600 - 450)
    }

    private func skipping(_ request: TaskRequest) -> TaskTiming {
        var timing = TaskTiming(request, replacing: nil, place: 0, now: Self.start)
        timing.lastStart = Self.start
        timing.emptyRuns = 3
        timing.moveOn(request.repetition!, place: 0, now: Self.start)
        return timing
    }

    /// A run that a client has asked for, or that a reset has made due, within what is skipped.
    @Test(arguments: [0, 300, 900.0], [1, 500, 2000, 3000.0])
    func aRunThatBringsSomethingEndsTheSkipping(_ tolerance: Double, _ second: Double) throws {
        let request = request(every: 900, tolerance: tolerance)
        let skipping = skipping(request)
        #expect(skipping.dueAt - Self.start >= 3600 - tolerance)
        let last = Self.start + second
        let settled = TaskSettlement.decide(
            request, skipping, .result(.success), started: last, place: 0, now: last + 1)
        guard case .again(let next) = settled else { return #expect(Bool(false), "it is done") }
        #expect(next.emptyRuns == 0)
        #expect(next.mayBeginAt - last >= 900 - tolerance)
        #expect(try #require(next.waivesAt) - last <= 2 * 900 + tolerance)
        // The windows stay on their grid.
        let moved = try #require(skipping.window) - (try #require(next.window))
        #expect(moved.truncatingRemainder(dividingBy: 900) == 0)
        // A run that brings nothing ends nothing.
        let empty = TaskSettlement.decide(
            request, skipping, .result(.noData), started: last, place: 0, now: last + 1)
        guard case .again(let rare) = empty else { return #expect(Bool(false), "it is done") }
        #expect(rare.mayBeginAt - last > 3 * 900)
    }

    @Test func aRunThatIsAskedForBringsNoEarliestMomentForward() {
        var request = request(every: 900)
        request.earliestBegin = Self.start + 86_400
        let timing = TaskTiming(request, replacing: nil, place: 0, now: Self.start)
        let settled = TaskSettlement.decide(
            request, timing, .result(.success), started: Self.start, place: 0, now: Self.start + 1)
        guard case .again(let next) = settled else { return #expect(Bool(false), "it is done") }
        #expect(next.mayBeginAt >= Self.start + 86_400)
        #expect(next.mayBeginAt <= next.dueAt)
    }

    /// The request of an identifier that was a refresh is one for processing now.
    @Test func processingSkipsNothingInThePlaceOfARefresh() throws {
        let skipping = skipping(request(every: 900))
        var request = request(every: 900)
        request.kind = .processing
        var timing = TaskTiming(request, replacing: skipping, place: 0, now: Self.start + 10)
        #expect(timing.emptyRuns == 0 && timing.dueAt - Self.start <= 2 * 900)
        // The refresh ends with nothing after the other was submitted.
        timing.emptyRuns = 3
        timing.skip(afterEmpty: .result(.noData), of: request, place: 0, now: Self.start + 10)
        #expect(timing.emptyRuns == 0 && timing.dueAt - Self.start <= 2 * 900)
    }

    /// Ten hosts ask for a daily run at times of their own, and run together.
    @Test(arguments: [0, 0.2, 0.5, 0.9], [43_200, 21_600, 86_400])
    func windowsThatOverlapShareAMoment(_ place: Double, _ tolerance: Double) {
        let request = request(every: 86_400, tolerance: tolerance)
        var moments: Set<Int64> = []
        for number in 0..<10 {
            let begin = Self.start + Double(number * 7919)
            var timing = TaskTiming(request, replacing: nil, place: place, now: begin)
            timing.lastStart = begin
            timing.moveOn(request.repetition!, place: place, now: begin)
            // From the second window on, when the first run keeps no distance any more.
            timing.lastStart = timing.dueAt
            timing.moveOn(request.repetition!, place: place, now: timing.dueAt)
            moments.insert(timing.dueAt.milliseconds / 1000 % 86_400)
            #expect(timing.dueAt - timing.window! <= tolerance)
        }
        #expect(moments.count <= Int(86_400 / tolerance))
    }

    @Test func aFleetSpreads() {
        let places = (0..<1000).map { StablePlace.of("store\($0)/host/task") }
        var buckets = Array(repeating: 0, count: 10)
        for place in places { buckets[Int(place * 10)] += 1 }
        #expect(buckets.max()! <= 200)
        // Machines that were set up at the same moment.
        let request = request(every: 86_400)
        var hours = Array(repeating: 0, count: 12)
        for place in places {
            var timing = TaskTiming(request, replacing: nil, place: place, now: Self.start)
            timing.lastStart = Self.start
            timing.moveOn(request.repetition!, place: place, now: Self.start)
            hours[min(11, Int((timing.dueAt - Self.start - 43_200) / 3600))] += 1
        }
        #expect(hours.max()! <= 200 && hours.min()! >= 30, "\(hours)")
    }

    struct End: Sendable {
        var end: TaskEnd
        /// `nil` = the request is done.
        var delay: Double?
        var failures = 0
        var deferrals = 0
    }

    @Test(arguments: [
        End(end: .result(.success)),
        End(end: .result(.noData)),
        End(end: .result(.failure), delay: 60, failures: 1),
        End(end: .result(.deferred), delay: 1, deferrals: 1),
        End(end: .expired(.time), delay: 60, failures: 1),
        End(end: .expired(.processor), delay: 60, failures: 1),
        End(end: .expired(.requirement), delay: 1, deferrals: 1),
        End(end: .expired(.simulated), delay: 60, failures: 1),
        End(end: .lost, delay: 1, deferrals: 1),
    ])
    func eachEndHasItsMeaning(_ row: End) {
        let request = TaskRequest(identifier: "t")
        let timing = TaskTiming(request, replacing: nil, place: 0, now: Self.start)
        let now = Self.start + 20
        let settled = TaskSettlement.decide(
            request, timing, row.end, started: Self.start, place: 0, now: now)
        guard let delay = row.delay else { return #expect(settled == .done) }
        guard case .again(let next) = settled else { return #expect(Bool(false), "it is done") }
        #expect(next.dueAt == now + delay)
        #expect(next.failures == row.failures && next.deferrals == row.deferrals)
    }

    @Test func aRequestMayEndWithItsRequirement() {
        var request = TaskRequest(identifier: "t")
        request.returnsAfterExpiration = false
        let timing = TaskTiming(request, replacing: nil, place: 0, now: Self.start)
        let settled = TaskSettlement.decide(
            request, timing, .expired(.requirement), started: Self.start, place: 0,
            now: Self.start)
        #expect(settled == .done)
    }

    /// That is no failure, and no reason to come again before the next window or trigger.
    @Test(arguments: [0, 3])
    func oneThatEndsWithItsRequirementHasHadItsRun(_ failures: Int) {
        var repeating = request(every: 3600)
        repeating.returnsAfterExpiration = false
        var standing = TaskRequest(identifier: "t")
        standing.triggers = [.online]
        standing.returnsAfterExpiration = false
        for request in [repeating, standing] {
            var timing = TaskTiming(request, replacing: nil, place: 0, now: Self.start)
            timing.failures = failures
            let settled = TaskSettlement.decide(
                request, timing, .expired(.requirement), started: Self.start, place: 0,
                now: Self.start + 5)
            let well = TaskSettlement.decide(
                request, timing, .result(.success), started: Self.start, place: 0,
                now: Self.start + 5)
            #expect(settled == well)
        }
    }

    @Test func aResetEndsABackOffAndWhatItAddedToAWindow() throws {
        let request = request(every: 20, tolerance: 20)
        var timing = TaskTiming(request, replacing: nil, place: 0, now: Self.start)
        timing.failures = 5
        let now = Self.start + 6
        let settled = TaskSettlement.decide(
            request, timing, .result(.failure), started: Self.start, place: 0, now: now)
        guard case .again(var next) = settled else { return #expect(Bool(false), "it is done") }
        #expect(next.dueAt == now + 1920 && next.waivesAt == next.dueAt)
        next.forgive(request.repetition, now: now + 1)
        #expect(next.failures == 0 && next.dueAt == now + 1 && next.mayBeginAt == now + 1)
        let end = try #require(next.waivesAt)
        #expect(end >= now + 1 && end <= Self.start + 40)
    }

    @Test func aResetLaunchesNothingThatStandsForAChange() {
        var standing = TaskRequest(identifier: "t")
        standing.triggers = [.online]
        var timing = TaskTiming(standing, replacing: nil, place: 0, now: Self.start)
        timing.failures = 1
        timing.forgive(nil, now: Self.start)
        #expect(timing.dueAt == .distantFuture && timing.failures == 0)
    }

    @Test func deferralsComeLaterEachTime() {
        let delays = (0...12).map { TaskTiming.delay(afterDeferrals: $0) }
        #expect(delays.prefix(5) == [0, 1, 2, 4, 8])
        #expect(delays.last == 900)
    }

    @Test func aClockThatIsSetBackKeepsTheDuration() {
        let request = request(every: 900)
        var timing = TaskTiming(request, replacing: nil, place: 0, now: Self.start)
        timing.lastStart = Self.start
        timing.moveOn(request.repetition!, place: 0, now: Self.start)
        let left = timing.dueAt - Self.start
        timing.follow(Self.start, now: Self.start + -86_400)
        #expect(timing.dueAt - (Self.start + -86_400) == left)
    }
}

/// What triggers see between two looks.
@Suite struct WorldFactsTests {
    private func world(_ edit: (inout WorldFacts) -> Void) -> WorldFacts {
        var facts = WorldFacts()
        facts.network = .unmetered
        facts.identity = NetworkIdentity(connection: "home")
        facts.power = .external
        facts.bootID = "a"
        facts.mounts = [1, 2]
        edit(&facts)
        return facts
    }

    @Test func eachChangeHasItsTrigger() {
        let plain = world { _ in }
        let elsewhere = world { $0.identity = NetworkIdentity(connection: "work") }
        let rows: [(old: WorldFacts, new: WorldFacts, triggers: [TaskTrigger])] = [
            (plain, plain, []),
            (world { $0.network = .offline }, plain, [.online]),
            (plain, world { $0.network = .offline }, []),
            (plain, elsewhere, [.networkChange]),
            (
                world {
                    $0.network = .offline
                    $0.identity = NetworkIdentity()
                }, plain, [.online, .networkChange]
            ),
            (plain, world { $0.network = .metered }, []),
            // An override says nothing about which network it is.
            (plain, world { $0.identity = nil }, []), (world { $0.identity = nil }, plain, []),
            (world { $0.network = nil }, plain, []),
            (world { $0.power = .battery }, plain, [.power]),
            (plain, world { $0.power = .battery }, [.battery]),
            (plain, world { $0.power = nil }, []),
            (plain, world { $0.resumes = 1 }, [.resume]),
            (plain, world { $0.bootID = "b" }, [.boot]),
            (plain, world { $0.mounts = [1, 2, 3] }, [.mount]),
            (plain, world { $0.mounts = [1] }, []),
            (world { $0.mounts = nil }, plain, []),
        ]
        for row in rows { #expect(row.new.triggers(since: row.old) == row.triggers) }
    }

    /// What is unknown for a while is compared with what was known before.
    @Test func theUnknownIsNoChange() {
        let offline = world { $0.network = .offline }
        let unknown = world { $0.network = nil }.completed(by: offline)
        #expect(unknown.triggers(since: offline).isEmpty)
        #expect(world { _ in }.triggers(since: unknown) == [.online])
    }

    /// What an engine sees, one look after the other: the network as it says, and which it is.
    @Test(
        arguments: [
            // Lost and found again, also under an override and what ends it.
            ([(.unmetered, "home"), (.offline, ""), (.unmetered, "home")], []),
            ([(.unmetered, "home"), (.offline, nil), (.unmetered, nil), (.metered, "home")], []),
            ([(.unmetered, "home"), (.offline, ""), (.unmetered, "work")], [2]),
            ([(.unmetered, "home"), (nil, nil), (.unmetered, "work")], [2]),
            ([(.unmetered, "home"), (.metered, nil), (.unmetered, "work")], [2]),
            // A portal has to be passed first.
            ([(.unmetered, "home"), (.offline, "work"), (.unmetered, "work")], [2]),
            ([(.offline, ""), (.unmetered, "home")], [1]),
            ([(.offline, nil), (.unmetered, "home"), (.unmetered, "work")], [2]),
        ] as [([(NetworkState?, String?)], [Int])])
    func aNetworkThatIsSeenAgainIsNoOther(looks: [(NetworkState?, String?)], changes: [Int]) {
        var before: WorldFacts?
        var seen: [Int] = []
        for (index, look) in looks.enumerated() {
            var facts = world {
                $0.network = look.0
                $0.identity = look.1.map { NetworkIdentity(connection: $0.isEmpty ? nil : $0) }
            }
            if let before {
                facts = facts.completed(by: before)
                if facts.triggers(since: before).contains(.networkChange) { seen.append(index) }
            }
            before = facts
        }
        #expect(seen == changes)
    }

    @Test func triggersAreStoredAsBits() {
        let named: [TaskTrigger] = [.mount("a"), .network("b"), .path("/c", settle: 5)]
        let all = TaskTrigger.allCases + named
        #expect(Set(all.map { [$0].storedBits }).count == all.count)
        #expect(all.storedBits == 1023)
        for trigger in all { #expect(TaskTrigger(rawValue: trigger.rawValue) == trigger) }
    }
}

@Suite struct ProcessorMonitorTests {
    @Test(arguments: [(0.5, false), (0.79, false), (0.81, true), (2, true)])
    func aBusyMinuteIsTooMuch(_ share: Double, _ isOver: Bool) {
        var monitor = ProcessorMonitor()
        var found = false
        for sample in 0...12 {
            let at = Double(sample) * 10
            if monitor.add(at * share, at: at), at >= 60 { found = true }
        }
        #expect(found == isOver)
    }

    @Test func aShortBurstIsNot() {
        var monitor = ProcessorMonitor()
        var isOver = false
        for at in stride(from: 0.0, through: 300, by: 10) where monitor.add(min(at, 40), at: at) {
            isOver = true
        }
        #expect(!isOver)
    }
}
