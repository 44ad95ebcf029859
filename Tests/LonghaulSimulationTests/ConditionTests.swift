import LonghaulCore
import LonghaulEngine
import LonghaulStore
import Testing

/// Conditions that change under a running engine, between a simulated network and disk.
@Suite struct ConditionTests {
    private func world(
        _ size: Int = 3_000_000, _ edit: (inout TransferRequest) -> Void
    ) throws -> SimWorld {
        let world = try SimWorld(seed: 7)
        world.wire.faults = false
        let url = "http://s0.test/f"
        world.wire.contents[url] = SimContent(proof: .strongTag, sizes: [size])
        var request = TransferRequest(url: url, destination: .file("/d/f"))
        request.options.connections = .exactly(1)
        edit(&request)
        _ = try world.store.enqueue(
            [NewTransfer(request: request, origin: "http://s0.test:80", destination: "/d/f")],
            now: world.now.wall)
        world.inputs.append(.wake)
        return world
    }

    private func tell(_ world: SimWorld, _ text: String) throws {
        var conditions = Conditions()
        try ConditionOverride(parsing: text).apply(to: &conditions, source: "test") { _ in
            world.now.wall
        }
        world.inputs.append(.conditions(conditions))
    }

    private func transfer(_ world: SimWorld) throws -> Transfer {
        try #require(
            try world.store.transfer(TransferID(rawValue: 1), now: world.now.wall))
    }

    /// Turns and steps until it holds, at most for `seconds` of the world.
    @discardableResult
    private func live(
        _ world: SimWorld, for seconds: Double, until isDone: () throws -> Bool = { false }
    ) throws -> Bool {
        let end = world.now.monotonic + seconds
        while world.now.monotonic < end {
            if try isDone() { return true }
            world.wire.step(&world.random)
            for _ in 0..<4 { world.disk.step(&world.random) }
            try world.turn()
            world.pass(0.05)
        }
        return try isDone()
    }

    @Test func aLostConditionStopsAndItsReturnGoesOn() throws {
        let world = try world { $0.schedule.requires = ConditionNeeds(unmetered: true) }
        defer { world.cleanUp() }
        // Not known to hold is not enough.
        try live(world, for: 10)
        #expect(try transfer(world).state == .waiting && world.wire.answered == 0)
        try tell(world, "network=unmetered")
        #expect(try live(world, for: 5) { world.disk.cells.values.contains { $0.written > 0 } })
        try tell(world, "network=metered")
        #expect(try live(world, for: 3) { try transfer(world).state == .waiting })
        #expect(world.wire.order.isEmpty)
        let kept = try transfer(world).bytesDone
        #expect(kept > 0 && kept < 3_000_000)
        try tell(world, "network=unmetered")
        // A network that changed has five seconds to settle.
        let back = world.now.monotonic
        #expect(try live(world, for: 30) { !world.wire.order.isEmpty })
        #expect(world.now.monotonic - back >= Limits.networkSettleSeconds)
        #expect(try live(world, for: 30) { try transfer(world).state == .completed })
        #expect(try transfer(world).bytesFetched == 3_000_000)
    }

    @Test func aWindowEndsAndOpensAgain() throws {
        // The world's clock says 14:13:20 UTC.
        let world = try world { $0.schedule.window = TimeWindow(parsing: "13:00-14:14") }
        defer { world.cleanUp() }
        #expect(try live(world, for: 5) { world.disk.cells.values.contains { $0.written > 0 } })
        world.pass(40)
        #expect(try live(world, for: 3) { try transfer(world).state == .waiting })
        let outcome = try #require(try world.turn())
        let wait = try #require(outcome.wakeAt) - world.now.monotonic
        #expect(abs(wait - 22.75 * 3600) < 300)
        // Set back by hours, before the window's end: it is noticed.
        world.now.wall = world.now.wall + -1800
        #expect(try live(world, for: 60) { try transfer(world).state == .completed })
    }

    @Test func preferencesAreWaivedAndSaidSo() throws {
        let world = try world(30_000) {
            $0.isDiscretionary = true
            $0.options.waiveAfter = 600
        }
        defer { world.cleanUp() }
        try tell(world, "power=battery,idle=no")
        try live(world, for: 5)
        let waiting = try transfer(world)
        #expect(waiting.state == .waiting && !waiting.arePreferencesWaived)
        let outcome = try #require(try world.turn())
        #expect(outcome.isDrained && outcome.waitsForConditions)
        let wake = try #require(outcome.wakeAt) - world.now.monotonic
        #expect(wake > 500 && wake <= 600)
        world.pass(600)
        #expect(try live(world, for: 5) { try transfer(world).state == .completed })
        #expect(try transfer(world).arePreferencesWaived)
    }
}
