internal import Longhaul
internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore

/// How time passes.
extension SimulatedWorld {
    /// Seconds of real time that a host may compute at one moment of the world.
    private static let patienceSeconds: Double = 60
    /// Turns of the engine at one moment of the world.
    private static let turnsMax = 100_000

    /// Lets so many seconds pass: everything happens that was due, in its order. With 0, what is due
    /// at this moment. Returns when all of it has happened, what hosts do among it.
    ///
    /// - Throws: `conflict` when it is called while another call runs; `timedOut` when a host has
    ///   computed for a minute of real time; what ends an engine.
    public func advance(by seconds: Double) async throws {
        if isAdvancing {
            throw LonghaulError(.conflict, "the world is advancing already")
        }
        isAdvancing = true
        defer { isAdvancing = false }
        // Programs may have attached themselves, or gone away.
        inputs.append(.host(.attachments))
        let end = clock.now.monotonic + max(0, seconds)
        try await settle()
        while clock.now.monotonic < end {
            let next = [wakesAt, wire.nextMoment, sleepers.nextMoment].compactMap { $0 }.min()
            let soonest = clock.now.monotonic + 0.001
            clock.advance(to: min(end, max(next ?? end, soonest)))
            wire.advance()
            sleepers.wake(at: clock.now.monotonic)
            try await settle()
        }
    }

    /// All that happens at this moment.
    private func settle() async throws {
        noteConditions()
        var turns = 0
        repeat {
            if try isTurnDue() {
                turns += 1
                if turns > Self.turnsMax {
                    throw LonghaulError(.internal, "the engine does not come to rest")
                }
                try turn()
            }
            try await letHostsCompute()
            await SharedStore.settle(in: directory)
            noteConditions()
        } while try isTurnDue() || hosts.areComputing
    }

    private func isTurnDue() throws -> Bool {
        inputs += wire.takeFacts().map { .wire($0) } + parts.settleDisk()
        hosts.carryOut()
        inputs += hosts.takeReports().map { .host($0) }
        let seen = try parts.store.dataVersion()
        if seen != dataVersion {
            dataVersion = seen
            inputs.append(.wake)
        }
        return !inputs.isEmpty || wakesAt.map { $0 <= clock.now.monotonic } ?? false
    }

    private func turn() throws {
        var outcome = try engine.turn(inputs, now: clock.now)
        inputs = []
        while outcome.interest != watched {
            watched = outcome.interest
            engine.watch(watched, visible, now: clock.now)
            outcome = try engine.turn([], now: clock.now)
        }
        wakesAt = outcome.wakeAt
    }

    // MARK: - Conditions

    /// Those that the engine is interested in; it knows nothing of the others.
    private var visible: Conditions {
        let all = conditions.conditions(since: conditionsSince, networkSince: networkSince)
        var seen = Conditions()
        if watched.power || watched.battery != nil { seen.power = all.power }
        if watched.battery != nil { seen.battery = all.battery }
        if watched.network || watched.unmetered { seen.network = all.network }
        if watched.idle { seen.isIdle = all.isIdle }
        return seen
    }

    private func noteConditions() {
        let (edition, network) = (conditions.edition, conditions.networkEdition)
        if network != told.network {
            networkSince = clock.now.wall
            wire.setOffline(conditions.network == .offline)
        }
        if edition != told.conditions {
            conditionsSince = clock.now.wall
            inputs.append(.conditions(visible))
        }
        told = (edition, network)
    }

    // MARK: - Hosts

    /// Until those that run wait for the world, or there is something for the engine.
    private func letHostsCompute() async throws {
        let end = ContinuousClock.now + .seconds(Self.patienceSeconds)
        var looks = 0
        while hosts.areComputing {
            if try isTurnDue() { return }
            looks += 1
            if looks < 100 {
                await Task.yield()
            } else {
                try await Task.sleep(for: .microseconds(200))
            }
            if ContinuousClock.now > end {
                throw LonghaulError(
                    .timedOut,
                    "a host has computed for a minute; it waits for something that the"
                        + " simulated world does not have")
            }
        }
    }
}
