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
    private var rates: RatePlan
    private let notifier: (any ServiceNotifier)?
    private var rate: Int64?
    private var rateSince = Timestamp(milliseconds: .min)
    private var rateUntil: Timestamp?
    private var looksAtRate = true
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
        self.rates = rates
        self.notifier = notifier
    }

    mutating func begin() {
        room.keep()
        notifier?.isReady(now: SystemClock.now().monotonic)
    }

    mutating func adjust(_ tuning: EngineTuning) {
        engine.adjust(tuning)
        wire.setLimitsPerOrigin(tuning.limits)
        rates = tuning.rates
        looksAtRate = true
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

    /// An empty wire has no rate to hold and needs no wake for it.
    private mutating func holdRate(now: Moment) -> Instant? {
        let isDue = rateUntil.map { $0 <= now.wall || now.wall < rateSince } ?? false
        if looksAtRate || isDue {
            looksAtRate = false
            rateSince = now.wall
            let found = rates.now(now.wall, engine.machine.time)
            rateUntil = found.until
            if found.bytesPerSecond != rate {
                rate = found.bytesPerSecond
                wire.setTotalRate(rate)
                engine.fetches.totalRate = rate
            }
        }
        guard engine.activeCount > 0, let rateUntil else { return nil }
        return now.monotonic + max(0, rateUntil - now.wall)
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
