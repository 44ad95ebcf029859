internal import Longhaul
internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulSimulatedWire
internal import LonghaulStore

/// Looks, 0.2 ms apart, at a host that computes at one moment of a simulated world. They are
/// counted instead of seconds: what keeps a host from the processors keeps the looks from them,
/// too.
private let simulatedLooks = 300_000
/// Turns of an engine at one moment of a simulated world.
private let simulatedTurns = 100_000

/// Passing of time.
extension SimulatedWorld {
    /// Lets the seconds pass: all due events happen, in their order. With 0, the ones due at this
    /// moment. Returns when all have happened, with the work of the hosts.
    ///
    /// - Throws: `conflict` when it is called while another call runs; `timedOut` when a host has
    ///   computed for a minute of real time or more; the error that ends an engine.
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

    /// All events of this moment.
    private func settle() async throws {
        noteConditions()
        var turns = 0
        repeat {
            if try isTurnDue() {
                turns += 1
                if turns > simulatedTurns {
                    throw LonghaulError(.internal, "the engine does not come to rest")
                }
                try turn()
            }
            try await letHostsCompute()
            await SharedStore.settle(in: parts.directory)
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
        while outcome.interest != told.interest {
            told.interest = outcome.interest
            engine.watch(told.interest, visible, now: clock.now)
            outcome = try engine.turn([], now: clock.now)
        }
        wakesAt = outcome.wakeAt
    }

    // MARK: - Conditions

    private func noteConditions() {
        let (edition, network) = (conditions.edition, conditions.networkEdition)
        if network != told.networkEdition {
            told.networkSince = clock.now.wall
            wire.setOffline(conditions.network == .offline)
        }
        if edition != told.edition {
            told.since = clock.now.wall
            inputs.append(.conditions(visible))
        }
        (told.edition, told.networkEdition) = (edition, network)
    }

    /// The conditions that the engine is interested in; it knows nothing of the others.
    private var visible: Conditions {
        conditions.conditions(since: told.since, networkSince: told.networkSince)
            .only(told.interest.kinds)
    }

    // MARK: - Hosts

    /// Waits until the running hosts wait for the world, or there is something for the engine.
    private func letHostsCompute() async throws {
        var looks = 0
        while hosts.areComputing {
            if try isTurnDue() { return }
            looks += 1
            if looks < 100 {
                await Task.yield()
            } else {
                try await Task.sleep(for: .microseconds(200))
            }
            if looks > simulatedLooks {
                throw LonghaulError(
                    .timedOut,
                    "a host has computed for a minute; it waits for something that the"
                        + " simulated world does not have")
            }
        }
    }
}

/// The conditions last reported to an engine.
struct ToldConditions {
    /// The conditions that it is interested in.
    var interest = ConditionNeeds()
    var edition = 0
    var networkEdition = 0
    var since: Timestamp
    var networkSince: Timestamp

    init(since: Timestamp) {
        self.since = since
        networkSince = since
    }
}
