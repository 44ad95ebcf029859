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

    @Test func aFleetSpreads() {
        let places = (0..<1000).map { TaskTiming.place(of: "store\($0)/host/task") }
        var buckets = Array(repeating: 0, count: 10)
        for place in places { buckets[Int(place * 10)] += 1 }
        #expect(buckets.max()! <= 200)
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
        End(end: .expired(.simulated), delay: 1, deferrals: 1),
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
        facts.networkSince = Timestamp(milliseconds: 1)
        facts.power = .external
        facts.bootID = "a"
        facts.mounts = [1, 2]
        edit(&facts)
        return facts
    }

    @Test func eachChangeHasItsTrigger() {
        let plain = world { _ in }
        let rows: [(old: WorldFacts, new: WorldFacts, triggers: [TaskTrigger])] = [
            (plain, plain, []),
            (world { $0.network = .offline }, plain, [.online, .networkChange]),
            (plain, world { $0.network = .offline }, []),
            (plain, world { $0.networkSince = Timestamp(milliseconds: 2) }, [.networkChange]),
            (plain, world { $0.network = .metered }, [.networkChange]),
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
        #expect(world { _ in }.triggers(since: unknown) == [.online, .networkChange])
    }

    @Test func triggersAreStoredAsBits() {
        for trigger in TaskTrigger.allCases { #expect(TriggerSet([trigger]).all == [trigger]) }
        #expect(TriggerSet(TaskTrigger.allCases).all == TaskTrigger.allCases)
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
