package import LonghaulCore
package import LonghaulStore

/// The engine: turns inputs into one commit and then its effects. Owned by one thread, which calls
/// ``turn(_:now:)``. It knows no threads, waits for nothing but the store, and is deterministic
/// given its inputs, clock values and seed.
///
/// It is a loop over owners that have one job each; every piece of state belongs to one of them.
/// Owners do not call each other: the engine passes values between them.
package final class Engine {
    let writer: StoreWriter
    let fetches = ActiveFetches()
    let origins = Origins()
    let index = CoalescingIndex()
    var schedule: Schedule
    var machine: MachineConditions
    var clock = EngineClock()
    var prefetch = Prefetch()
    var intents = IntentInbox()
    /// Writes of a failed commit, which are tried again, unchanged, before anything else.
    var pending = PendingCommit()
    var effects: EffectPerformer
    var launches: Launches
    var counters = EngineCounters()
    var random: SeededGenerator
    /// `nil` = it is not read.
    package var journal: EngineJournal? {
        didSet { launches.journal = journal }
    }

    /// Called for each transfer, host and task that fails, once that is committed.
    package var onFailure: (@Sendable (EngineFailure) -> Void)? {
        get { launches.onFailure }
        set { launches.onFailure = newValue }
    }

    package init(
        store: Store, epoch: Epoch, files: any FilePort, wire: any WirePort,
        hosts: any HostPort = NoHosts(), times: EngineTimes? = nil,
        policy: SchedulerPolicy = SchedulerPolicy(), scope: EngineScope = EngineScope(),
        time: LocalTime = .utc, watching: ConditionNeeds = .all, seed: UInt64
    ) {
        writer = StoreWriter(store: store, epoch: epoch, times: times)
        effects = EffectPerformer(files: files, wire: wire)
        launches = Launches(writer, hosts, time)
        schedule = Schedule(policy: policy, scope: scope)
        machine = MachineConditions(time: time, watching: watching)
        random = SeededGenerator(seed: seed)
    }

    /// Tells a clock that was set from the clock of another boot; `nil` = the boot is unknown.
    package var bootID: String? {
        get { clock.bootID }
        set { clock.bootID = newValue }
    }

    package func recover(now: Moment) throws(LonghaulError) {
        var pass = RecoveryPass(writer: writer, files: effects.files, bootID: bootID, now: now)
        try pass.run()
        fetches.unrecordedSince = pass.unrecordedSince
        counters.count(completed: pass.completed)
        if !schedule.scope.startsNothing { try launches.adopt(now: now) }
        intents.isDue = true
        schedule.needsPlan = true
        clock.start(at: now)
    }

    // MARK: - Observed state

    /// Fetches in memory: on the wire, or on their way to or from it.
    package var activeCount: Int { fetches.count }

    /// Body bytes that this engine has received.
    package var bytesReceived: Int64 { counters.bytesOfGone + fetches.bytesReceived }

    package var totals: EngineCounters {
        var totals = counters
        totals.hostsFailed = launches.failed
        return totals
    }

    /// Servers are asked to delete abandoned uploads.
    package var isAborting: Bool { !effects.aborts.keys.isEmpty }

    /// Changes whenever a transfer may have ended.
    package var endsSeen: Int { counters.completed + counters.failed + intents.rounds }

    /// No new starts: everything leaves the wire.
    package var isLeaving: Bool { schedule.isLeaving }

    /// Why the store cannot be written; `nil` = it can.
    package var commitError: LonghaulError? { writer.error }

    // MARK: - Requests

    /// How much time this engine has: what fits into it goes first.
    package func limitTime(
        to seconds: Double, from start: Instant, unresumable: UnresumablePolicy = .wait
    ) {
        schedule.box = Schedule.Box(
            seconds: seconds, ends: start + seconds, unresumable: unresumable)
    }

    /// Tells whether a fetch runs that may continue after the end of the box.
    package func hasUnresumable(_ policy: UnresumablePolicy) -> Bool {
        fetches.all.contains { $0.outlasts(policy) }
    }

    /// The time is over: such fetches stay, all others leave the wire. A box that is over begins
    /// nothing.
    package func finishUnresumable(_ policy: UnresumablePolicy, now: Moment) {
        for fetch in fetches.sortedIDs where fetches[fetch]?.outlasts(policy) == false {
            feed(.leave(.requeue), to: fetch, now: now)
        }
    }

    /// Applies from the next plan on. Running transfers continue, even if they exceed the new
    /// limits.
    package func adjust(_ tuning: EngineTuning) {
        effects.retention.lengths = tuning.retention
        schedule.adjust(tuning.limits)
    }

    /// These conditions are watched from now on, and have these values.
    package func watch(_ interest: ConditionNeeds, _ found: Conditions, now: Moment) {
        machine.watch(interest)
        setConditions(found, now: now)
    }

    func setConditions(_ new: Conditions, now: Moment) {
        journal?.conditions(machine.conditions, new)
        let change = machine.replace(with: new, now: now)
        if change.isAnotherNetwork {
            effects.wire.leaveConnections(suspecting: fetches.suspects)
        }
        if change.isNetworkNew {
            schedule.triggers.isNetworkNew = true
            intents.isDue = true
        }
        schedule.mustPublish = true
        schedule.needsPlan = true
        launches.markStale()
    }

    /// Every fetch leaves the wire, checkpointed. Turns continue until ``TurnOutcome/isQuiet``.
    package func beginLeaving(now: Moment) {
        schedule.isLeaving = true
        writer.retryNow()
        // Aborts that are not done are done by the next engine.
        effects.wire.stop(effects.aborts.keys)
        for fetch in fetches.sortedIDs { feed(.leave(.requeue), to: fetch, now: now) }
    }

    /// The machine is about to sleep: everything leaves the wire, checkpointed and durable, and
    /// nothing starts before ``resume(now:)``. Done when a turn is quiet.
    package func suspend(now: Moment) {
        journal?.suspends()
        beginLeaving(now: now)
        // Going back to the queue is not durable otherwise: a battery may run out during the sleep.
        pending.durable = true
        schedule.mustPublish = true
        // There may be work, only not now.
        schedule.needsPlan = true
    }

    /// Everything is checked again: much may have changed meanwhile.
    package func resume(now: Moment) {
        journal?.resumes()
        schedule.isLeaving = false
        effects.aborts.markStale()
        schedule.mustPublish = true
        intents.isDue = true
        schedule.needsPlan = true
    }
}
