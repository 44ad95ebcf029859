import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire
import LonghaulStore
import Testing

@testable import LonghaulSimulation

/// Conditions that change under a running engine, between a simulated network and disk.
@Suite struct ConditionTests {
    private func world(
        _ size: Int64 = 3_000_000, _ edit: (inout TransferRequest) -> Void
    ) throws -> SimWorld {
        let world = try SimWorld(seed: 7)
        try world.enqueue(size, edit)
        return world
    }

    private func anotherNetwork(_ world: SimWorld) {
        let number = world.conditions.network.identity?.connection.flatMap { Int($0) } ?? 0
        world.conditions.network.identity = NetworkIdentity(connection: "\(number + 1)")
        world.tellConditions()
    }

    private func hasBytes(_ world: SimWorld) -> Bool {
        world.disk.cells.values.contains { $0.written > 0 }
    }

    @Test func aLostConditionStopsAndItsReturnGoesOn() throws {
        let world = try world { $0.schedule.requires = ConditionNeeds(unmetered: true) }
        defer { world.cleanUp() }
        // Not known to hold is not enough.
        try world.run(for: 10)
        #expect(try world.transfer().state == .waiting && world.wire.answered == 0)
        try world.tell("network=unmetered")
        #expect(try world.run(for: 8) { hasBytes(world) })
        try world.tell("network=metered")
        #expect(try world.run(for: 3) { try world.transfer().state == .waiting })
        #expect(world.wire.order.isEmpty)
        let kept = try world.transfer().bytesDone
        #expect(kept > 0 && kept < 3_000_000)
        try world.tell("network=unmetered")
        // A network that changed has five seconds to settle.
        let back = world.now.monotonic
        #expect(try world.run(for: 30) { !world.wire.order.isEmpty })
        #expect(world.now.monotonic - back >= Limits.networkSettleSeconds)
        #expect(try world.run(for: 30) { try world.transfer().state == .completed })
        #expect(try world.transfer().bytesFetched == 3_000_000)
    }

    /// Of the same kind, over another link: what was asked for over the old one may never come, and
    /// what does come is left alone.
    @Test(arguments: [true, false]) func anotherNetworkIsAskedAnew(isSilent: Bool) throws {
        let world = try world { _ in }
        defer { world.cleanUp() }
        try world.tell("network=unmetered")
        #expect(try world.run(for: 8) { hasBytes(world) })
        let key = try #require(world.wire.order.first)
        let sent = world.wire.requests[key]?.served.sent
        if isSilent { world.wire.requests[key]?.served.silentAfter = sent }
        anotherNetwork(world)
        let changed = world.now.monotonic
        if isSilent {
            #expect(try world.run(for: 5) { world.wire.order.isEmpty })
            // Whatever there is to come needs time.
            #expect(try world.run(for: 30) { !world.wire.order.isEmpty })
            #expect(world.now.monotonic - changed >= Limits.networkSettleSeconds)
        }
        #expect(try world.run(for: 30) { try world.transfer().state == .completed })
        #expect(try world.transfer().bytesFetched == 3_000_000)
        #expect(try world.transfer().attempts == (isSilent ? 2 : 1))
    }

    /// A link beside the one that is in use comes and goes every two seconds.
    @Test func aNetworkThatChangesAllTheTimeKeepsNothingBack() throws {
        let world = try world { _ in }
        defer { world.cleanUp() }
        try world.tell("network=unmetered")
        for _ in 1...30 where try world.transfer().state != .completed {
            anotherNetwork(world)
            try world.run(for: 2)
        }
        #expect(try world.transfer().state == .completed)
    }

    /// What failed over one network is tried over the next one at once, but for what a server has
    /// asked for.
    @Test func anotherNetworkEndsBackOffs() throws {
        let world = try world { _ in }
        defer { world.cleanUp() }
        let id = try world.enqueue(30_000) { _ in }
        try world.tell("network=unmetered")
        world.wire.trouble.refused = 1
        try world.run(for: 2000) {
            let waits = try world.transfer().waitingFor + world.transfer(id).waitingFor
            return waits.filter {
                $0.reason == .backoff && $0.nextCheck.map { $0 > world.now.wall + 60 } ?? false
            }.count == 2
        }
        world.wire.trouble.refused = 0
        try world.tell("network=metered")
        let end = Limits.networkSettleSeconds + 10
        #expect(try world.run(for: end) { try world.transfer(id).state == .completed })
        #expect(try world.run(for: end) { try world.transfer().state == .completed })
    }

    /// In one turn the file is opened, so that the request goes out, and the network is lost: what
    /// has just been asked for is stopped, too.
    @Test func aRequestIsStoppedInTheTurnThatSendsIt() throws {
        let world = try world { $0.schedule.requires = ConditionNeeds(unmetered: true) }
        defer { world.cleanUp() }
        try world.tell("network=unmetered")
        #expect(try world.run(for: 10, disk: 0) { !world.disk.orders.isEmpty })
        world.disk.step()
        try world.tell("network=metered")
        try world.turn()
        #expect(world.wire.order.allSatisfy { world.wire.requests[$0]?.isStopping == true })
        #expect(try world.run(for: 5) { try world.transfer().state == .waiting })
        #expect(world.wire.order.isEmpty)
    }

    @Test func aWindowEndsAndOpensAgain() throws {
        // The world's clock says 14:13:20 UTC.
        let world = try world { $0.schedule.windows = TimeWindows(parsing: "13:00-14:14") }
        defer { world.cleanUp() }
        try world.restart(in: .utc)
        #expect(try world.run(for: 5) { hasBytes(world) })
        world.pass(40)
        #expect(try world.run(for: 3) { try world.transfer().state == .waiting })
        let outcome = try #require(try world.turn())
        let wait = try #require(outcome.wakeAt) - world.now.monotonic
        #expect(abs(wait - 22.75 * 3600) < 300)
        // Set back by hours, before the window's end: it is noticed.
        world.now.wall = world.now.wall + -1800
        #expect(try world.run(for: 90) { try world.transfer().state == .completed })
    }

    @Test func preferencesAreWaivedAndSaidSo() throws {
        let world = try world(30_000) {
            $0.isDiscretionary = true
            $0.options.waiveAfter = 600
        }
        defer { world.cleanUp() }
        try world.tell("power=battery,idle=no")
        try world.run(for: 5)
        let waiting = try world.transfer()
        #expect(waiting.state == .waiting && !waiting.arePreferencesWaived)
        let outcome = try #require(try world.turn())
        #expect(outcome.isDrained && outcome.waitsForConditions)
        let wake = try #require(outcome.wakeAt) - world.now.monotonic
        #expect(wake > 500 && wake <= 600)
        world.pass(600)
        #expect(try world.run(for: 5) { try world.transfer().state == .completed })
        #expect(try world.transfer().arePreferencesWaived)
    }

    /// The schedule is set aside until the attempt ends, also while the transfer runs.
    @Test func aTransferThatRunsNowWaitsForNoCondition() throws {
        let world = try world(3_000_000) {
            $0.schedule.requires = ConditionNeeds(power: true, idle: true)
            $0.schedule.windows = TimeWindows(parsing: "02:00-03:00")
            $0.earliestBegin = Timestamp(milliseconds: 1_790_003_600_000)
        }
        defer { world.cleanUp() }
        try world.tell("power=battery,idle=no")
        try world.run(for: 5)
        #expect(try world.transfer().state == .waiting)
        try world.change(TransferID(rawValue: 1), .runNow)
        try #require(try world.run(for: 10) { hasBytes(world) })
        try world.tell("power=battery,idle=no,network=metered")
        try world.run(for: 1)
        #expect(try world.transfer().runsNow)
        #expect(try world.run(for: 60) { try world.transfer().state == .completed })
    }

    @Test func aPauseRestoresTheSchedule() throws {
        let world = try world { $0.schedule.requires = ConditionNeeds(power: true) }
        defer { world.cleanUp() }
        try world.tell("power=battery")
        let id = TransferID(rawValue: 1)
        try world.change(id, .runNow)
        try #require(try world.run(for: 10) { hasBytes(world) })
        try world.change(id, .pause)
        try world.run(for: 5)
        try world.change(id, .resume)
        try world.run(for: 20)
        let transfer = try world.transfer()
        #expect(transfer.state == .waiting && transfer.bytesDone > 0 && !transfer.runsNow)
    }

    /// Its preferences were waived, and it runs. A schedule that is changed has them anew, also
    /// where it is changed back before the engine looks.
    @Test func aScheduleThatIsChangedBackHasItsPreferencesAgain() throws {
        let world = try world {
            $0.isDiscretionary = true
            $0.options.waiveAfter = 600
        }
        defer { world.cleanUp() }
        try world.tell("power=battery,idle=no")
        world.pass(601)
        try #require(try world.run(for: 10) { hasBytes(world) })
        for isDiscretionary in [false, true] {
            var change = RequestChange()
            change.isDiscretionary = isDiscretionary
            try world.clients.wants.change(
                TransferID(rawValue: 1), change, now: world.now.wall)
        }
        world.inputs.append(.wake)
        #expect(try world.run(for: 5) { try world.transfer().state == .waiting })
        #expect(world.wire.order.isEmpty)
        #expect(try !world.transfer().arePreferencesWaived)
    }

    /// One of two connections is done: who waits for the origin's limit need not wait for the
    /// other.
    @Test func aConnectionThatEndsLetsTheNextBegin() throws {
        let world = try SimWorld(seed: 3)
        defer { world.cleanUp() }
        world.policy.limits.perOrigin = 2
        try world.restart(in: .utc)
        let first = try world.enqueue(40_000_000) { $0.options.connections = .exactly(2) }
        #expect(try world.run(for: 30) { world.wire.order.count == 2 })
        let second = try world.enqueue(5_000_000) { $0.options.connections = .exactly(1) }
        let tail = try #require(world.wire.order.last)
        world.wire.requests[tail]?.served.rate = 1
        #expect(
            try world.run(for: 30) {
                try world.transfer(second).state == .running
            })
        #expect(try world.transfer(first).state == .running)
    }
}
