import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire
import LonghaulStore

/// The loop around the engine, as `EngineLoop` has it: turns when it is told something, and when
/// the engine has asked to be woken.
extension SimWorld {
    static let lookSeconds: Double = 60

    func pass(_ seconds: Double) {
        now.monotonic = now.monotonic + seconds
        now.wall = now.wall + seconds
        wire.now = now
        hosts?.advance()
    }

    /// The conditions that somebody looks at; the rest is unknown.
    var visible: Conditions {
        var seen = Conditions()
        // External power serves where a charge is asked for.
        let needsPower = hosts?.tasks != nil && watched.battery != nil
        if watched.power || needsPower { seen.power = conditions.power }
        if watched.battery != nil { seen.battery = conditions.battery }
        if watched.network { seen.network = conditions.network }
        if watched.idle { seen.isIdle = conditions.isIdle }
        if watched.fullPower { seen.savesPower = conditions.savesPower }
        if watched.unmetered || !watched.networks.isEmpty { seen.network = conditions.network }
        if watched.networks.isEmpty { seen.network.names = nil }
        if let mounted = conditions.mounted.value, !watched.mounts.isEmpty {
            seen.mounted = conditions.mounted
            seen.mounted.value = MountedFileSystems(
                mounted.directories.filter { watched.mounts.contains($0.key) },
                among: watched.mounts)
        }
        return seen
    }

    /// What the engine's watcher of conditions tells it.
    func tellConditions() {
        inputs.append(.conditions(visible))
    }

    /// A network that is another one has to settle; the first look at it is no change.
    private func noteNetwork(_ seen: Conditions) {
        let new = seen.network
        // A link that comes and goes beside one that stays does not begin it anew.
        let isSettling = settlesAt.map { $0 > now.monotonic } ?? false
        if let told, new.isAnother(than: told), new.value != .offline,
            !(isSettling && new.value == told.value)
        {
            settlesAt = now.monotonic + Limits.networkSettleSeconds
        }
        told = new
    }

    var hasNews: Bool {
        !inputs.isEmpty || !wire.facts.isEmpty || !disk.outcomes.isEmpty
            || !disk.gone.isEmpty || hosts?.reports.isEmpty == false
    }

    var isTurnDue: Bool { hasNews || now.monotonic >= nextTurn }

    /// One turn on what has arrived, and the checks that hold after each. `nil` when the process
    /// died in it.
    @discardableResult
    func turn() throws -> TurnOutcome? {
        noteOutcomes()
        inputs += wire.facts.map { .wire($0) }
        inputs += disk.outcomes.map { .fetch($0.0, $0.1) } + disk.gone.map { .gone($0) }
        inputs += hosts?.takeReports() ?? []
        wire.facts = []
        disk.outcomes = []
        disk.gone = []
        wire.now = now
        do {
            let seen = try store.dataVersion()
            if seen != dataVersion {
                dataVersion = seen
                inputs.append(.wake)
            }
            for case .conditions(let seen) in inputs { noteNetwork(seen) }
            var outcome = try engine.turn(inputs, now: now)
            inputs = []
            while outcome.interest != watched, !isDead {
                watched = outcome.interest
                noteNetwork(visible)
                engine.watch(watched, visible, now: now)
                outcome = try engine.turn([], now: now)
            }
            if isDead { return nil }
            wakesAt = outcome.wakeAt
            let wait = outcome.wakeAt.map { max(0, $0 - now.monotonic) } ?? .infinity
            nextTurn = now.monotonic + min(wait, Self.lookSeconds)
            try checkTurn(outcome)
            return outcome
        } catch let complaint as SimComplaint {
            throw complaint
        } catch {
            if isDead { return nil }
            // The store could not be written for too long: the process ends, another follows.
            guard isStoreFailing else { throw error }
            say("the engine gives up: \(error)")
            tally.givenUp += 1
            isDead = true
            return nil
        }
    }

    /// How long until something happens that needs no client.
    func secondsToNext() -> Double {
        if hasNews || !disk.orders.isEmpty || hosts?.isBusy == true { return 0.01 }
        var next = nextTurn
        if let moment = wire.nextMoment { next = min(next, moment) }
        if let moment = hosts?.nextMoment { next = min(next, moment) }
        return max(0.01, next - now.monotonic)
    }
}
