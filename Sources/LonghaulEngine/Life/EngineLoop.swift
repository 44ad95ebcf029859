package import LonghaulCore
package import LonghaulStore
package import LonghaulPlatform
package import LonghaulTransport

/// Open files kept for the store, the board, the lock, directories and the engine's wake-ups.
/// Half of the process's other open files are for part files, a quarter for connections.
private let openFilesOfItsOwn = 24

/// The engine with its threads: the lease, the ports to the real world, a mailbox, and turns until
/// its stop conditions end it.
package final class EngineLoop: Sendable {
    private let store: Store
    private let directory: String
    private let holder: EngineHolder
    private let stopConditions: StopConditions
    private let transport: TransportConfiguration
    private let notifier: (any ServiceNotifier)?
    private let journal: EngineJournal?
    private let leaving: LeavingWatch?
    private let onFailure: (@Sendable (EngineFailure) -> Void)?
    private let times: EngineTimes?
    private let mailbox = Mailbox<Message>()

    private enum Message: Sendable {
        case input(EngineInput)
        indirect case machine(MachineEvent)
        indirect case adjust(EngineTuning)
        case leave
    }

    package init(
        store: Store, directory: String, holder: EngineHolder, stopConditions: StopConditions,
        transport: TransportConfiguration = TransportConfiguration(),
        notifier: (any ServiceNotifier)? = nil, journal: EngineJournal? = nil,
        leaving: LeavingWatch? = nil, onFailure: (@Sendable (EngineFailure) -> Void)? = nil,
        times: EngineTimes? = nil
    ) {
        self.store = store
        self.directory = directory
        self.holder = holder
        self.stopConditions = stopConditions
        self.transport = transport
        self.notifier = notifier
        self.journal = journal
        self.leaving = leaving
        self.onFailure = onFailure
        self.times = times
    }

    /// New limits, with the next turn. From any thread, at any time.
    package func adjust(_ tuning: EngineTuning) {
        mailbox.put([.adjust(tuning)])
    }

    /// Checkpoint everything and leave. From any thread, at any time.
    package func leave() {
        mailbox.put([.leave])
    }

    /// Runs on the calling thread until a stop condition holds. `lock` is held for all of it.
    ///
    /// - Parameter onNews: Called, on the engine's thread, after the first turn and after each one
    ///   before which another connection may have changed the store, or conditions have changed;
    ///   with the number of times that the network has changed.
    package func run(
        holding lock: EngineLock, conditions: any ConditionsPort,
        hosts: any HostPort = NoHosts(), onNews: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws(LonghaulError) -> EngineReport {
        let started = SystemClock.now()
        try store.keepTemporariesInMemory()
        let epoch = try store.lease.raiseEpoch(holder, now: started.wall)
        let mailbox = mailbox
        let workers: FileWorkers
        let listener: WakeListener?
        do throws(SystemFailure) {
            workers = try FileWorkers()
            // Without the hint clients are noticed later, not never: see `Limits.storePollSeconds`.
            listener = try? WakeListener(in: directory) { mailbox.put([.input(.wake)]) }
        } catch {
            throw error.longhaulError()
        }
        let files = try files(on: workers)
        let wire = wire()
        if (try? store.transfers.isAnyReady()) == true { wire.expectRequests() }
        hosts.listen { mailbox.put([.input(.host($0))]) }
        conditions.listen {
            mailbox.put([.input(.conditions($0))])
        } onEvent: {
            mailbox.put([.machine($0)])
        }
        defer {
            hosts.stop()
            conditions.stop()
            wire.shutdown()
            workers.stop()
            listener?.stop()
            leaving?.end()
        }
        var random = SystemRandom()
        let engine = Engine(
            store: store, epoch: epoch, files: files, wire: wire, hosts: hosts, times: times,
            policy: SchedulerPolicy(limits: stopConditions.tuning.limits),
            scope: stopConditions.scope, time: LocalTime.ofProcess,
            watching: ConditionNeeds(), seed: random.next())
        engine.adjust(stopConditions.tuning)
        engine.bootID = bootID
        engine.journal = journal
        engine.onFailure = onFailure
        engine.prefetch.partFilesMax = min(Limits.openPartFiles, OwnProcess.openFilesMax / 2)
        engine.prefetch.partFilesCap = max(1, EngineLoop.openFilesLeft / 2)
        journal?.starts(holder.mode, epoch: epoch.rawValue)
        if let seconds = stopConditions.maxSeconds {
            engine.limitTime(
                to: seconds, from: started.monotonic, unresumable: stopConditions.unresumable)
        }
        try engine.recover(now: SystemClock.now())
        var life = EngineLife(
            engine: engine, wire: wire, rates: stopConditions.tuning.rates, notifier: notifier,
            room: WALReserve(ofLog: store.location.log),
            copy: DailyCopy(of: store, now: started.monotonic))
        life.limitRate(to: try store.settings.rateLimit())
        life.begin()
        let reason = try turns(of: engine, since: started, conditions, onNews, &life)
        settleDisk(workers)
        try store.lease.release(epoch)
        life.end(reason)
        withExtendedLifetime(lock) {}
        let report = EngineReport(
            totals: engine.totals, bytes: engine.bytesReceived,
            seconds: SystemClock.now().monotonic - started.monotonic, stoppedBy: reason)
        journal?.leaves(report)
        return report
    }

    private var bootID: String? { holder.bootID.isEmpty ? nil : holder.bootID }

    private func wire() -> TransportPool {
        var transport = transport
        transport.setLimitsPerOrigin(stopConditions.tuning.limits)
        transport.bound(connections: max(1, EngineLoop.openFilesLeft / 4))
        let mailbox = mailbox
        return TransportPool(configuration: transport) { facts in
            mailbox.put(facts.map { .input(.wire($0)) })
        }
    }

    private func files(on workers: FileWorkers) throws(LonghaulError) -> DiskFiles {
        let mailbox = mailbox
        return DiskFiles(
            board: ProgressBoard.open(in: directory), workers: workers,
            store: try store.lease.info().storeID, tell: { mailbox.put([.input($0)]) })
    }

    /// Records the outcomes of the disk work that is still under way.
    private func settleDisk(_ workers: FileWorkers) {
        workers.drain()
        let gone = mailbox.take(within: 0).compactMap { message -> OrphanedPart? in
            guard case .input(.gone(let part)) = message else { return nil }
            return part
        }
        // If this fails, the next engine finds it out.
        try? store.wants.forget(gone)
    }

    /// Runs a housekeeping turn: it folds the remains of a dead engine and the wants of clients
    /// into the store, and starts nothing. If the store cannot be written, an engine does it later,
    /// which tries for longer than a user waits for a command.
    package func settle(holding lock: EngineLock) throws(LonghaulError) {
        let epoch = try store.lease.raiseEpoch(holder, now: SystemClock.now().wall)
        let workers: FileWorkers
        do throws(SystemFailure) {
            workers = try FileWorkers(threads: 1)
        } catch {
            throw error.longhaulError()
        }
        defer { workers.stop() }
        let files = try files(on: workers)
        var scope = stopConditions.scope
        scope.startsNothing = true
        let engine = Engine(
            store: store, epoch: epoch, files: files, wire: NoWire(), scope: scope, seed: 0)
        engine.bootID = bootID
        try engine.recover(now: SystemClock.now())
        var inputs = [EngineInput.wake]
        while true {
            let now = SystemClock.now()
            let outcome = try engine.turn(inputs, now: now)
            if outcome.isQuiet { break }
            if let error = engine.commitError { throw error }
            inputs = []
            WriterYield.leave(after: outcome, begun: now)
        }
        settleDisk(workers)
        try store.lease.release(epoch)
        withExtendedLifetime(lock) {}
    }

    /// The number of files that the process may open beside the engine's own files.
    private static var openFilesLeft: Int {
        max(0, OwnProcess.openFilesMax - openFilesOfItsOwn)
    }

    /// While requests wait in the transport, messages gather for a moment: the wire cannot run dry
    /// in it.
    static let gathering = Gathering(count: 128, seconds: 0.002)

    private func turns(
        of engine: Engine, since started: Moment, _ conditions: any ConditionsPort,
        _ onNews: (Int) -> Void, _ life: inout EngineLife
    ) throws(LonghaulError) -> EngineReport.StoppedBy {
        var watch = StopCheck(stopConditions: stopConditions, started: started.monotonic)
        var version = try store.dataVersion()
        var watched = ConditionNeeds()
        var machine = MachineFacts(bootID: bootID)
        // Changes before the first version was read are seen by no comparison.
        var messages = [Message.input(.machine(machine)), .input(.wake)]
        while true {
            let now = SystemClock.now()
            var inputs = inputs(of: messages, &machine, &life, &watch, now: now)
            let seen = try store.dataVersion()
            if seen != version {
                version = seen
                inputs.append(.wake)
                conditions.lookAgain()
            }
            if inputs.contains(where: \.isWake) {
                life.limitRate(to: try store.settings.rateLimit())
            }
            journal?.turn(inputs.count, active: engine.activeCount)
            let outcome = try engine.turn(inputs, now: now)
            if inputs.contains(where: \.isNews) { onNews(engine.machine.networkChanges) }
            times?.addTurn(of: SystemClock.now().monotonic - now.monotonic)
            WriterYield.leave(after: outcome, begun: now)
            if outcome.interest != watched {
                watched = outcome.interest
                engine.watch(watched, conditions.watch(watched), now: SystemClock.now())
                messages = []
                continue
            }
            conditions.follow(outcome.hosts.triggers)
            let wait = try watch.check(engine, outcome, store: store, now: now)
            if let reason = watch.reason {
                life.leave()
                if !engine.isLeaving {
                    leaving?.begin()
                    engine.beginLeaving(now: now)
                    // A stop withdraws earlier requests for an engine.
                    if reason == .signal, holder.stays {
                        _ = try store.settings.withdrawEngine()
                    }
                }
                let last = try engine.turn([], now: now)
                // The time of the engine is over. Unrecorded work is recovered, as after a crash.
                if let error = engine.commitError { throw error }
                // `run` waits for the hosts that it has started, within the budget of each.
                let waits =
                    stopConditions.untilDrained && reason != .signal && last.hosts.isBusyWithHosts
                if last.isQuiet, !waits { return reason }
                messages = mailbox.take(within: 0.5)
                continue
            }
            if outcome.isQuiet { engine.effects.files.rest() }
            let next = life.afterTurn(outcome, conditions, now: now)
            messages = mailbox.take(
                within: min(wait ?? .infinity, next ?? .infinity, Limits.storePollSeconds),
                gathering: outcome.isWellAhead ? EngineLoop.gathering : nil)
        }
    }
}

extension EngineLoop {
    /// Folds the messages into the loop's state. Returns the inputs of the next turn.
    private func inputs(
        of messages: [Message], _ machine: inout MachineFacts, _ life: inout EngineLife,
        _ watch: inout StopCheck, now: Moment
    ) -> [EngineInput] {
        var inputs: [EngineInput] = []
        inputs.reserveCapacity(messages.count)
        for message in messages {
            switch message {
            case .input(let input): inputs.append(input)
            case .machine(let event):
                if life.respond(to: event, now: now) { watch.reason = watch.reason ?? .signal }
                machine.fold(event)
                // The clock, power and the network may have changed.
                inputs += [.machine(machine), .wake]
            case .adjust(let tuning): life.adjust(tuning)
            // Also where it waits for hosts after the end of its time.
            case .leave: watch.reason = .signal
            }
        }
        return inputs
    }
}

extension EngineInput {
    fileprivate var isWake: Bool {
        if case .wake = self { true } else { false }
    }

    /// The store or the conditions may have changed.
    fileprivate var isNews: Bool {
        switch self {
        case .wake, .conditions: true
        case .wire, .fetch, .gone, .machine, .host: false
        }
    }
}

extension MachineFacts {
    fileprivate mutating func fold(_ event: MachineEvent) {
        switch event {
        case .mounts(let mounts): self.mounts = mounts
        case .paths(let paths): self.paths = paths
        case .didWake: resumes += 1
        case .willSleep, .willShutDown, .shutdownCancelled: break
        }
    }
}
