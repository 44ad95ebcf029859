internal import LonghaulCore
internal import LonghaulStore

/// When something may start, and when the engine has to wake for it.
struct Schedule {
    struct Box {
        var seconds: Double
        var ends: Instant
        var unresumable: UnresumablePolicy
    }

    var policy: SchedulerPolicy
    let scope: EngineScope
    /// The time that this engine was given, and when it is over.
    var box: Box?
    /// The input of the plan has changed: plan at once.
    var needsPlan = true
    /// No new starts: everything leaves the wire.
    var isLeaving = false
    /// Tells whether the last plan left candidates behind that a free place would let start.
    private(set) var hasBacklog = false
    /// The places where the last reads of the queue ended: of discretionary eligibilities, and of
    /// the others.
    private(set) var cursors: [Bool: ReadyPlace] = [:]
    var triggers = ScheduleTriggers()
    private(set) var due = DueTimes()
    /// The state that `why` reads from other processes has changed.
    var mustPublish: Bool

    init(policy: SchedulerPolicy, scope: EngineScope) {
        self.policy = policy
        self.scope = scope
        // Housekeeping watches no conditions.
        mustPublish = !scope.startsNothing
    }

    var limits: SchedulerLimits { policy.limits }

    mutating func adjust(_ limits: SchedulerLimits) {
        if limits == policy.limits { return }
        policy.limits = limits
        mustPublish = true
        needsPlan = true
    }

    func timeBox(now: Moment) -> TimeBox? {
        box.map {
            TimeBox(
                length: $0.seconds, left: $0.ends - now.monotonic, unresumable: $0.unresumable)
        }
    }

    /// A plan, or at least its wake times, is committed.
    mutating func committed(_ plan: TurnPlan?, _ due: DueTimes) {
        self.due = due
        guard let plan else { return }
        assert(!scope.startsNothing, "housekeeping starts nothing")
        hasBacklog = plan.hasBacklog
        for (isDiscretionary, place) in plan.cursors { cursors[isDiscretionary] = place }
        triggers.planned(plan)
    }

    /// The view that other processes get.
    func view(_ machine: MachineConditions, now: Moment) -> EngineView {
        var limits = published(now: now)
        limits.networkSettlesAt = machine.snapshot(now: now).networkSettlesAt
        return EngineView(conditions: machine.conditions, outlook: limits)
    }

    /// The limits that it decides by besides the machine's conditions.
    func published(now: Moment) -> PublishedLimits {
        var limits = PublishedLimits()
        limits.limits = policy.limits
        limits.onlyDiscretionary = scope.onlyDiscretionary
        limits.isSuspended = isLeaving
        limits.box = box.map {
            PublishedLimits.Box(
                seconds: $0.seconds, endsAt: now.wall + ($0.ends - now.monotonic),
                unresumable: $0.unresumable)
        }
        return limits
    }
}

/// When something falls due by the clock, from the store as of the last commit.
struct DueTimes: Equatable {
    /// When the engine wakes for waiting or running transfers.
    private(set) var wake: Timestamp?
    /// When the next transfer may start.
    private(set) var ready: Timestamp?
    /// ``ready`` without transfers that check for room on a disk.
    private(set) var readyBesidesStorage: Timestamp?

    /// At the end of the transaction, whose writes count.
    func load(
        _ tx: borrowing EngineTransaction, after plan: TurnPlan?, _ triggers: ScheduleTriggers,
        now: Timestamp
    ) throws -> DueTimes {
        var times = DueTimes()
        let nextStart = plan == nil ? triggers.nextStart : plan?.nextStart
        let nextStop = plan == nil ? triggers.nextStop : plan?.nextStop
        let others = [try tx.timers.nextWaiver(), nextStart]
        let due = try tx.timers.nextDue()
        times.ready = (others + [due]).compactMap { $0 }.min()
        let besides = due == nil ? nil : try tx.timers.nextDueBesidesStorage()
        times.readyBesidesStorage = (others + [besides]).compactMap { $0 }.min()
        times.wake = [times.ready, try tx.timers.nextDeadline(now), nextStop]
            .compactMap { $0 }.min()
        if times.wake != wake { try tx.setNextWake(times.wake) }
        return times
    }
}

/// Facts that change whether transfers may run: conditions, and the clock.
struct ScheduleTriggers {
    /// There is another network, and the store does not know yet.
    var isNetworkNew = false
    /// When the clock alone may let something start, as of the last plan.
    private(set) var nextStart: Timestamp?
    /// When the clock alone stops something that runs.
    private(set) var nextStop: Timestamp?
    /// Something is ready by time and not by its conditions.
    private(set) var holdsBack = false
    /// The conditions that matter to running or waiting transfers.
    private(set) var interest = ConditionNeeds()

    /// Such a moment has passed: plan.
    mutating func havePassed(at now: Timestamp) -> Bool {
        let starts = nextStart.map { $0 <= now } ?? false
        let stops = nextStop.map { $0 <= now } ?? false
        if starts { nextStart = nil }
        if stops { nextStop = nil }
        return starts || stops
    }

    /// A fetch runs from now on, or for other transfers.
    mutating func addRunning(_ gate: Gate) {
        guard let at = gate.changesAt else { return }
        nextStop = min(nextStop ?? at, at)
    }

    fileprivate mutating func planned(_ plan: TurnPlan) {
        nextStart = plan.nextStart
        nextStop = plan.nextStop
        holdsBack = plan.holdsBack
        if let interest = plan.interest { self.interest = interest }
    }
}
