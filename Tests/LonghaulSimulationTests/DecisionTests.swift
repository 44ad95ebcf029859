import LonghaulCore
import Testing

@testable import LonghaulEngine
@testable import LonghaulStore

/// What the engine decides from what it has loaded: without a store, a disk or a network.
@Suite struct DecisionTests {
    static let now = Timestamp(milliseconds: 1_790_000_000_000)

    static func work(
        _ id: Int64, _ want: Want = .run, _ phase: Phase = .queued, fetch: Int64? = nil,
        path: String = "f", directory: String = "/d"
    ) -> TransferWork {
        let destination = "\(directory)/\(id)"
        return TransferWork(
            id: TransferID(rawValue: id),
            request: TransferRequest(
                url: "http://h:80/\(path)", destination: .file(destination)),
            isUnreadable: false, origin: "http://h:80", path: destination, want: want,
            phase: phase, isRearmPending: false,
            fetchID: fetch.map(FetchID.init(rawValue:)), partSuffix: 0, identityKey: 1,
            createdAt: now, deadline: now + 86_400, eligibility: .plain, waitingSince: now,
            waitingFor: [], numbers: TransferTotals())
    }

    static func state(_ id: Int64, holds bytes: Int64 = 0, leader: Int64? = nil) -> FetchState {
        var state = FetchState(id: FetchID(rawValue: id))
        if bytes > 0 { state.durable = ByteRanges(0..<bytes) }
        state.bytesTotal = 100
        state.bytesFetched = bytes
        state.leader = leader.map(TransferID.init(rawValue:))
        return state
    }

    static func served(_ works: [TransferWork], received: Int64 = 40) -> SharedFetch {
        var subscribers = Subscribers(leader: Subscriber(works[0]))
        for work in works.dropFirst() { subscribers.admit(Subscriber(work)) }
        var fetch = SharedFetch(
            subscribers: subscribers,
            totals: TransferTotals(state(1, holds: received), bytesDone: received))
        fetch.home = "/d"
        fetch.url = works[0].request.url
        return fetch
    }

    // MARK: - Intents

    struct IntentRow: CustomTestStringConvertible, Sendable {
        var phase: Phase
        var want: Want
        var isRearmPending = false
        var fetch: Int64?
        var decision: IntentDecision

        var testDescription: String { "\(phase) and \(want) wanted, \(isRearmPending)" }
    }

    @Test(arguments: [
        IntentRow(phase: .queued, want: .run, decision: .queue(hastens: true)),
        IntentRow(phase: .running, want: .run, decision: .queue(hastens: true)),
        IntentRow(phase: .queued, want: .pause, decision: .queue(hastens: false)),
        IntentRow(phase: .queued, want: .cancel, decision: .cancel(dropsBytes: true)),
        IntentRow(phase: .running, want: .cancelKeepingBytes, decision: .cancel(dropsBytes: false)),
        IntentRow(
            phase: .failed, want: .run, isRearmPending: true,
            decision: .rearm(isSuperseded: false)),
        IntentRow(
            phase: .cancelled, want: .pause, isRearmPending: true,
            decision: .rearm(isSuperseded: true)),
        IntentRow(phase: .failed, want: .cancel, fetch: 1, decision: .dropBytes),
        IntentRow(phase: .failed, want: .cancel, decision: .nothing),
        IntentRow(phase: .cancelled, want: .cancelKeepingBytes, fetch: 1, decision: .nothing),
        IntentRow(phase: .completed, want: .cancel, decision: .nothing),
    ]) func intentsOfThoseThatDoNotRun(_ row: IntentRow) {
        var work = Self.work(1, row.want, row.phase, fetch: row.fetch)
        work.isRearmPending = row.isRearmPending
        #expect(IntentDecision.decide(work, in: nil) == row.decision)
    }

    @Test func intentsOfOneThatRuns() {
        func decide(
            _ want: Want, isBeingCancelled: Bool = false,
            _ change: (inout TransferRequest) -> Void = { _ in }
        ) -> IntentDecision {
            var fetch = Self.served([Self.work(1, .run, .running, fetch: 1)])
            fetch.isBeingCancelled = isBeingCancelled
            var work = Self.work(1, want, .running, fetch: 1)
            change(&work.request)
            return IntentDecision.decide(work, in: fetch)
        }
        #expect(decide(.run) == .nothing)
        #expect(decide(.pause) == .leave(.requeue))
        #expect(decide(.cancel) == .leave(.cancel(keepingBytes: false)))
        #expect(decide(.cancelKeepingBytes) == .leave(.cancel(keepingBytes: true)))
        #expect(decide(.run, isBeingCancelled: true) == .leave(.renew))
        #expect(decide(.run) { $0.options.limitRate = 7 } == .adopt)
        #expect(decide(.run) { $0.url += "x" } == .leave(.renew))
        // The length that is known is within the new bound, or is not.
        #expect(decide(.run) { $0.options.maxSize = 100 } == .adopt)
        #expect(decide(.run) { $0.options.maxSize = 99 } == .leave(.renew))
        let expired = Self.work(1, .run, .running, fetch: 1)
        #expect(
            IntentDecision.decideExpired(expired, in: Self.served([expired])) == .leave(.expire))
        #expect(IntentDecision.decideExpired(expired, in: nil) == .fail)
    }

    // MARK: - Sharing

    @Test func oneOfSeveralLeaves() throws {
        let works = (1...3).map { Self.work($0, .run, .running, fetch: 1) }
        var follower = works[2]
        follower.want = .cancel
        var change = try #require(SharedChange.decide(follower, in: Self.served(works)))
        #expect(change.outcome == .cancelled && change.leader == nil)
        #expect(change.subscribers.all.map(\.id.rawValue) == [1, 2])
        #expect(change.bytesCounted == nil && change.departure == nil)

        var leader = works[0]
        leader.want = .cancel
        change = try #require(SharedChange.decide(leader, in: Self.served(works)))
        #expect(change.leader?.rawValue == 2 && change.bytesCounted == 40)
        // What it held stays with the others.
        #expect(change.numbers.bytesDone == 0 && change.numbers.bytesFetched == 40)
        var ending = Self.served(works)
        ending.isEnding = true
        #expect(SharedChange.decide(leader, in: ending) == nil)
        ending.isSharing = true
        #expect(SharedChange.decide(leader, in: ending) != nil)
        #expect(SharedChange.leaving(leader, ending, .expired) == nil)

        leader = works[0]
        leader.request.url += "x"
        change = try #require(SharedChange.decide(leader, in: Self.served(works)))
        #expect(change.outcome == .requeued)

        // Only a paused one is left: the file is for none of them now.
        let paused = [works[0], Self.work(2, .pause, .queued, fetch: 1)]
        leader = works[0]
        leader.want = .cancel
        change = try #require(SharedChange.decide(leader, in: Self.served(paused)))
        #expect(change.departure == .renew)
    }

    @Test func oneOfSeveralIsPausedAndGoesOn() throws {
        var works = (1...2).map { Self.work($0, .run, .running, fetch: 1) }
        works[0].want = .pause
        let whole = [Self.work(1, .run, .running, fetch: 1), works[1]]
        var change = try #require(SharedChange.decide(works[0], in: Self.served(whole)))
        #expect(change.outcome == .pauses && change.leader?.rawValue == 2)
        #expect(change.bytesCounted == 40 && change.departure == nil)
        #expect(change.subscribers[works[0].id]?.isWanted == false)

        // The last one that wanted to run: it goes back to the queue with the fetch.
        works[1].want = .pause
        change = try #require(SharedChange.decide(works[0], in: Self.served([whole[0], works[1]])))
        #expect(change.outcome == .stays && change.leader == nil)
        #expect(change.departure == .requeue)

        let back = Self.work(2, .run, .queued, fetch: 1)
        var fetch = Self.served([whole[0], works[1]])
        change = try #require(SharedChange.decide(back, in: fetch))
        #expect(change.outcome == .joins && change.subscribers[back.id]?.isWanted == true)
        fetch.isJoinable = false
        #expect(SharedChange.decide(back, in: fetch) == nil)
    }

    // MARK: - Starts

    private func held(_ state: FetchState, by holders: [Int64]) -> StartSnapshot.Held {
        StartSnapshot.Held(state: state, members: Set(holders.map(TransferID.init(rawValue:))))
    }

    @Test func theFetchWithMostBytesIsContinued() {
        // One that holds bytes of its own does not give them up for fewer.
        var snapshot = StartSnapshot(
            first: Self.work(1, fetch: 7),
            equals: [
                Self.work(2, fetch: 8), Self.work(3, .pause, fetch: 7), Self.work(4, fetch: 7),
            ])
        let (own, others) = (FetchID(rawValue: 7), FetchID(rawValue: 8))
        snapshot.fetches = [
            own: held(Self.state(7, holds: 50, leader: 3), by: [1, 3, 4, 5]),
            others: held(Self.state(8, holds: 20), by: [2]),
        ]
        func check(
            _ fetch: Int64?, followers: [Int64] = [], paused: [Int64] = [],
            strangers: [Int64] = [], location: SourceLocation = #_sourceLocation
        ) {
            let decision = StartDecision.decide(snapshot)
            #expect(decision.leader.rawValue == 1, sourceLocation: location)
            #expect(decision.fetch?.id.rawValue == fetch, sourceLocation: location)
            let found = [decision.followers, decision.paused, decision.strangers]
            #expect(
                found.map { $0.map(\.rawValue) } == [followers, paused, strangers],
                sourceLocation: location)
        }
        check(7, followers: [4], paused: [3], strangers: [5])
        snapshot.fetches[others]?.state.durable = ByteRanges(0..<60)
        check(8, followers: [2])
        snapshot.fetches[others]?.state = Self.state(8, holds: 100)
        snapshot.fetches[others]?.state.publication = "/d/2"
        check(7, followers: [4], paused: [3], strangers: [5])
        snapshot.fetches[others]?.state.publication = nil
        check(8, followers: [2])
        // A fetch that runs is not continued, nor another's whose disk is away.
        snapshot.fetches[others]?.isAway = true
        check(7, followers: [4], paused: [3], strangers: [5])
        snapshot.fetches[own]?.isAway = true
        check(7, followers: [4], paused: [3], strangers: [5])
        snapshot.fetches[own]?.isActive = true
        check(nil)
    }

    /// The transfer that can be given the part file itself leads.
    @Test func theOneAtHomeLeads() {
        var snapshot = StartSnapshot(
            first: Self.work(1, directory: "/elsewhere"), equals: [Self.work(2, fetch: 7)])
        var state = Self.state(7, holds: 10)
        state.partPath = "/d/.2.part"
        state.partIdentity = FileIdentity(device: 1, inode: 2)
        snapshot.fetches = [FetchID(rawValue: 7): held(state, by: [2])]
        let decision = StartDecision.decide(snapshot)
        #expect(decision.leader.rawValue == 2 && decision.followers.map(\.rawValue) == [1])
    }

    // MARK: - Preferences

    @Test func preferencesAreWaivedInTime() {
        func verdict(
            by seconds: Double, deadline: Double, bytes: Int64? = 0
        ) -> PreferenceExpiry.Verdict {
            var transfer = WaiverSnapshot(
                id: TransferID(rawValue: 1), eligibility: .plain, deadline: Self.now + deadline,
                span: 100_000, bytesLeft: bytes, rate: 1000)
            transfer.waiver = PreferenceExpiry(checkAt: Self.now, by: Self.now + seconds)
            return transfer.verdict(at: Self.now)
        }
        #expect(verdict(by: 0, deadline: 90_000) == .waive)
        #expect(verdict(by: 500, deadline: 90_000) == .look(at: Self.now + 500))
        // 300 s are fixed, and bytes are expected to take twice as long as they should.
        #expect(verdict(by: 5_000, deadline: 500) == .look(at: Self.now + 100))
        #expect(verdict(by: 5_000, deadline: 500, bytes: 100_000) == .waive)
    }

    // MARK: - Cool-downs

    /// A new engine knows of an origin only that it cools down, when a client wants it asked.
    @Test func aShorterCoolDownReplacesTheKnownOne() {
        let name = "http://h:80"
        let origins = Origins()
        var known = CoolingOrigins()
        known.record(1, until: Self.now + 10)
        origins.setCooling(known)
        var memory = OriginMemory(origin: name)
        memory.coolDownSince = Self.now
        memory.coolDownUntil = Self.now + 10
        origins.site(name).memory = memory
        let moment = Moment(wall: Self.now + 0.5, monotonic: Instant(nanoseconds: 0))
        #expect(origins.hasten([name], now: moment))
        #expect(origins.cooling.endOfRun(from: 1, at: Self.now + 2) == nil)
    }

    // MARK: - Recovery

    @Test func whatALostEngineLeft() {
        var state = Self.state(1, holds: 60)
        state.partIdentity = FileIdentity(device: 1, inode: 2)
        state.publication = "/d/other"
        func decide(_ action: RecoveryAction, isPartThere: Bool = true) -> Settlement {
            Settlement.decide(action, state, destination: "/d/1", isPartThere: isPartThere)
        }
        let more = ByteRanges(0..<80)
        #expect(decide(.requeue(have: more)).state?.durable == more)
        let fresh = decide(.requeueFresh)
        #expect(fresh.state?.durable.isEmpty == true && fresh.state?.generation == 2)
        #expect(fresh.state?.partIdentity != nil && fresh.restart == nil)
        #expect(decide(.requeueFresh, isPartThere: false).state?.partIdentity == nil)
        let restart = decide(.restart(.nothingToProve))
        #expect(restart.restart?.bytesLost == 60 && restart.state?.restarts == 1)
        #expect(restart.state?.bytesTotal == nil && restart.completed == nil)
        #expect(decide(.rejoin) == Settlement())
        #expect(decide(.republish).state == state)
        #expect(decide(.markCompleted).completed?.path == "/d/other")
        #expect(
            Settlement.decide(.requeueFresh, nil, destination: "/d/1", isPartThere: false)
                == Settlement())
    }

    // MARK: - The plan

    @Test func aFullEngineStillStops() {
        var queue = QueueSnapshot()
        var busy = Running(
            id: TransferID(rawValue: 9), session: "s", origin: OriginID(rawValue: "o"))
        var schedule = TransferSchedule()
        schedule.requires = ConditionNeeds(power: true)
        let powered = EligibilityKey(schedule).eligibility
        busy.eligibility = powered
        var shared = busy
        shared.id = TransferID(rawValue: 8)
        shared.anyOf = [powered, .plain]
        var whole = busy
        whole.id = TransferID(rawValue: 7)
        whole.isLetFinish = true
        queue.running = [busy, shared, whole]
        var conditions = Conditions()
        conditions.power = Reading(.battery, source: "test", since: Self.now)
        let plan = TurnPlan.decide(
            queue, SchedulerPolicy(), in: ConditionSnapshot(conditions: conditions), box: nil,
            partFiles: 0, now: Self.now)
        #expect(plan.stops == [busy.id] && plan.starts.isEmpty)
        #expect(plan.hasBacklog && plan.interest == nil)
    }

    @Test func aClosedEligibilityIsHeldBack() {
        var schedule = TransferSchedule()
        schedule.requires = ConditionNeeds(power: true)
        let powered = EligibilityKey(schedule).eligibility
        var queue = QueueSnapshot()
        queue.eligibilities = EligibilityFacts(ready: [powered], interest: powered.interest)
        queue.ready = [powered]
        queue.coolDownEnds = Self.now + 7
        let plan = TurnPlan.decide(
            queue, SchedulerPolicy(), in: ConditionSnapshot(), box: nil, partFiles: 4,
            now: Self.now)
        #expect(plan.holdsBack && !plan.hasBacklog)
        #expect(plan.nextStart == Self.now + 7 && plan.nextStop == nil)
        #expect(plan.interest == powered.interest)
    }
}
