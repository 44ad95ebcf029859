internal import LonghaulCore
internal import LonghaulPlatform

/// Several tries of a writer that waits.
private let writerYieldMinimumSeconds: Double = 0.02
/// Longest gap between turns that work off a backlog.
private let writerYieldMaximumSeconds: Double = 0.2
/// The share of a turn's time reserved for other writers.
private let writerYieldShare: Double = 0.125

/// The work of an engine's thread beside its turns: set the total rate by the time of day, tell a
/// service manager how the engine does, keep room for the store's log, and save everything before
/// the machine sleeps.
struct EngineLife {
    private let engine: Engine
    private let wire: TransportPool
    private var rate: TotalRate
    private let notifier: (any ServiceNotifier)?
    private var sleep = SleepInhibitor()
    private var guardsIdleness = false
    private var isLeaving = false
    private var room: WALReserve
    private let copy: DailyCopy
    #if Metrics
    private var metrics = EngineMetrics()
    #endif

    init(
        engine: Engine, wire: TransportPool, rates: RatePlan, notifier: (any ServiceNotifier)?,
        room: WALReserve, copy: DailyCopy
    ) {
        self.copy = copy
        self.room = room
        self.engine = engine
        self.wire = wire
        rate = TotalRate(plan: rates)
        self.notifier = notifier
    }

    mutating func begin() {
        room.keep()
        notifier?.isReady(now: SystemClock.now().monotonic)
    }

    mutating func adjust(_ tuning: EngineTuning) {
        engine.adjust(tuning)
        wire.setLimitsPerOrigin(tuning.limits)
        rate.plan = tuning.rates
        engine.journal?.adjusted(tuning)
        notifier?.isAdjusted()
    }

    /// Returns whether the engine is to leave: the machine goes down.
    mutating func respond(to event: MachineEvent, now: Moment) -> Bool {
        sleep.respond(to: event, engine, now: now)
    }

    /// After a turn. Returns the seconds until it must be called again; `nil` = after the next
    /// turn.
    mutating func afterTurn(
        _ outcome: TurnOutcome, _ conditions: any ConditionsPort, now: Moment
    ) -> Double? {
        room.keep()
        copy.copyIfDue(now: now)
        #if Metrics
        metrics.update(from: engine)
        #endif
        if outcome.runsWhileIdle != guardsIdleness {
            guardsIdleness = outcome.runsWhileIdle
            conditions.guardIdleness(guardsIdleness)
        }
        sleep.keepAwake(outcome.hosts.keepsAwake, conditions)
        let wakes = [
            holdRate(now: now),
            sleep.afterTurn(engine, isQuiet: outcome.isQuiet, conditions, now: now),
            notifier?.turned(active: engine.activeCount, now: now.monotonic), copy.nextLook,
        ]
        return wakes.compactMap { $0 }.min().map { max(0, $0 - now.monotonic) }
    }

    /// The limit that was set by hand, as the store has it now.
    mutating func limitRate(to limit: RateOverride?) {
        rate.limit = limit
    }

    /// An empty wire has no rate to hold and needs no wake for it.
    private mutating func holdRate(now: Moment) -> Instant? {
        if rate.advance(to: now.wall, engine.machine.time) {
            wire.setTotalRate(rate.bytesPerSecond)
            engine.fetches.totalRate = rate.bytesPerSecond
        }
        guard engine.activeCount > 0, let until = rate.until else { return nil }
        return now.monotonic + max(0, until - now.wall)
    }

    mutating func leave() {
        if isLeaving { return }
        isLeaving = true
        notifier?.isLeaving()
    }

    mutating func end(_ reason: EngineReport.StoppedBy) {
        #if Metrics
        metrics.update(from: engine)
        #endif
        sleep.end()
        copy.end(isHurried: reason == .signal)
    }
}

/// The rate of all transfers together by the time of day, and by the limit that was set by hand.
private struct TotalRate {
    var plan: RatePlan { didSet { isStale = true } }
    /// See ``RateOverride``.
    var limit: RateOverride? { didSet { if limit != oldValue { isStale = true } } }
    private(set) var bytesPerSecond: Int64?
    /// When it changes next; `nil` = it stays.
    private(set) var until: Timestamp?
    private var since = Timestamp(milliseconds: .min)
    private var isStale = true

    init(plan: RatePlan) {
        self.plan = plan
    }

    /// Returns whether the rate is another one now. A clock that was set back may be before a
    /// window again.
    mutating func advance(to now: Timestamp, _ time: LocalTime) -> Bool {
        let isDue = until.map { $0 <= now || now < since } ?? false
        guard isStale || isDue else { return false }
        isStale = false
        since = now
        let before = bytesPerSecond
        let found = plan.now(now, time, limit: limit)
        bytesPerSecond = found.bytesPerSecond
        until = found.until
        return bytesPerSecond != before
    }
}

/// The gap between turns that work off a backlog of intents. SQLite has no queue of writers: a
/// writer tries again every few milliseconds. Without a gap it would find the store locked for as
/// long as the backlog lasts.
enum WriterYield {

    static func seconds(afterTurnOf seconds: Double) -> Double {
        min(
            max(writerYieldMinimumSeconds, seconds * writerYieldShare),
            writerYieldMaximumSeconds)
    }

    static func leave(after outcome: TurnOutcome, begun: Moment) {
        guard outcome.isBehind else { return }
        ThreadSleep.seconds(seconds(afterTurnOf: SystemClock.now().monotonic - begun.monotonic))
    }
}
